//! Servers behind a launcher, whose process is not the one that the host started.

use std::time::Duration;

use mcp_resident::{AutoRestart, LoadOptions, State};
use serde_json::{Value, json};

use crate::installed::NodeServers;
use crate::loaded::Loaded;
use crate::processes;

async fn survives_a_kill_and_leaves_nothing(entry: Value) {
    let mut options = LoadOptions::default();
    options.auto_restart = Some(AutoRestart::On {
        max_retries: Some(5),
        backoff: Some(Duration::from_millis(10)),
    });
    let mut loaded = Loaded::load(json!({ "s": entry }), options).await;
    let echo = json!({ "message": "a" });
    assert_eq!(loaded.answer("s", "echo", echo.clone()).await, "Echo: a");

    let leader = loaded.leader("s");
    let members = processes::of_session(leader);
    assert!(members.len() > 1, "the launcher has no child: {members:?}");
    // The launcher alone: what it started lives on and holds the pipes open.
    processes::kill(leader);
    loaded.changed_to("s", State::Error).await;
    assert_eq!(loaded.answer("s", "echo", echo.clone()).await, "Echo: a");
    assert!(processes::of_session(leader).is_empty());

    // The server alone: the launcher may have more to do.
    let leader = loaded.leader("s");
    loaded.remember_leaders();
    let server = *processes::of_session(leader).iter().max().unwrap();
    assert_ne!(server, leader);
    processes::kill(server);
    loaded.changed_to("s", State::Error).await;
    assert_eq!(loaded.answer("s", "echo", echo).await, "Echo: a");
    loaded.close().await;
}

#[tokio::test]
async fn through_npx() {
    let Some(node) = NodeServers::find("everything through npx") else {
        return;
    };
    survives_a_kill_and_leaves_nothing(json!({
        "command": "npx",
        "args": ["--no-install", "mcp-server-everything"],
        "cwd": node.folder(),
        "env": { "npm_config_update_notifier": false },
    }))
    .await;
}

#[tokio::test]
async fn through_a_shell() {
    let Some(node) = NodeServers::find("everything through a shell") else {
        return;
    };
    survives_a_kill_and_leaves_nothing(json!({
        "command": "sh",
        // Something behind it keeps the shell from becoming the server.
        "args": ["-c", "\"$0\"; true", node.program("mcp-server-everything")],
    }))
    .await;
}
