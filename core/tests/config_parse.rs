//! Reading configurations: what is accepted, what is reported, and where.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::fs;
use std::path::{Path, PathBuf};

use mcp_resident::config::{
    ConfigError, ConfigInput, ParseOptions, ParsedConfig, ServerDefinition, StdioDefinition,
    Transport, parse,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/config")
        .join(name)
}

fn parse_file(path: impl Into<PathBuf>) -> Result<ParsedConfig, ConfigError> {
    parse(ConfigInput::File(path.into()), &ParseOptions::default())
}

fn parse_text(text: &str) -> Result<ParsedConfig, ConfigError> {
    parse(
        ConfigInput::Text {
            text: text.to_owned(),
            origin: "mcp.json".to_owned(),
        },
        &ParseOptions::default(),
    )
}

fn parse_object(object: Value) -> ParsedConfig {
    parse(ConfigInput::Object(object), &ParseOptions::default()).unwrap()
}

fn warnings(parsed: &ParsedConfig) -> Vec<String> {
    parsed.warnings.iter().map(ToString::to_string).collect()
}

fn names(parsed: &ParsedConfig) -> Vec<&str> {
    parsed
        .servers
        .iter()
        .map(|entry| entry.name.as_str())
        .collect()
}

fn stdio(definition: &ServerDefinition) -> &StdioDefinition {
    match &definition.transport {
        Transport::Stdio(stdio) => stdio,
        other => panic!("not a child process: {other:?}"),
    }
}

#[test]
fn comments_and_trailing_commas_are_accepted_and_texts_are_left_alone() {
    let parsed = parse_file(data("comments.jsonc")).unwrap();
    assert_eq!(names(&parsed), ["remote", "globs"]);
    assert_eq!(warnings(&parsed), [""; 0]);
    let usable: Vec<_> = parsed.usable().collect();
    match &usable[0].transport {
        Transport::Http(remote) => {
            assert_eq!(remote.url, "https://tools.example/a//b/*c*/d");
            assert_eq!(
                remote.headers,
                [("X-Note".to_owned(), "no // comment".to_owned())]
            );
        }
        other => panic!("not streamable HTTP: {other:?}"),
    }
    assert_eq!(stdio(usable[1]).args, ["src/**/*.rs", "a, ]"]);
}

#[test]
fn a_byte_order_mark_and_both_line_ends_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    fs::write(
        &path,
        "\u{feff}{\"mcpServers\": {\r\n\"a\": {\"command\":\r\n 1}}}\r\n",
    )
    .unwrap();
    let parsed = parse_file(&path).unwrap();
    let position = parsed.problems().next().unwrap().position.unwrap();
    assert_eq!((position.line, position.column), (3, 2));
    assert_eq!(
        names(&parse_text("\u{feff}{\"a\": {\"command\": \"x\"}}").unwrap()),
        ["a"]
    );
}

#[test]
fn nothing_is_no_servers() {
    for text in [
        "",
        " \n\t\r\n",
        "null",
        "// nothing yet\n",
        "{}",
        "{\"mcpServers\": {}}",
        "{\"mcpServers\": null}",
    ] {
        let parsed = parse_text(text).unwrap();
        assert!(
            parsed.servers.is_empty() && parsed.warnings.is_empty(),
            "{text:?}"
        );
    }
    assert!(parse_object(Value::Null).servers.is_empty());
}

