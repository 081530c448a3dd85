//! `call`.

use serde_json::json;

use crate::support::{CANARY, Home, fake, marker};

fn home() -> Home {
    Home::with_servers(json!({ "s": fake(json!({})) }))
}

#[test]
fn the_output_is_printed_and_words_become_what_the_schema_says() {
    let home = home();
    for (words, output) in [
        (vec!["s_echo", "text=a=b"], "a=b\n"),
        (vec!["s_echo", "text=1"], "1\n"),
        (vec!["s_add", "a=2", "b=0.5"], "2.5\n"),
        (vec!["s_add", "b=1", "--args", r#"{"a": 1, "b": 7}"#], "2\n"),
        (
            vec!["s_echo", "--args", r#"{"text": "\u001b[1m"}"#],
            "\x1b[1m\n",
        ),
        (
            vec!["s_structured", r#"--args={"value": {"n": 1e2}}"#],
            "{\"n\":1e2}\n",
        ),
    ] {
        let ran = home.run(["call"].into_iter().chain(words)).ended_with(0);
        assert_eq!(ran.said("").out, output);
    }
}

#[test]
fn json_holds_the_whole_result() {
    let home = home();
    let ran = home.run(["call", "--json", "s_echo", "text=hi"]);
    assert_eq!(
        ran.ended_with(0).said("").json(),
        json!({
            "server": "s",
            "tool": "echo",
            "output": "hi",
            "isError": false,
            "error": null,
            "content": [{"type": "text", "text": "hi"}],
            "structuredContent": null,
            "_meta": null,
        })
    );
    let ran = home
        .run(["call", "--json", "s_crash", "code=3"])
        .ended_with(4);
    let result = ran.said("").json();
    assert_eq!(result["isError"], true);
    let error = &result["error"];
    assert_eq!(error["kind"], "dropped");
    assert_eq!(error["executed"], "unknown");
    assert_eq!(error["exit"], json!({"code": 3}));
}

#[test]
fn every_failure_has_its_exit_code_and_its_words() {
    let mut off = fake(json!({}));
    off["enabled"] = json!(false);
    let home = Home::with_servers(json!({
        "s": fake(json!({})),
        "off": off,
        "bad": {"command": 3},
        "gone": {"command": "/no/such/program"},
        "mute": fake(json!({"never_answer": ["initialize"]})),
        "unset": {"command": "x", "env": {"A": "${NOT_SET}"}},
    }));
    let tools = "there are: s_echo, s_add, s_env, s_cwd, s_pid, s_sleep, s_count, s_crash, s_big, s_fail, \
                 s_structured, s_raw, s_raw_error, s_elicit, s_notify, s_log";
    for (words, code, message) in [
        (vec!["s_fail", "text=oops"], 1, "error: s_fail: oops\n"),
        (
            vec!["s_add", "a=x", "b=1"],
            2,
            "error: s_add: argument `a` must be a number\n",
        ),
        (
            vec!["s_add", "--args", "[]"],
            2,
            "error: s_add: arguments must be a JSON object, not an array\n",
        ),
        (
            vec!["s_nope"],
            2,
            &format!(
                "error: there is no tool `s_nope`; {tools}\nhint: `mcp-resident tools` lists them all\n"
            ),
        ),
        (
            vec!["nobody_x"],
            2,
            "error: there is no tool `nobody_x`, and no server whose name it begins with\n\
             hint: `mcp-resident tools` lists them all\n",
        ),
        (
            vec!["off_echo"],
            3,
            "error: there is no tool `off_echo`: the server `off` is switched off by its configuration\n",
        ),
        (vec!["bad_x"], 3, "must be a text, or a list of the program"),
        (vec!["unset_x"], 3, "variable NOT_SET is not set"),
        (
            vec!["gone_x"],
            4,
            "error: server `gone`: program \"/no/such/program\" was not found",
        ),
        (
            vec!["s_crash", "code=3"],
            4,
            "error: s_crash: the server's process ended (exit code 3)\n\
             hint: the tool may have had its effect\n",
        ),
        (
            vec![
                "s_raw_error",
                r#"--args={"error": {"code": -32000, "message": "no"}}"#,
            ],
            4,
            "error: s_raw_error: ",
        ),
        (
            vec!["s_sleep", "ms=60000", "--timeout", "50"],
            5,
            "no answer and no progress for 50 ms\nhint: the tool may have had its effect\n",
        ),
    ] {
        let ran = home.run(["call"].into_iter().chain(words)).ended_with(code);
        assert!(ran.err.contains(message), "{message}: {ran:?}");
        assert_eq!(ran.out, "");
    }
}

#[test]
fn wrong_words_are_refused_before_anything_is_read() {
    let home = Home::new();
    let told = home.run(["call", "t", "word", "--json"]).ended_with(2);
    assert_eq!(
        told.said("").json(),
        json!({"error": {
            "kind": "usage", "exitCode": 2,
            "message": "invalid value 'word' for '[KEY=VALUE]...': expected key=value",
            "hint": "try --help",
        }})
    );
    for (words, message) in [
        (vec!["call"], "<TOOL>"),
        (vec!["call", "t", "word"], "expected key=value"),
        (
            vec!["call", "t", "--timeout", "0"],
            "expected a whole number of milliseconds above 0",
        ),
        (
            vec!["call", "t", "--config", "a", "--project", "b"],
            "cannot be used with",
        ),
        (vec!["nonsense"], "unrecognized subcommand"),
        (vec![], "Usage: mcp-resident"),
    ] {
        let ran = home.run(words).ended_with(2);
        assert!(ran.err.contains(message), "{message}: {ran:?}");
    }
}

#[test]
fn only_the_tools_own_server_is_started() {
    let home = Home::new();
    let started = home.path("started");
    home.write_user(json!({ "s": fake(json!({})), "other": marker(&started) }));
    home.run(["call", "s_echo"]).ended_with(0);
    assert!(!started.exists());
}

#[test]
fn a_server_gets_what_its_entry_names_and_not_the_hosts_secrets() {
    let mut server = fake(json!({}));
    server["env"] =
        json!({"TOKEN": "!echo from-a-command; test -z \"$HOST_SECRET\"", "WHERE": "$HOME"});
    let home = Home::with_servers(json!({ "s": server }));
    let ran = home.run(["call", "s_env"]).ended_with(0).said("");
    assert!(!ran.out.contains(CANARY), "{ran:?}");
    let environment = ran.json();
    assert_eq!(environment["TOKEN"], "from-a-command");
    assert_eq!(environment["WHERE"].as_str(), home.path("").to_str());
    assert_eq!(
        environment.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["HOME", "PATH", "TOKEN", "WHERE"]
    );
}

#[test]
fn a_secret_command_that_fails_is_a_failure_of_the_configuration() {
    let mut server = fake(json!({}));
    server["env"] = json!({"TOKEN": format!("!echo {CANARY}; exit 3")});
    let home = Home::with_servers(json!({ "s": server }));
    let ran = home.run(["call", "s_env"]).ended_with(3);
    assert!(
        ran.err
            .contains("env.TOKEN: the command ended with exit code 3"),
        "{ran:?}"
    );
    assert!(!ran.err.contains(CANARY), "{ran:?}");
}

#[test]
fn a_server_runs_beside_the_file_that_names_it() {
    let home = home();
    let file = home.write(
        "elsewhere.json",
        &json!({ "mcpServers": {"s": fake(json!({}))} }).to_string(),
    );
    let cwd = |arguments: &[&str]| {
        let all = ["call", "s_cwd"].iter().chain(arguments);
        home.run(all).ended_with(0).out
    };
    let directory = |path: &std::path::Path| format!("{}\n", path.parent().unwrap().display());
    assert_eq!(cwd(&["--config", file.to_str().unwrap()]), directory(&file));
    assert_eq!(
        cwd(&[]),
        directory(&home.path(".config/mcp-resident/mcp.json"))
    );
}
