//! The fields of an entry: what each accepts, what is reported, and where.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_resident::config::{
    AutoRestart, ConfigError, ConfigInput, ExpandMode, Exposure, Lazy, Limits, ParseOptions,
    ParsedConfig, Protocol, ServerDefinition, ServerEntry, StdioDefinition, Transport, parse,
};
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

fn stdio(definition: &ServerDefinition) -> &StdioDefinition {
    match &definition.transport {
        Transport::Stdio(stdio) => stdio,
        other => panic!("not a child process: {other:?}"),
    }
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
