//! A host that is killed takes its servers with it, and nothing else.
#![cfg(unix)]

mod support;

use std::ffi::OsString;
use std::path::PathBuf;

use mcp_resident::{EnvironmentProvider, HostEnvironment, LoadOptions, load_mcp};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::fake::Transport;
use mcp_resident_fixtures::hub::{Filter, Hub};
use serde_json::json;
use support::{PATIENCE, bounded, entry};
use tokio::process::Command;

/// Names the configuration of the host that is killed.
const CONFIG: &str = "MCP_RESIDENT_TEST_CONFIG";

#[tokio::test]
async fn a_killed_host_leaves_no_server_and_no_grandchild() {
    let hub = Hub::start().await.unwrap();
    let stubborn = json!({
        "ignore_eof": true,
        "ignore_term": true,
        "grandchild": {"ignore_eof": true, "ignore_term": true, "hold_stdio": true},
    });
    let mut behind_a_launcher = stubborn.clone();
    behind_a_launcher["launcher"] = json!(true);
    let config = json!({ "mcpServers": {
        "direct": entry(&hub, "direct", stubborn, json!({})),
        "launched": entry(&hub, "launched", behind_a_launcher, json!({})),
    }});
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mcp.json");
    std::fs::write(&file, config.to_string()).unwrap();
    hub.start_http("bystander", Transport::Http, json!({}), 0)
        .await
        .unwrap();

    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_host", "--ignored", "--nocapture"])
        .env(CONFIG, &file)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let listed = Filter::event("received").holding(json!({"message": {"method": "tools/list"}}));
    for server in ["direct", "launched"] {
        hub.wait_for(server, &listed, 1, PATIENCE).await.unwrap();
        let grandchild = Filter::event("grandchild");
        hub.wait_for(server, &grandchild, 1, PATIENCE)
            .await
            .unwrap();
    }
    hub.kill_pid(host.id().unwrap(), Signal::KILL).unwrap();
    bounded(host.wait()).await.unwrap();

    for server in ["direct", "launched"] {
        hub.wait_gone(server, PATIENCE).await.unwrap();
    }
    let bystander = hub.pids("bystander");
    assert!(bystander.iter().all(|pid| hub.alive(*pid)));
    hub.stop_all().await;
}

/// Loads what it is told and stays. Run alone, without a configuration, it does nothing.
#[tokio::test]
#[ignore = "is the host that the other test kills"]
async fn the_host() {
    let variables = HostEnvironment.variables();
    let config = variables.into_iter().find(|(name, _)| name == CONFIG);
    let Some(config) = config.map(|(_, value): (OsString, OsString)| PathBuf::from(value)) else {
        return;
    };
    let source = load_mcp(config, LoadOptions::default()).await.unwrap();
    std::future::pending::<()>().await;
    source.close().await;
}
