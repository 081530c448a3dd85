//! A project's configuration over a user's.
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use mcp_resident::config::{
    ConfigInput, Exposure, ParseOptions, ParsedConfig, ServerDefinition, Transport, layer, parse,
};

const USER: &str = r#"{"mcpServers": {
    "files": {"command": "files", "args": ["-v"], "env": {"K": "user"}},
    "off": {"command": "off", "disabled": true},
    "with_secret": {"command": "mine", "env": {"TOKEN": "canary"}},
    "moves": {"command": "moves"},
    "null_above": {"command": "stays"},
    "broken": {"command": 7}
}}"#;

fn read(text: &str, origin: &str) -> ParsedConfig {
    let input = ConfigInput::Text {
        text: text.to_owned(),
        origin: origin.to_owned(),
    };
    parse(input, &ParseOptions::default()).unwrap()
}

fn over_user(project: &str) -> ParsedConfig {
    layer(read(USER, "user.json"), read(project, "project.json"))
}

fn server<'c>(config: &'c ParsedConfig, name: &str) -> &'c ServerDefinition {
    config
        .servers
        .iter()
        .find(|entry| entry.name == name)
        .unwrap()
        .definition
        .as_ref()
        .unwrap()
}

fn warnings(config: &ParsedConfig) -> Vec<String> {
    config.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn an_entry_replaces_the_one_below_whole_and_inherits_nothing() {
    let config = over_user(
        r#"{"mcpServers": {
            "with_secret": {"command": "/tmp/other"},
            "moves": {"type": "http", "url": "http://tools.example/mcp"},
            "new": {"command": "new"}
        }}"#,
    );
    let names: Vec<_> = config
        .servers
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "files",
            "off",
            "with_secret",
            "moves",
            "null_above",
            "broken",
            "new"
        ]
    );
    match &server(&config, "with_secret").transport {
        Transport::Stdio(stdio) => assert!(stdio.command == "/tmp/other" && stdio.env.is_empty()),
        other => panic!("not a child process: {other:?}"),
    }
    assert!(matches!(
        server(&config, "moves").transport,
        Transport::Http(_)
    ));
    assert_eq!(
        server(&config, "with_secret").origin.source.as_deref(),
        Some("project.json")
    );
    assert_eq!(
        server(&config, "files").origin.source.as_deref(),
        Some("user.json")
    );
    assert_eq!(warnings(&config), [""; 0]);
}

#[test]
fn some_keys_can_be_changed_without_restating_the_entry() {
    let config = over_user(
        r#"{"mcpServers": {
            "off": {"disabled": false},
            "files": {"enabled": false, "exposure": "hidden", "toolExposure": {"read*": "direct"}},
            "broken": {"enabled": false}
        }}"#,
    );
    assert!(server(&config, "off").enabled);
    let files = server(&config, "files");
    assert_eq!(
        (files.enabled, files.exposure),
        (false, Some(Exposure::Hidden))
    );
    assert_eq!(
        files.tool_exposure,
        [("read*".to_owned(), Exposure::Direct)]
    );
    assert!(matches!(&files.transport, Transport::Stdio(stdio) if stdio.args == ["-v"]));
    assert!(
        config
            .servers
            .iter()
            .all(|entry| entry.enabled != (entry.name == "files" || entry.name == "broken"))
    );
}

#[test]
fn an_entry_that_cannot_be_used_leaves_the_one_below_in_force() {
    let config = over_user(
        r#"{"mcpServers": {
"files": {"timeout": 5000},
"null_above": null,
"with_secret": {"command": ""}
        }}"#,
    );
    assert_eq!(config.usable().count(), 4);
    assert_eq!(
        warnings(&config),
        [
            "project.json:2:1: server \"files\": has neither command nor url; give one of them; the entry of user.json \
             stays in force",
            "project.json:3:15: server \"null_above\": must be an object with command or url, found null; the entry of \
             user.json stays in force",
            "project.json:4:17: server \"with_secret\": command: is empty; name the program to start; the entry of \
             user.json stays in force",
        ]
    );
}

#[test]
fn a_change_of_nothing_is_reported() {
    let config = over_user(r#"{"mcpServers": {"absent": {"enabled": true}}}"#);
    let problems: Vec<_> = config
        .problems()
        .map(|problem| problem.reason.as_str())
        .collect();
    assert_eq!(
        problems.last(),
        Some(&"changes a server that no lower layer has; give it command or url")
    );
}

#[test]
fn each_field_is_explained_by_the_layer_that_it_comes_from() {
    let config = over_user(
        r#"{"mcpServers": {
            "files": {"exposure": "hidden",
                "enabled": false},
            "off": {"enabled": true}
        }}"#,
    );
    let explained = |name: &str| -> Vec<String> {
        let origin = &server(&config, name).origin;
        let fields = origin.explain().into_iter();
        fields
            .map(|(field, at)| format!("{field} {}:{}", at.source.unwrap(), at.position))
            .collect()
    };
    assert_eq!(
        explained("files"),
        [
            "command user.json:2:15",
            "args user.json:2:35",
            "args[0] user.json:2:44",
            "env user.json:2:51",
            "env.K user.json:2:59",
            "enabled project.json:3:17",
            "exposure project.json:2:23",
        ]
    );
    // What the lower layer said of it is of no account any more.
    assert_eq!(
        explained("off"),
        ["command user.json:3:13", "enabled project.json:4:21"]
    );
}
