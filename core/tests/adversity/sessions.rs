//! Remote servers that forget, die and come back.

use std::sync::Arc;

use futures_util::future::join_all;
use mcp_resident::{CallContext, FailureKind, LoadOptions, McpSource, State, load_mcp};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::{Filter, Hub, Transport};
use serde_json::json;

use crate::support::{PATIENCE, bounded};

async fn load(hub: &Hub, script: serde_json::Value) -> McpSource {
    let url = hub
        .start_http("s", Transport::Http, script, 0)
        .await
        .unwrap();
    let config = json!({ "mcpServers": { "s": { "url": url } } });
    bounded(load_mcp(config, LoadOptions::default()))
        .await
        .unwrap()
}

fn received(method: &str) -> Filter {
    Filter::event("received").holding(json!({ "message": { "method": method } }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_calls_that_find_their_session_gone_open_one() {
    let hub = Hub::start().await.unwrap();
    let source = load(&hub, json!({})).await;
    let count = source.tool("s_count").unwrap();
    for storm in 1..=3 {
        hub.command("s", json!({"expire_session": {}}))
            .await
            .unwrap();
        let calls = (0..100).map(|_| {
            let count = Arc::clone(&count);
            tokio::spawn(async move { count.execute(json!({}), CallContext::default()).await })
        });
        for result in bounded(join_all(calls)).await {
            let result = result.unwrap();
            assert!(!result.is_error, "{result:?}");
        }
        assert_eq!(hub.matching("s", &received("initialize")).len(), 1 + storm);
        assert_eq!(hub.matching("s", &Filter::event("ran")).len(), 100 * storm);
    }
    bounded(source.close()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_when_their_remote_server_is_killed() {
    let hub = Hub::start().await.unwrap();
    let source = load(&hub, json!({})).await;
    let sleep = source.tool("s_sleep").unwrap();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let sleep = Arc::clone(&sleep);
            tokio::spawn(async move {
                sleep
                    .execute(json!({"ms": 60_000}), CallContext::default())
                    .await
            })
        })
        .collect();
    hub.wait_for("s", &Filter::event("ran"), 20, PATIENCE)
        .await
        .unwrap();
    hub.kill("s", Signal::KILL).unwrap();
    for result in bounded(join_all(calls)).await {
        let error = result.unwrap().metadata.error.unwrap();
        assert_eq!(error.kind, FailureKind::Dropped, "{error:?}");
    }
    assert_eq!(hub.matching("s", &Filter::event("ran")).len(), 20);
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_listening_stream_that_always_ends_costs_no_call() {
    let hub = Hub::start().await.unwrap();
    let source = load(&hub, json!({"get_stream": {"close_at_once": true}})).await;
    let echo = source.tool("s_echo").unwrap();
    for _ in 0..50 {
        let result = bounded(echo.execute(json!({"text": "a"}), CallContext::default())).await;
        assert_eq!(result.output, "a");
    }
    assert_eq!(source.state("s").unwrap(), State::Running);
    let opened = hub
        .matching(
            "s",
            &Filter::event("http").holding(json!({"method": "GET"})),
        )
        .len();
    assert!(opened < 20, "{opened} streams");
    bounded(source.close()).await;
}
