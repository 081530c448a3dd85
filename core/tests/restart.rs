//! A server that is lost, and what a host sees of it.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_resident::{AutoRestart, CallContext, FailureKind, LoadOptions, State, Status, load_mcp};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::Hub;
use serde_json::json;
use support::{PATIENCE, bounded, config};

const RESTART: AutoRestart = AutoRestart::On {
    max_retries: Some(5),
    backoff: Some(Duration::from_millis(10)),
};

#[tokio::test]
async fn a_stop_does_not_wait_for_whoever_starts_the_server_again() {
    let hub = Hub::start().await.unwrap();
    let config = config(&hub, json!({}), json!({}));
    let source = bounded(load_mcp(config, LoadOptions::default()))
        .await
        .unwrap();
    for _ in 0..3 {
        // The start comes while the old process is still ending, and has the next one for itself.
        let (stopped, started) =
            bounded(async { tokio::join!(source.stop("s"), source.start("s", None)) }).await;
        stopped.unwrap();
        started.unwrap();
        assert_eq!(source.state("s").unwrap(), State::Running);
    }
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_killed_server_is_started_again_and_the_next_call_succeeds() {
    let hub = Hub::start().await.unwrap();
    let mut options = LoadOptions::default();
    options.auto_restart = Some(RESTART);
    let source = bounded(load_mcp(config(&hub, json!({}), json!({})), options))
        .await
        .unwrap();
    assert_eq!(source.status()["s"], Status::Connected);
    let seen: Arc<Mutex<Vec<State>>> = Arc::default();
    let observer = Arc::clone(&seen);
    source
        .on_state_change(move |_, state| observer.lock().unwrap().push(state))
        .forever();

    let tool = source.tool("s_echo").unwrap();
    let result = bounded(tool.execute(json!({"text": "a"}), CallContext::default())).await;
    assert_eq!(result.output, "a");

    hub.kill("s", Signal::KILL).unwrap();
    bounded(async {
        while source.info("s").unwrap().restarts == 0 {
            source
                .wait_for("s", &[State::Running], PATIENCE)
                .await
                .unwrap();
            tokio::task::yield_now().await;
        }
    })
    .await;
    let result = bounded(tool.execute(json!({"text": "b"}), CallContext::default())).await;
    assert_eq!(result.output, "b", "{result:?}");
    bounded(source.close()).await;
    assert_eq!(
        *seen.lock().unwrap(),
        [
            State::Error,
            State::Starting,
            State::Running,
            State::Stopped
        ]
    );
}

#[tokio::test]
async fn without_auto_restart_the_client_is_dead_and_the_error_is_isolated() {
    let hub = Hub::start().await.unwrap();
    let source = bounded(load_mcp(
        config(&hub, json!({}), json!({})),
        LoadOptions::default(),
    ))
    .await
    .unwrap();
    let tool = source.tool("s_sleep").unwrap();
    let call = tokio::spawn({
        let tool = Arc::clone(&tool);
        async move {
            tool.execute(json!({"ms": 60_000}), CallContext::default())
                .await
        }
    });
    let filter = mcp_resident_fixtures::hub::Filter::event("received")
        .holding(json!({"message": {"method": "tools/call"}}));
    hub.wait_for("s", &filter, 1, PATIENCE).await.unwrap();
    hub.kill("s", Signal::KILL).unwrap();

    let result = bounded(call).await.unwrap();
    let error = result.metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Dropped);
    assert_eq!(error.exit.unwrap().to_string(), "signal 9 (SIGKILL)");
    bounded(source.wait_for("s", &[State::Error], PATIENCE))
        .await
        .unwrap();
    assert_eq!(source.status()["s"], Status::Connected);
    let result = bounded(tool.execute(json!({}), CallContext::default())).await;
    assert_eq!(
        result.metadata.error.unwrap().kind,
        FailureKind::Unavailable
    );

    bounded(source.restart("s", None)).await.unwrap();
    let echo = source.tool("s_echo").unwrap();
    assert_eq!(
        bounded(echo.execute(json!({"text": "c"}), CallContext::default()))
            .await
            .output,
        "c"
    );
    bounded(source.close()).await;
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_server_is_lost_with_its_process_whoever_holds_its_output() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"grandchild": {"hold_stdio": true, "ignore_eof": true}});
    let mut options = LoadOptions::default();
    options.auto_restart = Some(RESTART);
    let source = bounded(load_mcp(config(&hub, script, json!({})), options))
        .await
        .unwrap();
    let grandchild = mcp_resident_fixtures::hub::Filter::event("grandchild");
    hub.wait_for("s", &grandchild, 1, PATIENCE).await.unwrap();
    let sleep = source.tool("s_sleep").unwrap();
    let call = tokio::spawn(async move {
        sleep
            .execute(json!({"ms": 60_000}), CallContext::default())
            .await
    });
    let ran = mcp_resident_fixtures::hub::Filter::event("ran");
    hub.wait_for("s", &ran, 1, PATIENCE).await.unwrap();

    hub.kill("s", Signal::KILL).unwrap();
    let error = bounded(call).await.unwrap().metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Dropped);
    assert_eq!(error.exit.unwrap().to_string(), "signal 9 (SIGKILL)");

    let echo = source.tool("s_echo").unwrap();
    let result = bounded(echo.execute(json!({"text": "a"}), CallContext::default())).await;
    assert_eq!(result.output, "a", "{result:?}");
    bounded(source.close()).await;
    hub.wait_gone("s", PATIENCE).await.unwrap();
}
