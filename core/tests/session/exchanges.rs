//! What happens to servers within an exchange and from one to the next.

use std::time::{Duration, Instant};

use mcp_resident::{CallContext, FailureKind, State};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::{Filter, Hub};
use serde_json::json;

use super::support::PATIENCE;
use super::{
    Files, bounded, call, exchange, exchange_until, fake, graces, names, open_with, servers,
};

#[tokio::test]
async fn a_crash_fails_the_calls_on_it_and_the_next_call_is_on_a_new_process() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let script = json!({"stderr_text": "famous last words"});
    files.user(servers([("s", fake(&hub, "s", script, json!({})))]));
    let session = files.open().await;
    let exchange = exchange(&session).await;
    let before = call(&exchange, "mcp__s__pid", json!({})).await.output;
    let crashed = call(&exchange, "mcp__s__crash", json!({"code": 7})).await;
    let error = crashed.metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Dropped);
    assert!(error.stderr_tail.unwrap().contains("famous last words"));
    let after = call(&exchange, "mcp__s__pid", json!({})).await;
    assert!(!after.is_error, "{}", after.output);
    assert_ne!(after.output, before);
    bounded(session.close()).await;
}

#[tokio::test]
async fn a_server_that_ends_while_nothing_runs_is_connected_again_by_the_next_call() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    files.user(servers([("s", fake(&hub, "s", json!({}), json!({})))]));
    let session = files.open().await;
    let exchange = exchange(&session).await;
    hub.command("s", json!({"exit": {"code": 0}}))
        .await
        .unwrap();
    let source = session.source();
    bounded(source.wait_for("s", &[State::Error], PATIENCE))
        .await
        .unwrap();
    assert_eq!(
        call(&exchange, "mcp__s__echo", json!({"text": "hi"}))
            .await
            .output,
        "hi"
    );
    // What the host stops stays so.
    bounded(source.stop("s")).await.unwrap();
    let refused = call(&exchange, "mcp__s__echo", json!({"text": "hi"})).await;
    assert_eq!(
        refused.metadata.error.unwrap().kind,
        FailureKind::Unavailable
    );
    bounded(session.close()).await;
}

#[tokio::test]
async fn a_changed_list_comes_with_the_next_exchange_and_a_withdrawn_tool_says_so() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    files.user(servers([("s", fake(&hub, "s", json!({}), json!({})))]));
    let session = files.open().await;
    let first = exchange(&session).await;
    hub.command("s", json!({"remove_tool": {"name": "add", "notify": true}}))
        .await
        .unwrap();
    let second = exchange_until(&session, |exchange| {
        !names(exchange).contains(&"mcp__s__add")
    })
    .await;
    assert!(second.tool("mcp__s__add").is_none());
    assert!(
        names(&first).contains(&"mcp__s__add"),
        "an exchange stands still"
    );
    let gone = call(&first, "mcp__s__add", json!({"a": 1, "b": 2})).await;
    assert_eq!(gone.metadata.error.unwrap().kind, FailureKind::Withdrawn);
    bounded(session.close()).await;
}

#[tokio::test]
async fn how_tools_are_shown_changes_on_the_same_process_and_what_is_started_on_another() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let entry = |keys| servers([("s", fake(&hub, "s", json!({}), keys))]);
    files.user(entry(json!({})));
    let session = files.open().await;
    let first = exchange(&session).await;
    let pid = call(&first, "mcp__s__pid", json!({})).await.output;
    files.user(entry(json!({"toolExposure": {"add": "hidden"}})));
    assert_eq!(bounded(session.reload()).await.unwrap().adjusted, ["s"]);
    let second = exchange(&session).await;
    assert!(!names(&second).contains(&"mcp__s__add") && names(&second).contains(&"mcp__s__echo"));
    assert_eq!(call(&second, "mcp__s__pid", json!({})).await.output, pid);
    files.user(entry(json!({"env": {"NEW": "1"}})));
    assert_eq!(bounded(session.reload()).await.unwrap().restarted, ["s"]);
    let third = exchange(&session).await;
    assert_ne!(call(&third, "mcp__s__pid", json!({})).await.output, pid);
    bounded(session.close()).await;
}

