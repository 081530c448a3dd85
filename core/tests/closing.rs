//! What a close has to put up with, and what it leaves.
#![cfg(unix)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_resident::{
    CallContext, CancellationToken, Error, ErrorKind, FailureKind, LoadOptions, McpSource, load_mcp,
};
use mcp_resident_fixtures::hub::{Filter, Hub};
use serde_json::{Map, Value, json};
use support::{PATIENCE, bounded, config, entry};

const SERVERS: usize = 24;
const GRACE: Duration = Duration::from_millis(500);

fn short_graces() -> LoadOptions {
    let mut options = LoadOptions::default();
    options.limits.close_stdin_grace = Some(GRACE);
    options.limits.close_term_grace = Some(GRACE);
    options
}

async fn load(config: Value, options: LoadOptions) -> Result<McpSource, Error> {
    bounded(load_mcp(config, options)).await
}

#[tokio::test]
async fn many_stubborn_servers_close_in_the_time_of_one() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"ignore_eof": true, "ignore_term": true});
    let servers: Map<String, Value> = (0..SERVERS)
        .map(|number| {
            let name = format!("s{number:02}");
            let entry = entry(&hub, &name, script.clone(), json!({}));
            (name, entry)
        })
        .collect();
    let names: Vec<String> = servers.keys().cloned().collect();
    let source = load(json!({ "mcpServers": servers }), short_graces())
        .await
        .unwrap();
    let start = Instant::now();
    bounded(source.close()).await;
    let took = start.elapsed();
    // One after the other would take 24 times as long.
    assert!((2 * GRACE..8 * GRACE).contains(&took), "{took:?}");
    for name in names {
        hub.wait_gone(&name, Duration::ZERO).await.unwrap();
    }
}

#[tokio::test]
async fn a_source_that_is_only_dropped_leaves_no_process() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"ignore_eof": true, "ignore_term": true});
    let source = load(config(&hub, script, json!({})), short_graces())
        .await
        .unwrap();
    let tool = source.tool("s_echo").unwrap();
    drop(source);
    hub.wait_gone("s", PATIENCE).await.unwrap();
    let result = bounded(tool.execute(json!({"text": "a"}), CallContext::default())).await;
    assert_eq!(result.metadata.error.unwrap().kind, FailureKind::Closed);
}

#[tokio::test]
async fn a_load_that_is_cancelled_at_any_moment_leaves_no_process() {
    let hub = Hub::start().await.unwrap();
    for moment in ["started", "received"] {
        let server = format!("s_{moment}");
        let mut options = short_graces();
        let cancel = CancellationToken::new();
        options.cancel = Some(cancel.clone());
        let config = json!({"mcpServers": {
            "s": entry(&hub, &server, json!({"never_answer": ["tools/list"]}), json!({})),
        }});
        let loading = tokio::spawn(load_mcp(config, options));
        let reached = Filter::event(moment);
        hub.wait_for(&server, &reached, 1, PATIENCE).await.unwrap();
        cancel.cancel();
        let error = bounded(loading).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        hub.wait_gone(&server, Duration::ZERO).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_stops_reading_ends_the_call_and_the_close() {
    let hub = Hub::start().await.unwrap();
    let mut options = short_graces();
    options.limits.write_stall = Some(Duration::from_millis(300));
    let source = load(config(&hub, json!({}), json!({})), options)
        .await
        .unwrap();
    hub.command("s", json!({"stop_reading": {}})).await.unwrap();
    // Far more than a pipe holds.
    let text = "x".repeat(4 * 1024 * 1024);
    let tool = source.tool("s_echo").unwrap();
    let result = bounded(tool.execute(json!({"text": text}), CallContext::default())).await;
    let error = result.metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Dropped, "{error:?}");
    bounded(source.close()).await;
    hub.wait_gone("s", Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_close_is_not_held_up_by_an_argument_that_nobody_reads() {
    let hub = Hub::start().await.unwrap();
    let source = load(config(&hub, json!({}), json!({})), short_graces())
        .await
        .unwrap();
    hub.command("s", json!({"stop_reading": {}})).await.unwrap();
    let text = "x".repeat(4 * 1024 * 1024);
    let tool = source.tool("s_echo").unwrap();
    let call = tokio::spawn(async move {
        let context = CallContext::default();
        tool.execute(json!({"text": text}), context).await
    });
    // Runs until the call waits for the server.
    tokio::task::yield_now().await;
    let start = Instant::now();
    bounded(source.close()).await;
    assert!(start.elapsed() < 12 * GRACE, "{:?}", start.elapsed());
    let result = bounded(call).await.unwrap();
    assert_eq!(result.metadata.error.unwrap().kind, FailureKind::Closed);
    hub.wait_gone("s", Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn closing_twice_at_once_waits_for_the_same_end() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"ignore_eof": true});
    let source = Arc::new(
        load(config(&hub, script, json!({})), short_graces())
            .await
            .unwrap(),
    );
    let other = Arc::clone(&source);
    let second = tokio::spawn(async move { other.close().await });
    bounded(source.close()).await;
    hub.wait_gone("s", Duration::ZERO).await.unwrap();
    bounded(second).await.unwrap();
}
