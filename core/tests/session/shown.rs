//! What a model is shown, and what it may call.

use mcp_resident::{FailureKind, SEARCH_TOOL};
use mcp_resident_fixtures::hub::Hub;
use serde_json::json;

use super::{Files, bounded, call, exchange, fake, names, servers};

/// Three tools with schemas that no sanitising may touch.
fn scripted() -> serde_json::Value {
    json!({ "tools": [
        {"name": "note.add", "description": "Adds a note.", "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "pattern": "^[a-z]+$"}, "tag": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": false
        }},
        {"name": "structured", "description": "Structured.", "inputSchema": {"type": "object"}},
        {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object"}}
    ]})
}

#[tokio::test]
async fn schemas_go_unchanged_and_arguments_are_checked_with_them() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    files.user(servers([(
        "my-notes",
        fake(&hub, "s", scripted(), json!({})),
    )]));
    let session = files.open().await;
    let exchange = exchange(&session).await;
    assert_eq!(
        names(&exchange),
        [
            "mcp__my_notes__note_add",
            "mcp__my_notes__structured",
            "mcp__my_notes__fail"
        ]
    );
    let tool = exchange.tool("mcp__my_notes__note_add").unwrap();
    assert_eq!(tool.input_schema(), tool.server_schema());
    assert!(
        !exchange.tools()[1]
            .input_schema()
            .as_str()
            .contains("additionalProperties")
    );
    assert_eq!(
        session.source().owner_of("mcp__my_notes__note_add"),
        Some(("my-notes".to_owned(), "note.add".to_owned()))
    );

    // The null of an omitted optional argument never reaches the server.
    let sent = call(
        &exchange,
        "mcp__my_notes__note_add",
        json!({"text": "abc", "tag": null}),
    )
    .await;
    assert_eq!(sent.output, r#"{"text":"abc"}"#);
    for (arguments, part) in [
        (json!({"text": "ABC"}), "/text"),
        (json!({}), "text"),
        (json!({"text": "abc", "more": 1}), "more"),
    ] {
        let refused = call(&exchange, "mcp__my_notes__note_add", arguments).await;
        let error = refused.metadata.error.unwrap();
        assert_eq!(error.kind, FailureKind::Arguments);
        assert!(error.message.contains(part), "{}", error.message);
    }
    let failed = call(&exchange, "mcp__my_notes__fail", json!({"text": "no"})).await;
    assert!(failed.is_error);
    let structured = call(
        &exchange,
        "mcp__my_notes__structured",
        json!({"value": {"a": 1}}),
    )
    .await;
    assert_eq!(
        structured.structured_content().unwrap().as_str(),
        r#"{"a":1}"#
    );
    bounded(session.close()).await;
}

#[tokio::test]
async fn deferred_tools_are_found_and_come_with_the_next_exchange() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    files.user(servers([(
        "s",
        fake(
            &hub,
            "s",
            json!({}),
            json!({"exposure": "deferred", "toolExposure": {"echo": "direct", "raw*": "hidden"}}),
        ),
    )]));
    let session = files.open().await;
    let first = exchange(&session).await;
    assert_eq!(names(&first), ["mcp__s__echo", SEARCH_TOOL]);
    let nothing = call(&first, SEARCH_TOOL, json!({"query": "xyzzy raw"})).await;
    assert!(
        !nothing.is_error && nothing.output.contains("no tool fits"),
        "{}",
        nothing.output
    );
    assert!(
        call(&first, SEARCH_TOOL, json!({"query": " ,"}))
            .await
            .is_error
    );
    let found = call(&first, SEARCH_TOOL, json!({"query": "add"}))
        .await
        .output;
    assert!(found.contains("mcp__s__add"), "{found}");
    assert_eq!(
        names(&first),
        ["mcp__s__echo", SEARCH_TOOL],
        "an exchange stands still"
    );
    let second = exchange(&session).await;
    assert_eq!(names(&second), ["mcp__s__echo", SEARCH_TOOL, "mcp__s__add"]);
    assert_eq!(
        call(&second, "mcp__s__add", json!({"a": 1, "b": 2}))
            .await
            .output,
        "3"
    );
    bounded(session.close()).await;
}

#[tokio::test]
async fn names_that_clash_are_told_apart_and_stay_with_their_tool() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let one = |name: &str| json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]});
    files.user(servers([
        ("a.b", fake(&hub, "x", one("t"), json!({}))),
        ("a_b", fake(&hub, "y", one("t"), json!({}))),
    ]));
    let session = files.open().await;
    let first = exchange(&session).await;
    let dotted = session.source().name_of("a.b", "t").unwrap();
    assert_eq!(session.source().name_of("a_b", "t").unwrap(), "mcp__a_b__t");
    assert!(dotted.starts_with("mcp__a_b__t_"), "{dotted}");
    files.user(servers([("a.b", fake(&hub, "x", one("t"), json!({})))]));
    bounded(session.reload()).await.unwrap();
    let second = exchange(&session).await;
    assert_eq!(names(&second), [dotted.as_str()]);
    assert_eq!(first.tools().len(), 2);
    bounded(session.close()).await;
}
