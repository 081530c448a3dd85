//! Servers that repeat what they were trusted with. What they say as a result is theirs to say; everything that a host
//! logs (events, errors, debug output) and everything that is written to a disk must hold a mask in its place.

use std::sync::Arc;

use mcp_resident::{
    CallContext, ExpandMode, LoadOptions, McpSource, ShellCommandRunner, State, load_mcp,
};
use mcp_resident_fixtures::hub::{Hub, Transport};
use serde_json::{Value, json};

use crate::odd_server;
use crate::support::{PATIENCE, bounded};

/// Everything about a source that a host could log.
fn logged(source: &McpSource) -> String {
    let mut text = format!("{source:?} {:?}", source.problems());
    for problem in source.problems() {
        text += &format!("\n{problem}");
    }
    for event in source.events(0) {
        text += &format!("\n{event:?} {}", event.kind);
    }
    for server in source.servers() {
        let info = source.info(&server).unwrap();
        text += &format!("\n{:?} {:?}", info.last_error, info.state);
        if let Some(error) = info.last_error {
            text += &format!("\n{error}");
        }
    }
    for tool in source.tools() {
        text += &format!("\n{tool:?}");
    }
    text
}

#[track_caller]
fn assert_hidden(text: &str, secrets: &[&str]) {
    for secret in secrets {
        if let Some(at) = text.find(secret) {
            let from = text[..at]
                .char_indices()
                .rev()
                .nth(120)
                .map_or(0, |(at, _)| at);
            panic!("`{secret}` is shown: {}", &text[from..at + secret.len()]);
        }
    }
}

async fn load(entry: Value, expand: Option<ExpandMode>) -> McpSource {
    let mut options = LoadOptions::default();
    options.expand = expand;
    options.secret_commands = Some(Arc::new(ShellCommandRunner));
    bounded(load_mcp(json!({ "mcpServers": { "s": entry } }), options))
        .await
        .unwrap()
}

/// Calls, and returns all that the error of the result says.
async fn failure_of_a_call(source: &McpSource) -> String {
    let tool = source.tool("s_t").unwrap();
    let result = bounded(tool.execute(json!({}), CallContext::default())).await;
    let error = result.metadata.error.expect("an error");
    format!("{error:?} {error}")
}

const SECRETS: [&str; 3] = ["env-CANARY-51", "cmd-CANARY-52", "arg-CANARY-53"];

/// A server that has three secrets, and says them where the test's code lets it. Its program is a file, because all
/// arguments are expanded.
async fn trusted(on_call: &str, file: &std::path::Path) -> McpSource {
    let on_call = on_call.replace("SECRETS", "$ENV_SECRET $COMMAND_SECRET $2");
    std::fs::write(file, odd_server::script(&on_call)).unwrap();
    let entry = json!({
        "command": "/bin/sh",
        "args": [file, "--token", SECRETS[2]],
        "env": {"ENV_SECRET": SECRETS[0], "COMMAND_SECRET": format!("!echo {}", SECRETS[1])},
    });
    load(entry, Some(ExpandMode::All)).await
}

#[tokio::test]
async fn a_server_may_say_its_secrets_anywhere() {
    let sayings = [
        r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no: %s","data":{"a":"%s"}}}\n' "$id" "SECRETS" "SECRETS""#,
        r#"printf '{"jsonrpc":"2.0","id":%s,"error":"%s"}\n' "$id" "SECRETS""#,
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"content":"%s"}}\n' "$id" "SECRETS""#,
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":"%s"}]}}\n' "$id" "SECRETS""#,
        r#"printf '%s\n' "SECRETS"; printf '{"jsonrpc":"2.0","id":%s}\n' "$id""#,
        r#"printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"%s","data":"%s"}}\n' "SECRETS" "SECRETS"; printf '{"jsonrpc":"2.0","id":%s}\n' "$id""#,
        r#"echo "SECRETS" >&2; exit 3"#,
        r#"echo "SECRETS"; echo "SECRETS" >&2; exit 3"#,
    ];
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.sh");
    for saying in sayings {
        let source = trusted(saying, &file).await;
        let failure = failure_of_a_call(&source).await;
        assert_hidden(&failure, &SECRETS);
        if saying.contains("exit") {
            bounded(source.wait_for("s", &[State::Error], PATIENCE))
                .await
                .unwrap();
        }
        bounded(source.close()).await;
        assert_hidden(&logged(&source), &SECRETS);
    }
}

