//! Ctrl-C: the first one in order, the second one at once.

use mcp_resident_fixtures::hub::Filter;
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Home, PATIENCE, blocking, hub, watched};

#[tokio::test]
async fn the_first_cancels_the_call_and_leaves_nothing() {
    let hub = hub().await;
    let home = Home::with_servers(json!({ "s": watched(&hub, "s", json!({})) }));
    let running = home.start(["call", "s_sleep", "ms=600000"]);
    hub.wait_for("s", &Filter::event("ran"), 1, PATIENCE)
        .await
        .unwrap();
    running.signal(Signal::INT);
    let ran = blocking(move || running.wait()).await.ended_with(6);
    assert!(
        ran.err
            .starts_with("error: s_sleep: cancelled by the caller\n"),
        "{ran:?}"
    );
    hub.wait_for("s", &Filter::event("cancelled"), 1, PATIENCE)
        .await
        .unwrap();
    hub.wait_gone("s", PATIENCE).await.unwrap();
}

#[tokio::test]
async fn it_also_ends_a_start_that_hangs() {
    let hub = hub().await;
    let script = json!({"never_answer": ["initialize"]});
    let home = Home::with_servers(json!({ "s": watched(&hub, "s", script) }));
    let running = home.start(["tools", "--json"]);
    hub.wait_for("s", &Filter::event("received"), 1, PATIENCE)
        .await
        .unwrap();
    running.signal(Signal::TERM);
    let ran = blocking(move || running.wait()).await.ended_with(6);
    assert_eq!(ran.json()["error"]["kind"], "cancelled");
    hub.wait_gone("s", PATIENCE).await.unwrap();
}

#[tokio::test]
async fn the_second_ends_at_once_and_leaves_nothing() {
    let hub = hub().await;
    let script = json!({"ignore_eof": true, "ignore_term": true});
    let mut server = watched(&hub, "s", script);
    // Without the second signal the test would run into its limit.
    server["limits"] = json!({"closeStdinGraceMs": 600_000, "closeTotalMs": 600_000});
    let home = Home::with_servers(json!({ "s": server }));
    let running = home.start(["call", "s_sleep", "ms=600000"]);
    hub.wait_for("s", &Filter::event("ran"), 1, PATIENCE)
        .await
        .unwrap();
    running.signal(Signal::INT);
    hub.wait_for("s", &Filter::event("stdin_eof"), 1, PATIENCE)
        .await
        .unwrap();
    running.signal(Signal::INT);
    blocking(move || running.wait()).await.ended_with(6);
    hub.wait_gone("s", PATIENCE).await.unwrap();
}