#[test]
fn what_spoils_a_whole_file_says_where_and_what_belongs_there() {
    let cases = [
        (
            "[]",
            "mcp.json:1:1: expected an object with the key mcpServers, found a list",
        ),
        (
            "7",
            "mcp.json:1:1: expected an object with the key mcpServers, found a number",
        ),
        (
            "{\"mcpServers\": []}",
            "mcp.json:1:16: expected an object of servers as mcpServers, found a list",
        ),
        (
            "{\n  \"a\": {\n",
            "mcp.json:2:8: expected \"}\" for the object that starts here, found the end of the text",
        ),
        (
            "{\"a\" {}}",
            "mcp.json:1:6: expected \":\" after the key, found \"{\"",
        ),
        (
            "{\"a\": 1 \"b\": 2}",
            "mcp.json:1:8: expected \",\" between two entries, found a quoted text",
        ),
        (
            "{a: 1}",
            "mcp.json:1:2: expected a key in double quotes, found \"a\"",
        ),
        (
            "{\"a\": True}",
            "mcp.json:1:7: expected a value, found \"True\"",
        ),
        (
            "{\"a\": sk-12345}",
            "mcp.json:1:7: expected a value, found a text of 8 characters",
        ),
        (
            "{\"a\": 'sk-12345'}",
            "mcp.json:1:7: expected double quotes instead of single ones, found a quoted text",
        ),
        (
            "{} {}",
            "mcp.json:1:4: expected the end of the text, found \"{\"",
        ),
        (
            "{\"a\": \"sk-12345",
            "mcp.json:1:7: expected a closing double quote, found a quoted text",
        ),
        (
            "{\"a\": \"C:\\dir\"}",
            "mcp.json:1:10: expected a text with valid escapes (write a backslash as \"\\\\\"), found a text of 4 characters",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            parse_text(text).unwrap_err().to_string(),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn an_unclosed_list_is_reported_at_the_line_that_ends_it() {
    let error = parse_file(data("unclosed.json")).unwrap_err();
    assert_eq!(error.position().unwrap().line, 8);
    assert!(error.origin().unwrap().ends_with("unclosed.json"));
    assert!(
        error
            .to_string()
            .ends_with("8:3: expected a value, \",\" or \"]\", found \"}\""),
        "{error}"
    );
}

#[test]
fn other_encodings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    let utf16 = |bytes: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        format!("{mark}{{\"a\": {{}}}}")
            .encode_utf16()
            .flat_map(bytes)
            .collect()
    };
    for bytes in [
        utf16(u16::to_le_bytes, "\u{feff}"),
        utf16(u16::to_be_bytes, "\u{feff}"),
        utf16(u16::to_le_bytes, ""),
        utf16(u16::to_be_bytes, ""),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = parse_file(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("expected a UTF-8 file, found UTF-16; save it as UTF-8"),
            "{error}"
        );
    }
    fs::write(&path, b"{\n\"caf\xe9\": 1}").unwrap();
    let error = parse_file(&path).unwrap_err();
    assert_eq!(
        error
            .position()
            .map(|position| (position.line, position.column)),
        Some((2, 5))
    );
}

#[test]
fn a_missing_file_and_a_too_large_one_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let error = parse_file(folder.path().join("absent.json")).unwrap_err();
    assert!(
        matches!(
            error,
            ConfigError::Unreadable {
                kind: std::io::ErrorKind::NotFound,
                ..
            }
        ),
        "{error}"
    );
    let path = folder.path().join("large.json");
    fs::write(&path, "{}        ").unwrap();
    let mut options = ParseOptions::default();
    options.max_bytes = 9;
    let error = parse(ConfigInput::File(path), &options)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("expected a file of at most 9 bytes, found a larger one"),
        "{error}"
    );
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(200), "]".repeat(200));
    assert!(
        parse_text(&deep)
            .unwrap_err()
            .to_string()
            .contains("at most 64 nested")
    );
    let object = (0..200).fold(Value::Null, |inner, _| json!([inner]));
    assert!(parse(ConfigInput::Object(object), &ParseOptions::default()).is_err());
}

