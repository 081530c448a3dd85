//! What belongs to an old connection changes nothing, and two processes never serve at once.

mod support;

use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{EventKind, LoadOptions, State, load_mcp};
use mcp_resident_fixtures::hub::{Filter, Hub};
use serde_json::json;
use support::{PATIENCE, bounded, config};

#[tokio::test]
async fn late_events_of_an_old_connection_change_nothing() {
    let hub = Hub::start().await.unwrap();
    let mut options = LoadOptions::default();
    options.live_tool_list = Some(true);
    options.limits.close_stdin_grace = Some(PATIENCE);
    options.limits.close_total = Some(PATIENCE);
    let script = json!({"launches": [{"ignore_eof": true}, {}]});
    let source = bounded(load_mcp(config(&hub, script, json!({})), options))
        .await
        .unwrap();
    let source = Arc::new(source);
    let restarting = tokio::spawn({
        let source = Arc::clone(&source);
        async move { source.restart("s", None).await }
    });
    // The old process has been told to end, and says all kinds of things instead.
    let told = Filter::event("stdin_eof");
    hub.wait_for("s", &told, 1, PATIENCE).await.unwrap();
    for command in [
        json!({"add_tool": {"tool": {"name": "late", "inputSchema": {"type": "object"}}, "notify": true}}),
        json!({"stderr": {"text": "late words"}}),
        json!({"close_stdout": {}}),
    ] {
        hub.command("s", command).await.unwrap();
    }
    hub.command("s", json!({"exit": {"code": 3}})).await.ok();
    bounded(restarting).await.unwrap().unwrap();

    assert!(source.tool("s_late").is_none());
    assert_eq!(source.info("s").unwrap().generation, 2);
    let states: Vec<State> = source
        .events(0)
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::State { to, .. } => Some(to),
            _ => None,
        })
        .collect();
    use State::{Running, Starting, Stopped};
    assert_eq!(states, [Starting, Running, Stopped, Starting, Running]);
    let listed = Filter::event("received").holding(json!({"message": {"method": "tools/list"}}));
    assert_eq!(hub.matching("s", &listed).len(), 2);
    bounded(source.close()).await;
}

#[tokio::test]
async fn the_next_process_starts_when_the_last_one_has_ended() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"on_eof": {"delay_ms": 200}});
    let source = bounded(load_mcp(
        config(&hub, script, json!({})),
        LoadOptions::default(),
    ))
    .await
    .unwrap();
    for _ in 0..3 {
        bounded(source.restart("s", None)).await.unwrap();
    }
    bounded(source.close()).await;
    hub.wait_gone("s", Duration::ZERO).await.unwrap();
    let lives = hub
        .entries("s")
        .into_iter()
        .filter(|entry| matches!(entry.event.as_str(), "started" | "exiting"))
        .map(|entry| (entry.event.clone(), entry.launch))
        .collect::<Vec<_>>();
    let expected: Vec<_> = (1..=4)
        .flat_map(|launch| {
            [
                ("started".to_owned(), launch),
                ("exiting".to_owned(), launch),
            ]
        })
        .collect();
    assert_eq!(lives, expected);
}
