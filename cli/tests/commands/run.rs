//! `run`, driven as by a script.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Home, PATIENCE, Running, blocking, fake, hub, watched};

/// The program with commands on its input.
fn interactive(home: &Home, arguments: &[&str]) -> (Running, std::process::ChildStdin) {
    let mut child = home
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take().unwrap();
    (Running { child }, input)
}

#[test]
fn commands_are_carried_out_one_after_the_other() {
    let home = Home::with_servers(json!({ "s": fake(json!({})) }));
    let (running, mut input) = interactive(&home, &["run"]);
    write!(
        input,
        "help\ntools\ncall s_echo text='two words'\ncall s_add {{\"a\": 1, \"b\": 2}}\ncall s_fail text=no\n\
         call nobody\nservers\nstop s\nrestart s\nrestart t\ndance\nquit\n"
    )
    .unwrap();
    let ran = running.wait().ended_with(0);
    for part in [
        "call TOOL",
        "s_echo",
        "two words\n3\n",
        "SERVER",
        "running",
        "done\ndone\n",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    for part in [
        "error: s_fail: no",
        "error: there is no tool `nobody`",
        "there is no server `t`",
        "error: there is no command `dance`",
        "event:",
    ] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
}

#[tokio::test]
async fn a_changed_file_is_followed_and_a_broken_one_changes_nothing() {
    let hub = hub().await;
    let home = Home::with_servers(json!({ "s": watched(&hub, "s", json!({})) }));
    let (mut running, mut input) = interactive(&home, &["run", "--json"]);
    let mut lines = BufReader::new(running.child.stdout.take().unwrap());
    let mut next = move |fits: fn(&Value) -> bool| loop {
        let mut line = String::new();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the output ended");
        let value: Value = serde_json::from_str(&line).unwrap();
        if fits(&value) {
            return value;
        }
    };
    let entry = watched(&hub, "t", json!({}));
    let end = blocking(move || {
        next(|value| value["to"] == "running");
        home.write_user(json!({ "t": entry }));
        let told = next(|value| value["reloaded"].is_object());
        assert_eq!(told["reloaded"]["added"], json!(["t"]));
        assert_eq!(told["reloaded"]["removed"], json!(["s"]));
        home.write(".config/mcp-resident/mcp.json", "{");
        let told = next(|value| value["error"].is_object());
        assert!(
            told["error"]["message"]
                .as_str()
                .unwrap()
                .contains("stays as it was")
        );
        writeln!(input, "call t_echo text=hi").unwrap();
        let told = next(|value| value["output"].is_string());
        assert_eq!(told["output"], "hi");
        drop(input);
        running.wait_for_status()
    })
    .await;
    assert_eq!(end.code(), Some(0));
    hub.wait_gone("s", PATIENCE).await.unwrap();
    hub.wait_gone("t", PATIENCE).await.unwrap();
}