/// Cut in the middle, a secret is no longer found by looking for it.
#[tokio::test]
async fn what_is_cut_short_shows_no_part_of_a_secret() {
    let secret = format!("key-CANARY-{}", "0123456789".repeat(20));
    let parts = ["CANARY", "12345678901234567890"];
    let sayings = [
        // More standard error than is kept: its beginning is the end of a secret.
        r#"printf '%s' "$LONG$LONG" >&2; exit 3"#,
        // Log data that is cut within a secret.
        r#"printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%08150d%s"}}\n' 0 "$LONG"; printf '{"jsonrpc":"2.0","id":%s}\n' "$id""#,
        // Noise of which only the beginning is looked at.
        r#"printf '%s' "$LONG$LONG$LONG$LONG$LONG$LONG"; printf '\n{"jsonrpc":"2.0","id":%s}\n' "$id""#,
    ];
    for saying in sayings {
        let keys = json!({"env": {"LONG": secret}, "limits": {"stderrBytes": 300}});
        let source = load(odd_server::entry(saying, keys), None).await;
        assert_hidden(&failure_of_a_call(&source).await, &parts);
        bounded(source.close()).await;
        assert_hidden(&logged(&source), &parts);
    }
}

/// Other programs write the same JSON with other escapes.
#[tokio::test]
async fn a_secret_is_found_however_json_writes_it() {
    let secret = "abc/def&gh-pässword-CANARY";
    let on_call = r#"printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"k":"abc\/def\u0026gh-p\u00e4ssword-CANARY"}}}'
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"m","data":"%s"}}\n' "$id" 'abc\/def\u0026gh-p\u00e4ssword-CANARY'"#;
    let source = load(
        odd_server::entry(on_call, json!({"env": {"K": secret}})),
        None,
    )
    .await;
    assert_hidden(&failure_of_a_call(&source).await, &["CANARY"]);
    bounded(source.close()).await;
    assert_hidden(&logged(&source), &["CANARY"]);
}

#[tokio::test]
async fn a_listing_that_repeats_a_secret_reaches_no_file() {
    for description in [
        "plain-CANARY/77",
        r"plain-CANARY\\/77",
        r"plain-\\u0043ANARY/77",
    ] {
        let cache = tempfile::tempdir().unwrap();
        let mut options = LoadOptions::default();
        options.cache_dir = Some(cache.path().to_owned());
        let keys = json!({"lazy": "list", "env": {"DESCRIPTION": description.replace(r"\\", "\\"), "K": "plain-CANARY/77"}});
        let config = json!({ "mcpServers": { "s": odd_server::entry(":", keys) } });
        let source = bounded(load_mcp(config, options)).await.unwrap();
        assert!(source.tool("s_t").is_some());
        bounded(source.close()).await;
        assert_hidden(&logged(&source), &["plain-CANARY"]);
        let written: Vec<_> = std::fs::read_dir(cache.path()).unwrap().collect();
        assert!(written.is_empty(), "{description}: {written:?}");
    }
}

#[tokio::test]
async fn a_remote_server_may_repeat_its_address_and_its_headers() {
    let secrets = ["query-CANARY-1", "header-CANARY-2", "bearer-CANARY-3"];
    let all = secrets.join(" ");
    let scripts = [
        json!({"fail": {"initialize": {"code": 1, "message": all}}}),
        json!({"status_for": {"initialize": {"status": 500, "body": all}}}),
        json!({"status_for": {"initialize": {"status": 401, "body": all, "headers": {"www-authenticate": all}}}}),
        json!({"redirect": {"status": 302, "to": format!("http://127.0.0.1:9/{}", secrets[0])}}),
        json!({"protocol_version": secrets[1]}),
        json!({"content_type": secrets[2]}),
        json!({"raw_reply": {"tools/list": format!(r#"{{"jsonrpc":"2.0","id":$id,"result":"{all}"}}"#)}}),
        json!({"accept_then_reset": true}),
    ];
    let hub = Hub::start().await.unwrap();
    for script in scripts {
        let url = hub
            .start_http("s", Transport::Http, &script, 0)
            .await
            .unwrap();
        let entry = json!({
            "url": format!("{url}?api_key={}", secrets[0]),
            "headers": {"x-key": secrets[1], "authorization": format!("Bearer {}", secrets[2])},
        });
        let source = load(entry, None).await;
        assert_eq!(source.state("s").unwrap(), State::Error, "{script}");
        bounded(source.close()).await;
        assert_hidden(&logged(&source), &secrets);
    }
}

#[tokio::test]
async fn what_is_odd_about_a_tool_is_told_without_a_secret() {
    let secret = "schema-CANARY-9";
    // Ends the tool's entry and begins two others.
    let description = format!(r#"x"}},{{"name":"u","inputSchema":"{secret}"}},{{"name":"v","x":""#);
    let keys = json!({"env": {"DESCRIPTION": description, "K": secret}});
    let source = load(odd_server::entry(":", keys), None).await;
    assert!(source.tool("s_u").is_some());
    bounded(source.close()).await;
    let logged = logged(&source);
    assert!(logged.contains("inputSchema is"), "{logged}");
    assert_hidden(&logged, &[secret]);
}