#[tokio::test]
async fn the_end_of_old_servers_does_not_delay_an_exchange() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let stubborn = json!({"ignore_eof": true, "ignore_term": true});
    let both = |keys: serde_json::Value| {
        servers([
            ("a", fake(&hub, "a", stubborn.clone(), keys.clone())),
            ("b", fake(&hub, "b", stubborn.clone(), keys)),
        ])
    };
    files.user(both(json!({})));
    let session = open_with(&files, |options| {
        options.load.limits = graces(Duration::from_secs(8))
    })
    .await;
    exchange(&session).await;
    let old = [hub.pids("a")[0], hub.pids("b")[0]];
    files.user(both(json!({"env": {"NEW": "1"}})));
    let begin = Instant::now();
    bounded(session.reload()).await.unwrap();
    let next = exchange(&session).await;
    // Each would take sixteen seconds.
    assert!(
        begin.elapsed() < Duration::from_secs(4),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(
        call(&next, "mcp__a__echo", json!({"text": "hi"}))
            .await
            .output,
        "hi"
    );
    assert!(
        old.iter().all(|pid| hub.alive(*pid)),
        "they are still ending"
    );
    for pid in old {
        hub.kill_pid(pid, Signal::KILL).unwrap();
    }
    for server in ["a", "b"] {
        let pid = *hub.pids(server).last().unwrap();
        hub.kill_pid(pid, Signal::KILL).unwrap();
    }
    bounded(session.close()).await;
}

#[tokio::test]
async fn a_server_that_is_down_at_the_beginning_has_its_tools_when_it_is_up() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let script = json!({"launches": [{"exit_at_start": {"code": 3}}, {}]});
    files.user(servers([("s", fake(&hub, "s", script, json!({})))]));
    let session = files.open().await;
    assert!(exchange(&session).await.tools().is_empty());
    assert_eq!(session.source().state("s").unwrap(), State::Error);
    // This one has it connected again, in the background; the next one at the latest has its tools.
    let second = exchange(&session).await;
    if second.tools().is_empty() {
        bounded(session.source().wait_for("s", &[State::Running], PATIENCE))
            .await
            .unwrap();
        assert!(!exchange(&session).await.tools().is_empty());
    }
    bounded(session.close()).await;
}

#[tokio::test]
async fn an_attempt_that_fails_at_once_is_made_again_at_each_exchange() {
    let files = Files::new();
    files.user(servers([(
        "s",
        json!({"command": "x", "env": {"TOKEN": "${MCP_RESIDENT_UNSET}"}}),
    )]));
    let session = files.open().await;
    let failures = |session: &mcp_resident::Session| {
        let events = session.source().events(0);
        events
            .iter()
            .filter(|event| event.kind.code() == "attempt_failed")
            .count()
    };
    exchange(&session).await;
    assert_eq!(failures(&session), 1);
    for wanted in 2..5 {
        exchange_until(&session, |_| failures(&session) >= wanted).await;
    }
    bounded(session.close()).await;
}

#[tokio::test]
async fn an_exchange_waits_for_what_is_new_and_direct_and_for_nothing_else() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let hangs = json!({"never_answer": ["initialize"]});
    files.user(servers([
        ("quick", fake(&hub, "quick", json!({}), json!({}))),
        (
            "hidden",
            fake(&hub, "hidden", hangs.clone(), json!({"exposure": "hidden"})),
        ),
    ]));
    let session = open_with(&files, |options| options.exchange_wait = PATIENCE * 10).await;
    // The hidden one hangs, and is not waited for.
    assert!(names(&exchange(&session).await).contains(&"mcp__quick__echo"));
    bounded(session.close()).await;

    files.user(servers([
        ("quick", fake(&hub, "quick", json!({}), json!({}))),
        ("slow", fake(&hub, "slow", hangs, json!({}))),
    ]));
    let session = open_with(&files, |options| {
        options.exchange_wait = Duration::from_millis(300)
    })
    .await;
    let begin = Instant::now();
    assert!(names(&exchange(&session).await).contains(&"mcp__quick__echo"));
    assert!(
        begin.elapsed() >= Duration::from_millis(300),
        "the slow one is waited for, within the limit"
    );
    // It was waited for once.
    exchange(&session).await;
    bounded(session.close()).await;
    let closed = session.exchange().await.unwrap_err();
    assert_eq!(closed.kind(), mcp_resident::ErrorKind::Closed);
}

#[tokio::test]
async fn a_change_ends_the_calls_on_the_old_process_and_what_is_not_sent_goes_to_the_new_one() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let entry = |keys| servers([("s", fake(&hub, "s", json!({}), keys))]);
    files.user(entry(json!({})));
    let session = files.open().await;
    let first = exchange(&session).await;
    let sleep = first.tool("mcp__s__sleep").unwrap().clone();
    let running = tokio::spawn(async move {
        sleep
            .execute(json!({"ms": 600_000}), CallContext::default())
            .await
    });
    hub.wait_for("s", &Filter::event("ran"), 1, PATIENCE)
        .await
        .unwrap();
    files.user(entry(json!({"env": {"NEW": "1"}})));
    bounded(session.reload()).await.unwrap();
    let ended = bounded(running).await.unwrap();
    assert_eq!(ended.metadata.error.unwrap().kind, FailureKind::Dropped);
    // The exchange goes on, on the new process.
    assert!(
        call(&first, "mcp__s__env", json!({}))
            .await
            .output
            .contains("NEW")
    );
    bounded(session.close()).await;
}
