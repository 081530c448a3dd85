//! The everything server over each transport: what a host uses, and a server that is killed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_resident::{
    Answer, AutoRestart, CallContext, CancellationToken, EventKind, FailureKind, LoadOptions,
    RawJson, Request, RequestKind, State, WaitFor,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::http_server::HttpServer;
use crate::installed::NodeServers;
use crate::loaded::{Loaded, bounded};

const LONG: &str = "trigger-long-running-operation";

/// Fills in every form, and agrees to every page.
fn person() -> Arc<dyn WaitFor> {
    Arc::new(|request: Request| async move {
        let data = match request.kind {
            RequestKind::Input => {
                assert!(
                    request
                        .data
                        .unwrap()
                        .as_str()
                        .contains("Your full, legal name")
                );
                Some(RawJson::from(json!({ "name": "Ada", "check": true })))
            }
            RequestKind::Authorization => {
                assert_eq!(request.url.as_deref(), Some("https://example.org/consent"));
                None
            }
        };
        Answer::accept(request.id, data)
    })
}

fn options() -> LoadOptions {
    let mut options = LoadOptions::default();
    options.wait_for = Some(person());
    options
}

/// Everything that a host uses.
async fn use_all_of_it(loaded: &Loaded) {
    let tools = loaded.source.tools();
    assert_eq!(tools.len(), 15, "{tools:?}");
    expect_echo(loaded).await;

    let weather = loaded
        .answer(
            "s",
            "get-structured-content",
            json!({ "location": "Chicago" }),
        )
        .await;
    let weather: Value = serde_json::from_str(&weather).unwrap();
    assert!(weather["temperature"].is_number(), "{weather}");

    let form = loaded
        .answer("s", "trigger-elicitation-request", json!({}))
        .await;
    assert!(
        form.contains("- Name: Ada\n- Agreed to terms: true"),
        "{form}"
    );
    let page = json!({ "url": "https://example.org/consent" });
    let page = loaded.answer("s", "trigger-url-elicitation", page).await;
    assert!(
        page.contains("User completed the URL elicitation flow"),
        "{page}"
    );

    progress_is_told_in_order(loaded).await;
    a_cancelled_call_disturbs_nothing(loaded).await;
}

async fn expect_echo(loaded: &Loaded) {
    let echo = loaded
        .answer("s", "echo", json!({ "message": "a\nß" }))
        .await;
    assert_eq!(echo, "Echo: a\nß");
}

async fn progress_is_told_in_order(loaded: &Loaded) {
    let steps: Arc<Mutex<Vec<u64>>> = Arc::default();
    let seen = Arc::clone(&steps);
    let context = CallContext {
        progress: Some(Arc::new(move |params: RawJson| {
            let step = params.to_value()["progress"].as_u64().unwrap();
            seen.lock().unwrap().push(step);
        })),
        ..CallContext::default()
    };
    let arguments = json!({ "duration": 0.2, "steps": 4 });
    let result = bounded(loaded.tool("s", LONG).execute(arguments, context)).await;
    assert!(result.output.contains("completed"), "{result:?}");
    assert_eq!(*steps.lock().unwrap(), [1, 2, 3, 4]);
}

async fn a_cancelled_call_disturbs_nothing(loaded: &Loaded) {
    let cancel = CancellationToken::new();
    let told = Arc::new(AtomicUsize::new(0));
    let context = CallContext {
        cancel: Some(cancel.clone()),
        progress: Some({
            let told = Arc::clone(&told);
            Arc::new(move |_| {
                told.fetch_add(1, Ordering::Relaxed);
                cancel.cancel();
            })
        }),
        ..CallContext::default()
    };
    // The server goes on reporting progress for a while, to nobody.
    let arguments = json!({ "duration": 3, "steps": 30 });
    let result = bounded(loaded.tool("s", LONG).execute(arguments, context)).await;
    let error = result.metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Cancelled, "{error}");
    expect_echo(loaded).await;
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

/// A call that is running, as its first progress shows.
async fn call_in_flight(loaded: &Loaded) -> tokio::task::JoinHandle<mcp_resident::ToolResult> {
    let running = Arc::new(Notify::new());
    let context = CallContext {
        progress: Some({
            let running = Arc::clone(&running);
            Arc::new(move |_| running.notify_one())
        }),
        ..CallContext::default()
    };
    let tool = loaded.tool("s", LONG);
    let arguments = json!({ "duration": 600, "steps": 6_000 });
    let call = tokio::spawn(async move { tool.execute(arguments, context).await });
    bounded(running.notified()).await;
    call
}

#[tokio::test]
async fn over_stdio() {
    let Some(node) = NodeServers::find("everything over stdio") else {
        return;
    };
    let entry = json!({ "s": { "command": node.program("mcp-server-everything") } });
    let loaded = Loaded::load(entry, options()).await;
    use_all_of_it(&loaded).await;
    loaded.close().await;
}

#[tokio::test]
async fn over_streamable_http_with_a_restart_on_the_same_port() {
    let Some(node) = NodeServers::find("everything over streamable HTTP") else {
        return;
    };
    let mut server = HttpServer::start(&node, "streamableHttp").await;
    let entry = json!({ "s": { "url": server.url("mcp") } });
    let mut loaded = Loaded::load(entry, options()).await;
    use_all_of_it(&loaded).await;

    let call = call_in_flight(&loaded).await;
    server.kill().await;
    let lost = bounded(call).await.unwrap().metadata.error.unwrap();
    assert_eq!(lost.kind, FailureKind::Dropped, "{lost}");
    let down = loaded.call("s", "echo", json!({ "message": "?" })).await;
    let down = down.metadata.error.unwrap();
    assert_eq!(down.kind, FailureKind::Unavailable, "{down}");

    server.start_again(&node).await;
    // It knows nothing of the session any more, and says so with an error that has no id.
    expect_echo(&loaded).await;
    loaded
        .event("s", |kind| matches!(kind, EventKind::SessionReplaced))
        .await;
    use_all_of_it(&loaded).await;
    loaded.close().await;
}

#[tokio::test]
async fn over_sse_with_a_restart_on_the_same_port() {
    let Some(node) = NodeServers::find("everything over SSE") else {
        return;
    };
    let mut server = HttpServer::start(&node, "sse").await;
    let entry = json!({ "s": { "type": "sse", "url": server.url("sse") } });
    let mut options = options();
    // Attempts have to last until the server is back.
    options.auto_restart = Some(AutoRestart::On {
        max_retries: Some(1_000),
        backoff: Some(Duration::from_millis(100)),
    });
    let mut loaded = Loaded::load(entry, options).await;
    use_all_of_it(&loaded).await;

    let call = call_in_flight(&loaded).await;
    server.kill().await;
    let lost = bounded(call).await.unwrap().metadata.error.unwrap();
    assert_eq!(lost.kind, FailureKind::Dropped, "{lost}");

    server.start_again(&node).await;
    loaded.changed_to("s", State::Running).await;
    use_all_of_it(&loaded).await;
    loaded.close().await;
}
