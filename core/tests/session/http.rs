//! Sessions of HTTP servers that expire.

use mcp_resident::FailureKind;
use mcp_resident_fixtures::hub::{Filter, Hub, Transport};
use serde_json::json;

use super::{Files, bounded, call, exchange, servers};

#[tokio::test]
async fn a_session_that_expires_once_is_replaced_and_twice_in_a_row_fails_the_call() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let url = hub
        .start_http("s", Transport::Http, &json!({}), 0)
        .await
        .unwrap();
    files.user(servers([("s", json!({"url": url}))]));
    let session = files.open().await;
    let exchange = exchange(&session).await;
    hub.command("s", json!({"expire_session": {}}))
        .await
        .unwrap();
    assert_eq!(
        call(&exchange, "mcp__s__count", json!({})).await.output,
        "1",
        "it ran once"
    );
    assert_eq!(session.source().info("s").unwrap().generation, 2);
    bounded(session.close()).await;

    let script = json!({"expire_session_after_calls": 0});
    let url = hub
        .start_http("t", Transport::Http, &script, 0)
        .await
        .unwrap();
    files.user(servers([("t", json!({"url": url}))]));
    let session = files.open().await;
    let exchange = super::exchange(&session).await;
    let failed = call(&exchange, "mcp__t__count", json!({})).await;
    assert_eq!(
        failed.metadata.error.unwrap().kind,
        FailureKind::Unavailable
    );
    assert!(hub.matching("t", &Filter::event("ran")).is_empty());
    bounded(session.close()).await;
}

#[tokio::test]
async fn startups_at_one_address_come_one_after_the_other() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let url = hub
        .start_http(
            "s",
            Transport::Http,
            &json!({"delay_ms": {"initialize": 50}}),
            0,
        )
        .await
        .unwrap();
    files.user(servers([
        ("a", json!({"url": url})),
        ("b", json!({"url": url})),
        ("c", json!({"url": url})),
    ]));
    let session = files.open().await;
    exchange(&session).await;
    let received = hub.matching("s", &Filter::event("received"));
    let methods: Vec<&str> = received
        .iter()
        .filter_map(|entry| entry.data["message"]["method"].as_str())
        .filter(|method| method.ends_with("initialize") || method.ends_with("initialized"))
        .collect();
    let one = ["initialize", "notifications/initialized"];
    assert_eq!(methods, [one, one, one].concat());
    bounded(session.close()).await;
}
