//! `watch`, where nobody looks at a terminal.

use std::io::{BufRead, BufReader};
use std::process::ChildStdout;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Home, PATIENCE, Running, blocking, fake, hub, watched};

/// Reads lines until one fits; gives all that were read.
fn read_until(lines: &mut BufReader<ChildStdout>, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut read = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{read:#?}");
        let found = fits(&line);
        read.push(line);
        if found {
            return read;
        }
    }
}

fn output(running: &mut Running) -> BufReader<ChildStdout> {
    BufReader::new(running.child.stdout.take().unwrap())
}

fn is_running(generation: u64) -> impl Fn(&str) -> bool {
    move |line| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["to"] == "running" && event["generation"] == generation
    }
}

#[tokio::test]
async fn a_killed_server_is_seen_lost_and_back() {
    let hub = hub().await;
    let home =
        Home::with_servers(json!({ "s": watched(&hub, "s", json!({})), "bad": {"command": 3} }));
    let mut running = home.start(["watch", "--json"]);
    let mut lines = output(&mut running);
    let (lines, first) = blocking(move || {
        let first = read_until(&mut lines, is_running(1));
        (lines, first)
    })
    .await;
    let first: Value = serde_json::from_str(&first[0]).unwrap();
    assert_eq!(first["sequence"], 1);
    assert_eq!(first["server"], "s");
    assert_eq!(first["event"], "state");
    assert_eq!(
        (&first["from"], &first["to"]),
        (&json!("stopped"), &json!("starting"))
    );
    assert!(first["atMs"].as_u64().unwrap() > 0);

    hub.kill("s", mcp_resident_fixtures::Signal::KILL).unwrap();
    let (mut lines, events) = blocking(move || {
        let mut lines = lines;
        let events = read_until(&mut lines, is_running(2));
        (lines, events)
    })
    .await;
    let events: Vec<Value> = events
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"dropped") && kinds.contains(&"retry_scheduled"),
        "{kinds:?}"
    );
    let states: Vec<_> = events
        .iter()
        .filter_map(|event| event["to"].as_str())
        .collect();
    assert_eq!(states, ["error", "starting", "running"]);

    running.signal(Signal::INT);
    let rest = blocking(move || {
        let mut rest = Vec::new();
        while matches!(lines.read_line(&mut { String::new() }), Ok(read) if read > 0) {
            rest.push(());
        }
        (rest.len(), running.wait_for_status())
    })
    .await;
    assert!(rest.0 >= 2, "the close is told too");
    assert_eq!(rest.1.code(), Some(0));
    hub.wait_gone("s", PATIENCE).await.unwrap();
}

#[test]
fn each_event_is_one_line_of_text() {
    let home = Home::with_servers(json!({ "s": fake(json!({})) }));
    home.write_project(json!({"theirs": {"command": "x"}}));
    let mut running = home.start(["watch"]);
    let mut lines = output(&mut running);
    let lines_read = read_until(&mut lines, |line| line.contains("running"));
    assert!(
        lines_read[0].ends_with("Z s stopped -> starting: start\n"),
        "{lines_read:?}"
    );
    assert!(!lines_read.concat().contains('\x1b'));
    running.signal(Signal::TERM);
    let ran = running.wait().ended_with(0);
    assert!(ran.err.starts_with("not trusted: theirs: x\n"), "{ran:?}");
}

#[tokio::test]
async fn a_reader_that_has_had_enough_ends_it_in_order() {
    let hub = hub().await;
    let home = Home::with_servers(json!({ "s": watched(&hub, "s", json!({})) }));
    let mut running = home.start(["watch", "--json"]);
    let mut lines = output(&mut running);
    blocking(move || read_until(&mut lines, is_running(1))).await;
    // The next event finds nobody.
    hub.kill("s", mcp_resident_fixtures::Signal::KILL).unwrap();
    blocking(move || running.wait())
        .await
        .ended_with(0)
        .said("");
    hub.wait_gone("s", PATIENCE).await.unwrap();
}
