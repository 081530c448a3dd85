//! Code of the host that panics, never ends, or uses the source that calls it.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use mcp_resident::{
    Answer, CallContext, Error, FailureKind, LoadOptions, McpSource, Request, State, load_mcp,
};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::Hub;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::census::tasks_settle;
use crate::support::{PATIENCE, bounded, config};

const QUESTION: &str =
    r#"{"mode":"form","message":"m","schema":{"type":"object","properties":{}}}"#;

/// A source whose handler runs `ask` with the source itself.
async fn asking<A, F>(hub: &Hub, ask: A) -> Arc<McpSource>
where
    A: Fn(Arc<McpSource>) -> F + Send + Sync + Copy + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let itself: Arc<OnceLock<Weak<McpSource>>> = Arc::default();
    let mut options = LoadOptions::default();
    options.wait_for = Some({
        let itself = Arc::clone(&itself);
        Arc::new(move |request: Request| {
            let source = itself.get().and_then(Weak::upgrade);
            async move {
                ask(source.unwrap()).await;
                Answer::accept(request.id, None)
            }
        })
    });
    let source = bounded(load_mcp(config(hub, json!({}), json!({})), options)).await;
    let source = Arc::new(source.unwrap());
    itself.set(Arc::downgrade(&source)).unwrap();
    source
}

/// How a call ends that asks the person.
async fn question(source: &McpSource) -> Result<String, FailureKind> {
    let tool = source.tool("s_elicit").unwrap();
    let arguments: serde_json::Value = serde_json::from_str(QUESTION).unwrap();
    let result = bounded(tool.execute(arguments, CallContext::default())).await;
    match result.metadata.error {
        None => Ok(result.output),
        Some(error) => Err(error.kind),
    }
}

#[tokio::test]
async fn observers_that_panic_harm_nobody() {
    let hub = Hub::start().await.unwrap();
    let source = bounded(load_mcp(
        config(&hub, json!({}), json!({})),
        LoadOptions::default(),
    ));
    let source = source.await.unwrap();
    source.on_event(|_| panic!("an observer")).forever();
    let seen: Arc<Mutex<Vec<State>>> = Arc::default();
    let observer = Arc::clone(&seen);
    source
        .on_state_change(move |_, state| {
            observer.lock().unwrap().push(state);
            panic!("an observer");
        })
        .forever();
    let context = CallContext {
        progress: Some(Arc::new(|_| panic!("an observer"))),
        ..CallContext::default()
    };
    let sleep = source.tool("s_sleep").unwrap();
    let result = bounded(sleep.execute(json!({"ms": 30, "progress_ms": 5}), context)).await;
    assert_eq!(result.output, "slept");
    bounded(source.restart("s", None)).await.unwrap();
    bounded(source.close()).await;
    crate::census::eventually("states", || match seen.lock().unwrap().len() {
        4 => Ok(()),
        other => Err(other.to_string()),
    })
    .await;
}

#[tokio::test]
async fn a_handler_that_panics_cancels_its_question() {
    let hub = Hub::start().await.unwrap();
    let source = asking(&hub, |_| async { panic!("a handler") }).await;
    let answer = question(&source).await.unwrap();
    assert!(answer.contains("cancel"), "{answer}");
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_handler_that_never_answers_holds_up_neither_a_loss_nor_a_close() {
    let hub = Hub::start().await.unwrap();
    let tasks = Handle::current().metrics().num_alive_tasks();
    static ASKED: Notify = Notify::const_new();
    let source = asking(&hub, |_| async {
        ASKED.notify_one();
        std::future::pending().await
    })
    .await;
    let (killed, ()) = tokio::join!(question(&source), async {
        bounded(ASKED.notified()).await;
        hub.kill("s", Signal::KILL).unwrap();
    });
    assert_eq!(killed, Err(FailureKind::Dropped));
    bounded(source.restart("s", None)).await.unwrap();
    let (closed, ()) = tokio::join!(question(&source), async {
        bounded(ASKED.notified()).await;
        bounded(source.close()).await;
    });
    assert_eq!(closed, Err(FailureKind::Closed));
    hub.wait_gone("s", PATIENCE).await.unwrap();
    tasks_settle(tasks).await;
}

#[tokio::test]
async fn a_handler_may_use_the_source_that_asks() {
    let hub = Hub::start().await.unwrap();
    let source = asking(&hub, |source| async move {
        let echo = source.tool("s_echo").unwrap();
        let result = echo
            .execute(json!({"text": "a"}), CallContext::default())
            .await;
        assert_eq!(result.output, "a");
        source.refresh(None).await.unwrap();
    })
    .await;
    assert!(question(&source).await.unwrap().contains("accept"));
    bounded(source.close()).await;

    let source = asking(&hub, |source| async move {
        let _: Result<(), Error> = source.restart("s", None).await;
    })
    .await;
    assert_eq!(question(&source).await, Err(FailureKind::Dropped));
    // Its question ended with the connection, and with the question the handler that waited for the restart.
    bounded(source.start("s", None)).await.unwrap();
    bounded(source.close()).await;

    let tasks = Handle::current().metrics().num_alive_tasks();
    let source = asking(&hub, |source| async move { source.close().await }).await;
    assert_eq!(question(&source).await, Err(FailureKind::Closed));
    hub.wait_gone("s", PATIENCE).await.unwrap();
    drop(source);
    tasks_settle(tasks).await;
}
