//! Reading configurations: what is accepted, what is reported, and where.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_resident::config::{
    AutoRestart, ConfigError, ConfigInput, ExpandMode, Exposure, Lazy, Limits, ParseOptions,
    ParsedConfig, Protocol, ServerDefinition, ServerEntry, StdioDefinition, Transport, parse,
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

/// The one server `s` of an object.
fn entry(definition: Value) -> (ParsedConfig, ServerEntry) {
    let mut parsed = parse_object(json!({"mcpServers": {"s": definition}}));
    let entry = parsed.servers.remove(0);
    (parsed, entry)
}

fn definition(object: Value) -> ServerDefinition {
    let (parsed, entry) = entry(object);
    assert_eq!(parsed.warnings, []);
    entry.definition.unwrap()
}

fn problem(object: Value) -> String {
    entry(object).1.definition.unwrap_err().to_string()
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
fn each_entry_is_judged_alone() {
    let parsed = parse_file(data("entries.json")).unwrap();
    assert_eq!(parsed.servers.len(), 16);
    let usable: Vec<_> = parsed.usable().map(|server| server.name.as_str()).collect();
    assert_eq!(usable, ["good", "unknown_key"]);
    let reported: Vec<_> = parsed
        .problems()
        .map(|problem| {
            assert!(problem.origin.as_deref().unwrap().ends_with("entries.json"));
            format!(
                "{} {} {}: {}",
                problem.position.unwrap().line,
                problem.server.as_deref().unwrap(),
                problem.field.as_deref().unwrap_or("-"),
                problem.reason
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            "4 no_program_no_address -: has neither command nor url; give one of them",
            "5 program_and_address url: has both command and url; keep one of them, or say which by type",
            "6 number_as_program command: must be a text, or a list of the program and its arguments, found a number",
            "7 no_words command: is empty; name the program to start",
            "8 empty_program command: is empty; name the program to start",
            "9 number_as_address url: must be a text, found a number",
            "10 empty_address url: is empty; give an http or https address",
            "11 wrong_scheme url: has the scheme \"ftp\"; only http and https are supported",
            "12 null_entry -: must be an object with command or url, found null",
            "13 text_entry -: must be an object with command or url, found a text",
            "14 list_entry -: must be an object with command or url, found a list",
            "15 text_as_args args: must be a list of texts, such as [\"one\", \"two\"], found a text",
            "16 null_in_args args[2]: must be a text, a number or a boolean, found null",
            "18 quoted_boolean disabled: must be true or false without quotes, found a text",
        ]
    );
    let extra = &parsed.servers[14].definition.as_ref().unwrap().extra;
    assert_eq!(extra.get("colour"), Some(&json!("blue")));
    let warning = &parsed.warnings[0];
    assert_eq!(
        (warning.position.unwrap().line, warning.field.as_deref()),
        (17, Some("colour"))
    );
}

#[test]
fn every_spelling_of_a_transport_is_understood_and_contradictions_are_not() {
    let parsed = parse_file(data("kinds.json")).unwrap();
    let mut kinds = [const { Vec::new() }; 4];
    for entry in &parsed.servers {
        let kind = match entry.definition.as_ref().map(|server| &server.transport) {
            Ok(Transport::Http(_)) => 0,
            Ok(Transport::Sse(_)) => 1,
            Ok(Transport::Stdio(_)) => 2,
            Err(_) => 3,
        };
        kinds[kind].push(entry.name.as_str());
    }
    let [http, sse, local, refused] = kinds;
    assert_eq!(http.len(), 13, "{http:?}");
    assert_eq!(sse, ["sse"]);
    assert_eq!(local, ["local", "stdio", "untyped_command"]);
    assert_eq!(
        refused,
        [
            "web_socket",
            "disagreeing",
            "http_without_address",
            "stdio_without_program"
        ]
    );
    let reasons: Vec<_> = parsed
        .problems()
        .map(|problem| problem.reason.as_str())
        .collect();
    assert_eq!(
        reasons,
        [
            "\"ws\" is not supported; use \"stdio\", \"http\" or \"sse\"",
            "contradicts type; keep one of them",
            "a remote server needs a url",
            "stdio needs a command",
        ]
    );
    assert_eq!(parsed.warnings.len(), 1);
    assert_eq!(
        parsed.warnings[0].reason,
        "means nothing for a remote server and is ignored"
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

#[test]
fn a_command_is_a_text_with_args_or_one_list() {
    for object in [
        json!({"command": "npx", "args": ["-y", "pkg"]}),
        json!({"command": ["npx", "-y", "pkg"]}),
        json!({"command": ["npx", "-y"], "args": ["pkg"]}),
    ] {
        let server = definition(object);
        assert_eq!(
            (
                stdio(&server).command.as_str(),
                stdio(&server).args.join(" ")
            ),
            ("npx", "-y pkg".to_owned())
        );
    }
    let (parsed, _) = entry(json!({"command": "npx -y pkg"}));
    assert_eq!(
        warnings(&parsed),
        ["server \"s\": command: is taken as the name of one program; put its arguments into args"]
    );
    let (parsed, _) = entry(json!({"command": "C:\\Program Files\\node.exe"}));
    assert_eq!(warnings(&parsed), [""; 0]);
}

#[test]
fn numbers_and_booleans_are_the_literal_of_the_file() {
    let text = r#"{"s": {"command": "x", "args": [1.50, 1e3, true], "environment": {"A": 0.10, "B": false, "C": null}}}"#;
    let parsed = parse_text(text).unwrap();
    let server = parsed.usable().next().unwrap();
    assert_eq!(stdio(server).args, ["1.50", "1e3", "true"]);
    let env = [("A", Some("0.10")), ("B", Some("false")), ("C", None)];
    assert_eq!(
        stdio(server).env,
        env.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
    );

    let server = definition(json!({"command": "x", "args": [1.5, 3.0, -0.0, 7, u64::MAX]}));
    assert_eq!(
        stdio(&server).args,
        ["1.5", "3", "0", "7", "18446744073709551615"]
    );
}

#[test]
fn every_other_key_has_its_type() {
    let server = definition(json!({
        "command": "x", "enabled": true, "disabled": false, "timeout": 5000, "cwd": "sub",
        "tools": {"read": true, "write": false}, "lazy": "list", "autoRestart": {"maxRetries": 2, "backoffMs": 10},
        "liveToolList": true, "resident": false, "expand": "all", "protocol": "legacy", "inheritEnv": ["A", "@network"],
        "exposure": "hidden", "toolExposure": {"read*": "direct", "w*": "deferred"},
        "limits": {"maxTools": 5, "close_total_ms": 100},
        "$comment": "kept without a word",
    }));
    assert!(server.enabled);
    assert_eq!(server.timeout, Some(Duration::from_secs(5)));
    assert!(server.tools.allows("read") && !server.tools.allows("other"));
    assert_eq!(server.lazy, Lazy::List);
    let backoff = Some(Duration::from_millis(10));
    assert_eq!(
        server.auto_restart,
        Some(AutoRestart::On {
            max_retries: Some(2),
            backoff
        })
    );
    assert_eq!(
        (server.live_tool_list, server.resident),
        (Some(true), Some(false))
    );
    assert_eq!(
        (server.expand, server.protocol),
        (Some(ExpandMode::All), Protocol::Legacy)
    );
    assert_eq!(stdio(&server).cwd.as_deref(), Some("sub"));
    assert_eq!(
        stdio(&server).inherit_env.as_deref(),
        Some(&["A".to_owned(), "@network".to_owned()][..])
    );
    assert_eq!(server.exposure, Some(Exposure::Hidden));
    let patterns = [("read*", Exposure::Direct), ("w*", Exposure::Deferred)];
    assert_eq!(
        server.tool_exposure,
        patterns.map(|(pattern, exposure)| (pattern.to_owned(), exposure))
    );
    assert_eq!(server.extra.len(), 1);

    let limits = server.limits_over(&Limits::default());
    assert_eq!(
        (limits.max_tools, limits.close_total),
        (5, Duration::from_millis(100))
    );
    assert_eq!(
        (limits.connect, limits.call_idle),
        (Duration::from_secs(5), Duration::from_secs(5))
    );
    assert_eq!(
        (limits.restart_retries, limits.restart_first_delay),
        (2, Duration::from_millis(10))
    );
}

#[test]
fn null_means_that_a_key_is_not_there() {
    let server = definition(
        json!({"command": "x", "url": null, "args": null, "timeout": null, "auth": null, "foo": null}),
    );
    assert_eq!((stdio(&server).args.len(), server.timeout), (0, None));
}

#[test]
fn a_server_is_disabled_by_either_key() {
    for object in [
        json!({"command": "x", "disabled": true}),
        json!({"command": "x", "enabled": false}),
        json!({"disabled": true}),
        json!({"command": 7, "enabled": false}),
        json!({"command": "x", "enabled": true, "disabled": true}),
    ] {
        assert!(!entry(object.clone()).1.enabled, "{object}");
    }
    assert!(entry(json!({"command": 7, "enabled": "false"})).1.enabled);
}

#[test]
fn what_is_wrong_with_a_field_is_said_in_one_line() {
    let cases = [
        (
            json!({"command": "x", "timeout": 0}),
            "timeout: must be at least 1 millisecond",
        ),
        (
            json!({"command": "x", "timeout": -1}),
            "timeout: must be a whole number of 0 or more, found -1",
        ),
        (
            json!({"command": "x", "timeout": "5s"}),
            "timeout: must be a whole number of 0 or more, found a text",
        ),
        (
            json!({"command": "x", "tools": ["a"]}),
            "tools: must be an object such as {\"name\": true}, found a list",
        ),
        (
            json!({"command": "x", "tools": {"a": "yes"}}),
            "tools.a: must be true or false without quotes, found a text",
        ),
        (
            json!({"command": "x", "lazy": "yes"}),
            "lazy: must be true, false or \"list\", found a text",
        ),
        (
            json!({"command": "x", "protocol": "new"}),
            "protocol: must be \"auto\" or \"legacy\" or \"modern\", found \"new\"",
        ),
        (
            json!({"command": "x", "inheritEnv": ["@proxy"]}),
            "inheritEnv[0]: names no group of variables; the groups are @network and @all",
        ),
        (
            json!({"command": "x", "inheritEnv": ["A=secret"]}),
            "inheritEnv[0]: is not a possible name of a variable; values belong into env",
        ),
        (
            json!({"command": "x", "env": {"A": ["secret"]}}),
            "env.A: must be a text, a number or a boolean, found a list",
        ),
        (
            json!({"command": "x", "env": {"A=B": "1"}}),
            "env.A=B: is not a possible name of a variable",
        ),
        (
            json!({"command": "x", "env": {}, "environment": {}}),
            "environment: the same as env; keep one of them",
        ),
        (
            json!({"command": "x", "args": ["a\u{0}"]}),
            "args[0]: contains a NUL character; remove it",
        ),
        (
            json!({"command": "x", "limits": {"maxTools": 0}}),
            "limits.maxTools: must be at least 1",
        ),
        (
            json!({"url": "http://a/", "headers": {"A B": "x"}}),
            "headers.A B: is not a possible name of a header",
        ),
        (
            json!({"url": "http://a/", "oauth": {"clientId": "x"}}),
            "oauth: sign-in is not supported yet, so the server is not started; use headers",
        ),
        (
            json!({"url": "http://a/", "auth": "oauth"}),
            "auth: sign-in is not supported yet, so the server is not started; use headers",
        ),
        (
            json!({"url": "secret"}),
            "url: is not an address; give one that begins with http:// or https://",
        ),
    ];
    for (object, expected) in cases {
        assert_eq!(
            problem(object.clone()),
            format!("server \"s\": {expected}"),
            "{object}"
        );
    }
    let parsed = parse_object(json!({"mcpServers": {"": {"command": "x"}}}));
    assert_eq!(
        parsed.problems().next().unwrap().to_string(),
        "server \"\": the name is empty; give the server a name"
    );
}

#[test]
fn unknown_keys_are_reported_with_a_hint() {
    let (parsed, _) = entry(json!({
        "command": "x", "comand": 1, "envFile": ".env", "tool_timeout_sec": 5, "headers": {"A": "b"},
        "limits": {"maxTool": 1}, "autoRestart": {"retries": 1},
    }));
    assert_eq!(
        warnings(&parsed),
        [
            "server \"s\": headers: means nothing for a child process and is ignored",
            "server \"s\": autoRestart.retries: is not a known key and is ignored",
            "server \"s\": limits.maxTool: is not a known key and is ignored; did you mean maxTools?",
            "server \"s\": comand: is not a known key and is ignored; did you mean command?",
            "server \"s\": envFile: is not a known key and is ignored; name the variables in env or inheritEnv",
            "server \"s\": tool_timeout_sec: is not a known key and is ignored; use timeout, in milliseconds",
        ]
    );
}

#[test]
fn an_entry_that_only_adjusts_another_is_recognised() {
    let (_, adjusting) = entry(json!({"disabled": false, "tool_exposure": {"a": "hidden"}}));
    let adjustment = adjusting.adjustment.unwrap();
    assert_eq!(adjustment.enabled, Some(true));
    assert_eq!(
        adjustment.tool_exposure,
        Some(vec![("a".to_owned(), Exposure::Hidden)])
    );
    assert!(adjusting.definition.is_err());
    for more in [
        json!({}),
        json!({"timeout": 5}),
        json!({"enabled": true, "env": {}}),
        json!({"enabled": "yes"}),
    ] {
        assert_eq!(entry(more.clone()).1.adjustment, None, "{more}");
    }
}

#[test]
fn the_place_of_each_field_is_kept() {
    let text = "{\"s\": {\n\"command\": \"x\",\n\"args\": [\n\"a\",\n\"b\"],\n\"environment\": {\n\"K\": \"v\"}}}";
    let parsed = parse_text(text).unwrap();
    let origin = &parsed.usable().next().unwrap().origin;
    let line = |field| origin.position(field).unwrap().line;
    assert_eq!(
        ["command", "args", "args[1]", "env", "env.K", "cwd"].map(line),
        [2, 3, 5, 6, 7, 1]
    );
    assert_eq!(origin.source.as_deref(), Some("mcp.json"));
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
