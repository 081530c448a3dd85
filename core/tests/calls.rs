//! Many calls at once, and calls that are given up.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mcp_resident::{CallContext, CancellationToken, Executed, FailureKind, LoadOptions, load_mcp};
use mcp_resident_fixtures::hub::{Filter, Hub, Transport};
use serde_json::json;
use support::{PATIENCE, bounded, config, entry};

const AT_ONCE: usize = 64;

#[tokio::test]
async fn calls_beyond_the_limit_wait_for_a_place() {
    let hub = Hub::start().await.unwrap();
    let options = LoadOptions::default();
    let source = bounded(load_mcp(config(&hub, json!({}), json!({})), options))
        .await
        .unwrap();
    let sleep = source.tool("s_sleep").unwrap();
    let tokens: Vec<CancellationToken> = (0..AT_ONCE + 8).map(|_| Default::default()).collect();
    let calls: Vec<_> = tokens
        .iter()
        .map(|token| {
            let (sleep, context) = (Arc::clone(&sleep), CallContext::with_cancel(token.clone()));
            tokio::spawn(async move { sleep.execute(json!({"ms": 600_000}), context).await })
        })
        .collect();
    let ran = Filter::event("ran");
    hub.wait_for("s", &ran, AT_ONCE, PATIENCE).await.unwrap();
    // A round trip of the same pipe, so that a call that should have waited would be seen.
    bounded(source.refresh(Some("s"))).await.unwrap();
    assert_eq!(hub.matching("s", &ran).len(), AT_ONCE);

    tokens[0].cancel();
    let entries = hub.wait_for("s", &ran, AT_ONCE + 1, PATIENCE).await;
    assert_eq!(entries.unwrap().len(), AT_ONCE + 1);
    // The last one was never sent, and says so.
    tokens[AT_ONCE + 7].cancel();
    for token in &tokens {
        token.cancel();
    }
    let results = bounded(join_all(calls)).await;
    let unsent = results
        .into_iter()
        .map(|result| result.unwrap().metadata.error.unwrap())
        .inspect(|error| assert_eq!(error.kind, FailureKind::Cancelled))
        .filter(|error| error.executed == Executed::No)
        .count();
    assert!(unsent >= 1, "{unsent}");
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_cancel_at_any_moment_reaches_the_server_at_most_once() {
    let hub = Hub::start().await.unwrap();
    let options = LoadOptions::default();
    let source = bounded(load_mcp(config(&hub, json!({}), json!({})), options))
        .await
        .unwrap();
    let sleep = source.tool("s_sleep").unwrap();
    let calls = (0..200u64).map(|number| {
        let sleep = Arc::clone(&sleep);
        async move {
            let cancel = CancellationToken::new();
            let context = CallContext::with_cancel(cancel.clone());
            let give_up = async {
                tokio::time::sleep(Duration::from_micros(number * 50)).await;
                cancel.cancel();
            };
            tokio::join!(sleep.execute(json!({"ms": 5}), context), give_up).0
        }
    });
    let results = bounded(join_all(calls)).await;
    let told = results
        .iter()
        .filter_map(|result| result.metadata.error.as_ref())
        .inspect(|error| assert_eq!(error.kind, FailureKind::Cancelled))
        .filter(|error| error.executed == Executed::Unknown)
        .count();

    // Sent on the same pipe behind whatever was sent before.
    let echo = source.tool("s_echo").unwrap();
    let result = bounded(echo.execute(json!({"text": "hi"}), CallContext::default())).await;
    assert_eq!(result.output, "hi");
    let cancelled = Filter::event("received")
        .holding(json!({"message": {"method": "notifications/cancelled"}}));
    let entries = hub.matching("s", &cancelled);
    let ids: BTreeSet<u64> = entries
        .iter()
        .map(|entry| {
            entry.data["message"]["params"]["requestId"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(ids.len(), entries.len());
    assert_eq!(ids.len(), told);
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_is_made_is_not_sent() {
    let hub = Hub::start().await.unwrap();
    let url = hub
        .start_http("h", Transport::Http, json!({}), 0)
        .await
        .unwrap();
    let config = json!({"mcpServers": {
        "h": { "url": url },
        "s": entry(&hub, "s", json!({}), json!({})),
    }});
    let source = bounded(load_mcp(config, LoadOptions::default()))
        .await
        .unwrap();
    for server in ["h", "s"] {
        let echo = source.tool(&format!("{server}_echo")).unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let context = CallContext::with_cancel(cancel);
        let result = bounded(echo.execute(json!({"text": "no"}), context)).await;
        let error = result.metadata.error.unwrap();
        assert_eq!(error.kind, FailureKind::Cancelled, "{server}");
        assert_eq!(error.executed, Executed::No, "{server}");
        // Whatever was sent before has arrived by then.
        let result = bounded(echo.execute(json!({"text": "yes"}), CallContext::default())).await;
        assert_eq!(result.output, "yes", "{server}");
        let call = Filter::event("received").holding(json!({"message": {"method": "tools/call"}}));
        assert_eq!(hub.matching(server, &call).len(), 1, "{server}");
    }
    bounded(source.close()).await;
}
