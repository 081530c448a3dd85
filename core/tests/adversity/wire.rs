//! Servers that break the framing and the protocol.

use std::time::Duration;

use mcp_resident::{
    AutoRestart, CallContext, Executed, FailureKind, LoadOptions, McpSource, State, ToolResult,
    load_mcp,
};
use serde_json::json;

use crate::odd_server::{entry, load};
use crate::support::{PATIENCE, bounded};

async fn call(source: &McpSource) -> ToolResult {
    let tool = source.tool("s_t").unwrap();
    bounded(tool.execute(json!({}), CallContext::default())).await
}

#[tokio::test]
async fn replies_that_nobody_asked_for_answer_nothing() {
    let source = load(
        r#"reply $((id + 1)) early; reply "$id" "own $calls"; reply "$id" twice; reply 7 stray; reply '"x"' stray"#,
        json!({}),
    )
    .await;
    for number in 1..=3 {
        assert_eq!(call(&source).await.output, format!("own {number}"));
    }
    bounded(source.close()).await;
}

#[tokio::test]
async fn bytes_that_are_no_text_cost_the_next_reply_nothing() {
    let source = load(
        r#"printf '\000\377\376{\n\000\n\r\n]\n[]\n[1,null,{}]\n{"id":{}}\n{"jsonrpc":"2.0","method":7}\n"text"\n'; reply "$id" fine"#,
        json!({}),
    )
    .await;
    assert_eq!(call(&source).await.output, "fine");
    assert_eq!(call(&source).await.output, "fine");
    assert_eq!(source.state("s").unwrap(), State::Running);
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_reply_that_is_not_valid_utf_8_fails_its_call_and_no_other() {
    let source = load(
        r#"if [ $calls = 1 ]; then reply "$id" "$(printf '\377')"; else reply "$id" fine; fi"#,
        json!({}),
    )
    .await;
    let failed = call(&source).await;
    assert_eq!(failed.metadata.error.unwrap().kind, FailureKind::Protocol);
    assert_eq!(call(&source).await.output, "fine");
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_reply_inside_a_batch_counts() {
    let source = load(
        r#"printf '[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}]\n' "$id""#,
        json!({}),
    )
    .await;
    assert_eq!(call(&source).await.output, "[empty result]");
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_flood_of_notifications_delays_a_reply_and_floods_no_history() {
    let source = load(
        r#"i=0; while [ $i -lt 2500 ]; do
             printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}' \
               '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'$id',"progress":1}}' \
               '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":1}}' \
               '{"jsonrpc":"2.0","method":"notifications/unheard","params":[]}'
             i=$((i + 1)); done; reply "$id" fine"#,
        json!({}),
    )
    .await;
    assert_eq!(call(&source).await.output, "fine");
    let told = source.events(0).len();
    assert!(told < 40, "{told} events");
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_line_over_the_limit_fails_the_call_that_it_names() {
    let source = load(
        r#"if [ $calls = 1 ]; then reply "$id" "$(printf '%09000d' 0)"; else reply "$id" fine; fi"#,
        json!({"limits": {"maxMessageBytes": 4096}}),
    )
    .await;
    let failed = call(&source).await.metadata.error.unwrap();
    assert_eq!(
        (failed.kind, failed.executed),
        (FailureKind::TooLarge, Executed::Yes)
    );
    assert_eq!(call(&source).await.output, "fine");
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_line_over_the_limit_that_names_no_call_ends_the_connection() {
    let source = load(
        r#"printf '{"x":"%09000d"}\n' 0"#,
        json!({"limits": {"maxMessageBytes": 4096}}),
    )
    .await;
    let failed = call(&source).await.metadata.error.unwrap();
    assert_eq!(
        (failed.kind, failed.executed),
        (FailureKind::Dropped, Executed::Unknown)
    );
    bounded(source.wait_for("s", &[State::Error], PATIENCE))
        .await
        .unwrap();
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_reply_that_was_cut_by_the_end_of_its_server_is_a_loss() {
    for half in [
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"ty' "$id""#,
        r#"printf '{"id":%s' "$id""#,
        r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"mess' "$id""#,
    ] {
        let source = load(&format!("{half}; echo broke >&2; exit 7"), json!({})).await;
        let failed = call(&source).await.metadata.error.unwrap();
        assert_eq!(failed.kind, FailureKind::Dropped, "{half}: {failed:?}");
        assert_eq!(failed.executed, Executed::Unknown);
        assert_eq!(failed.exit.unwrap().to_string(), "exit code 7");
        assert_eq!(failed.stderr_tail.unwrap().trim(), "broke");
        bounded(source.close()).await;
    }
}

#[tokio::test]
async fn a_value_that_is_nested_without_end_is_a_value() {
    // Doubled seventeen times: deeper than any stack.
    let source = load(
        r#"o='['; c=']'; n=0; while [ $n -lt 17 ]; do o=$o$o; c=$c$c; n=$((n + 1)); done
           printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"a":%s%s}}}\n' "$id" "$o" "$c""#,
        json!({}),
    )
    .await;
    let result = call(&source).await;
    assert!(!result.is_error, "{:?}", result.metadata);
    assert_eq!(result.output.len(), 2 * (1 << 17) + r#"{"a":}"#.len());
    assert!(result.structured_content().is_some());
    bounded(source.close()).await;
}

#[tokio::test]
async fn an_error_that_is_none_is_told_without_words_of_this_language() {
    let source = load(
        r#"printf '{"jsonrpc":"2.0","id":%s,"error":"no\\nluck"}\n' "$id""#,
        json!({}),
    )
    .await;
    let failed = call(&source).await.metadata.error.unwrap();
    assert_eq!(failed.kind, FailureKind::Protocol);
    for word in ["struct", "RpcError", "i64", "f64", "\n"] {
        assert!(!failed.message.contains(word), "{}", failed.message);
    }
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_call_may_wait_for_ever() {
    let source = load(r#"reply "$id" fine"#, json!({})).await;
    let tool = source.tool("s_t").unwrap();
    let context = CallContext::with_timeout(Duration::MAX);
    assert_eq!(
        bounded(tool.execute(json!({}), context)).await.output,
        "fine"
    );
    bounded(source.close()).await;
}

#[tokio::test]
async fn limits_without_an_end_are_limits() {
    let mut options = LoadOptions::default();
    let limits = &mut options.limits;
    for limit in [
        &mut limits.connect,
        &mut limits.initialize,
        &mut limits.list,
        &mut limits.call_idle,
        &mut limits.call_total,
        &mut limits.person_wait,
        &mut limits.restart_max_delay,
        &mut limits.close_stdin_grace,
        &mut limits.close_total,
    ] {
        *limit = Some(Duration::MAX);
    }
    options.auto_restart = Some(AutoRestart::On {
        max_retries: Some(1),
        backoff: Some(Duration::MAX),
    });
    let config = json!({ "mcpServers": { "s": entry(r#"reply "$id" fine"#, json!({})) } });
    let source = bounded(load_mcp(config, options)).await.unwrap();
    assert_eq!(call(&source).await.output, "fine");
    bounded(source.close()).await;
}
