//! Calls that were lost with their connection are sent again only when host and server allow it.

mod support;

use std::time::Duration;

use mcp_resident::{
    AutoRestart, CallContext, Executed, Exit, FailureKind, LoadOptions, ToolResult, load_mcp,
};
use mcp_resident_fixtures::hub::Hub;
use serde_json::{Value, json};
use support::{bounded, config};

/// Calls a tool whose first call ends the server, which is launched again like this.
async fn call(tool: &str, replay: bool, again: Value) -> ToolResult {
    let hub = Hub::start().await.expect("a hub");
    let script = json!({
        "extra_tools": [
            {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
            {"name": "write", "inputSchema": {"type": "object"}},
        ],
        "exit_on": {"method": "tools/call", "code": 7, "times": 1},
        "launches": [{}, again],
    });
    let mut options = LoadOptions::default();
    options.replay_repeatable_calls = replay;
    options.auto_restart = Some(AutoRestart::On {
        max_retries: Some(3),
        backoff: Some(Duration::from_millis(10)),
    });
    let source = bounded(load_mcp(config(&hub, script, json!({})), options))
        .await
        .expect("a source");
    let tool = source.tool(tool).expect("the tool");
    let result = bounded(tool.execute(json!({"n": 1}), CallContext::default())).await;
    bounded(source.close()).await;
    result
}

#[tokio::test]
async fn a_call_that_does_no_harm_twice_is_sent_again() {
    let result = call("s_read", true, json!({})).await;
    assert_eq!(result.output, r#"{"n":1}"#, "{result:?}");
}

#[tokio::test]
async fn any_other_call_is_not() {
    for (tool, replay) in [("s_write", true), ("s_read", false)] {
        let error = call(tool, replay, json!({})).await.metadata.error.unwrap();
        assert_eq!(error.kind, FailureKind::Dropped, "{tool}");
    }
}

#[tokio::test]
async fn one_whose_server_does_not_come_back_says_how_it_was_lost() {
    let gone = json!({"exit_at_start": {"code": 2}});
    let error = call("s_read", true, gone).await.metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Dropped, "{error:?}");
    assert_eq!(error.executed, Executed::Unknown);
    assert_eq!(error.exit, Some(Exit::Code(7)));
}