#[test]
fn the_later_of_two_equal_keys_counts_and_both_lines_are_named() {
    let parsed = parse_file(data("repeated.json")).unwrap();
    assert_eq!(names(&parsed), ["other", "files"]);
    let servers: Vec<_> = parsed.usable().collect();
    assert_eq!(
        stdio(servers[0]).env,
        [("LEVEL".to_owned(), Some("2".to_owned()))]
    );
    assert_eq!(stdio(servers[1]).args, ["new"]);
    let reported: Vec<_> = parsed
        .warnings
        .iter()
        .map(|warning| {
            (
                warning.server.as_deref(),
                warning.field.as_deref(),
                warning.reason.as_str(),
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            (
                Some("other"),
                Some("env.LEVEL"),
                "is given twice, on line 4 and on line 5; the later one counts"
            ),
            (
                Some("files"),
                None,
                "is given twice, on line 2 and on line 6; the later one counts"
            ),
        ]
    );
}

#[test]
fn the_key_around_the_entries_has_three_spellings_or_is_left_out() {
    let entries = json!({"a": {"command": "x"}});
    for key in ["mcpServers", "servers", "mcp"] {
        let parsed = parse_object(json!({key: entries, "inputs": [], "other": 1}));
        assert_eq!(
            (names(&parsed), warnings(&parsed)),
            (vec!["a"], Vec::new()),
            "{key}"
        );
    }
    let bare = parse_object(json!({
        "$schema": "x", "a": {"command": "x"}, "builtins": {}, "agents": {}, "a2a": {}, "mcpServer": {}
    }));
    assert_eq!(names(&bare), ["a"]);
    let settings = parse_object(json!({"mcp": {"inputs": [], "servers": entries}}));
    assert_eq!(names(&settings), ["a"]);
    let server_called_servers = parse_object(json!({"mcp": {"servers": {"command": "x"}}}));
    assert_eq!(names(&server_called_servers), ["servers"]);
}

#[test]
fn an_unused_or_misspelled_key_around_entries_gets_a_hint() {
    let entries = json!({"a": {"command": "x"}});
    for key in ["mcp_servers", "mcp.servers", "mcpservers", "MCPServers"] {
        let parsed = parse_object(json!({key: entries}));
        assert_eq!(parsed.servers.len(), 0, "{key}");
        assert_eq!(
            warnings(&parsed),
            [format!(
                "{key}: is not a known key; did you mean mcpServers?"
            )]
        );
    }
    let parsed = parse_object(json!({"servers": {"b": {"command": "x"}}, "mcpServers": entries}));
    assert_eq!(names(&parsed), ["a"]);
    assert_eq!(
        warnings(&parsed),
        ["servers: is ignored because of mcpServers; keep one of them"]
    );
    let parsed = parse_object(json!({"servers": entries, "inputs": [{"id": "x"}]}));
    assert_eq!(parsed.warnings.len(), 1);
}

/// Any object, with keys and values that mean something more often than by chance.
fn any_object() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "mcpServers",
        "mcp",
        "servers",
        "a",
        "command",
        "url",
        "args",
        "env",
        "headers",
        "type",
        "tools",
        "timeout",
        "lazy",
        "limits",
        "inherit_env",
        "autoRestart",
        "toolExposure",
        "enabled",
        "auth",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}|http://h/|\\$\\{A\\}".prop_map(Value::from),
    ];
    let entries = move |inner| prop::collection::vec((key.clone(), inner), 0..5);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let object = entries(inner.clone()).prop_map(|members| {
            Value::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect(),
            )
        });
        prop_oneof![3 => object, 1 => prop::collection::vec(inner, 0..4).prop_map(Value::from)]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "[{}\\[\\]:,\"'/*\\\\ a-e0-9.\\-\n\u{feff}ä]{0,60}") {
        let _ = parse_text(&text);
    }

    #[test]
    fn any_object_is_read_without_a_panic_and_the_same_from_a_file(object in any_object()) {
        let from_file = parse_text(&object.to_string());
        let from_object = parse(ConfigInput::Object(object), &ParseOptions::default());
        let outline = |parsed: Result<ParsedConfig, ConfigError>| {
            parsed.ok().map(|parsed| {
                let servers = parsed.servers.into_iter().map(|entry| (entry.name, entry.enabled, entry.definition.is_ok()));
                servers.collect::<Vec<_>>()
            })
        };
        prop_assert_eq!(outline(from_file), outline(from_object));
    }
}
