//! From a definition to what is started, and what can be said about it without telling a secret.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use mcp_resident::config::{
    CommandFailure, CommandRunner, ConfigInput, Environment, ExpandMode, FixedEnvironment, Inherit,
    Limits, ParseOptions, Platform, RemoteKind, ResolveContext, Resolved, ResolvedServer,
    SecretCommand, SecretCommands, ServerDefinition, launch_line, parse, resolve,
};
use serde_json::{Value, json};

const HOST: &[(&str, &str)] = &[
    ("A", "alpha-value"),
    ("B", "beta-value"),
    ("CANARY_SECRET", "canary-host"),
    ("EMPTY", ""),
    ("HOME", "/home/me"),
    ("PATH", "/usr/bin:/bin"),
    ("GNUPGHOME", "/home/me/.gnupg"),
    ("BREAK", "two\r\nlines"),
];

struct Host {
    environment: Environment,
    commands: Option<SecretCommands>,
    limits: Limits,
    expand: Option<ExpandMode>,
    default_inherit_env: Option<Vec<String>>,
    resident: bool,
}

impl Host {
    fn new() -> Self {
        let environment = Environment::read(&HOST.iter().copied().collect::<FixedEnvironment>());
        Self {
            environment: environment.with_platform(Platform::Posix),
            commands: None,
            limits: Limits::default(),
            expand: None,
            default_inherit_env: None,
            resident: false,
        }
    }

    fn expanding() -> Self {
        Self {
            expand: Some(ExpandMode::All),
            default_inherit_env: Some(Vec::new()),
            ..Self::new()
        }
    }

    fn context(&self) -> ResolveContext<'_> {
        ResolveContext {
            environment: &self.environment,
            base_dir: Path::new("/p"),
            expand: self.expand,
            default_inherit_env: self.default_inherit_env.as_deref(),
            resident: self.resident,
            secret_commands: self.commands.as_ref(),
            limits: &self.limits,
        }
    }

    async fn resolve(&self, entry: Value) -> Result<Resolved, String> {
        fn assert_send<T: Send>(future: T) -> T {
            future
        }
        let definition = definition(entry);
        let context = self.context();
        assert_send(resolve(&definition, &context))
            .await
            .map_err(|problem| problem.to_string())
    }
}

fn definition(entry: Value) -> ServerDefinition {
    let parsed = parse(
        ConfigInput::Object(json!({"mcpServers": {"s": entry}})),
        &ParseOptions::default(),
    )
    .unwrap();
    parsed.servers[0].definition.clone().unwrap()
}

/// Program, arguments, environment as `NAME=value`, directory.
fn child(resolved: &Resolved) -> (String, Vec<String>, Vec<String>, PathBuf) {
    match &resolved.server {
        ResolvedServer::Stdio {
            program,
            args,
            environment,
            directory,
            ..
        } => {
            let show = |(name, value): &(OsString, OsString)| {
                format!("{}={}", name.display(), value.display())
            };
            (
                program.to_str().unwrap().to_owned(),
                args.clone(),
                environment.iter().map(show).collect(),
                directory.clone(),
            )
        }
        other => panic!("not a child process: {other:?}"),
    }
}

fn remote(resolved: &Resolved) -> (String, Vec<(String, String)>) {
    match &resolved.server {
        ResolvedServer::Remote { url, headers, .. } => {
            assert!(headers.values().all(http::HeaderValue::is_sensitive));
            let show = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
                (name.to_string(), value.to_str().unwrap().to_owned())
            };
            (url.clone(), headers.iter().map(show).collect())
        }
        other => panic!("not remote: {other:?}"),
    }
}

/// Prints for `say TEXT` the text; fails for anything else; remembers the environments.
#[derive(Default)]
struct Saying {
    environments: Mutex<Vec<Vec<(OsString, OsString)>>>,
}

#[async_trait]
impl CommandRunner for Saying {
    async fn run(&self, command: SecretCommand) -> Result<Vec<u8>, CommandFailure> {
        self.environments.lock().unwrap().push(command.environment);
        match command.text.strip_prefix("say ") {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => Err(CommandFailure::Ended("exit code 3".to_owned())),
        }
    }
}

#[tokio::test]
async fn by_contract_only_headers_are_expanded_and_everything_is_inherited() {
    let host = Host::new();
    let resolved = host
        .resolve(json!({"command": "~/${A}", "args": ["${A}", "~/x", "$$"], "env": {"V": "${A}", "C": "!say x"}, "cwd": "~"}))
        .await
        .unwrap();
    let (program, args, environment, directory) = child(&resolved);
    assert_eq!(
        (program.as_str(), directory),
        ("/p/~/${A}", PathBuf::from("/p/~"))
    );
    assert_eq!(args, ["${A}", "~/x", "$$"]);
    assert_eq!(environment.len(), HOST.len() + 2);
    assert!(
        environment.contains(&"V=${A}".to_owned()) && environment.contains(&"C=!say x".to_owned())
    );

    let resolved = host
        .resolve(json!({"url": "http://h/${A}", "headers": {"Authorization": "Bearer ${A}", "X-None": "[${NO}]", "X-C": "!x"}}))
        .await
        .unwrap();
    let (url, headers) = remote(&resolved);
    assert_eq!(url, "http://h/$%7BA%7D");
    let expected = [
        ("authorization", "Bearer alpha-value"),
        ("x-none", "[]"),
        ("x-c", "!x"),
    ];
    assert_eq!(
        headers,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[tokio::test]
async fn with_expansion_every_text_follows_one_grammar() {
    let host = Host::expanding();
    let resolved = host
        .resolve(json!({
            "command": "~/${A}", "args": ["${B}", "$A", "~/x", "$${A}"], "cwd": "${env:A}/sub",
            "env": {"V": "$A/${NO:-d}", "T": "~/x", "N": 1, "PATH": "/opt:$PATH", "HOME": null},
        }))
        .await
        .unwrap();
    let (program, args, environment, directory) = child(&resolved);
    assert_eq!(
        (program.as_str(), directory),
        ("/home/me/alpha-value", PathBuf::from("/p/alpha-value/sub"))
    );
    assert_eq!(args, ["beta-value", "$A", "/home/me/x", "${A}"]);
    assert_eq!(
        environment,
        ["V=alpha-value/d", "T=~/x", "N=1", "PATH=/opt:/usr/bin:/bin"]
    );
    let warned: Vec<_> = resolved
        .warnings
        .iter()
        .map(|warning| warning.field.as_deref().unwrap())
        .collect();
    assert_eq!(warned, ["args[1]"]);

    let resolved = host
        .resolve(json!({"url": "http://h/${A}?k=${B}", "headers": {"X-A": "$A ${env:B}"}}))
        .await
        .unwrap();
    let (url, headers) = remote(&resolved);
    assert_eq!(url, "http://h/alpha-value?k=beta-value");
    assert_eq!(
        headers,
        [("x-a".to_owned(), "alpha-value beta-value".to_owned())]
    );
}

#[tokio::test]
async fn paths_are_relative_to_the_base_directory_and_bare_names_are_left_alone() {
    let host = Host::expanding();
    for (command, program) in [
        ("./srv.sh", "/p/srv.sh"),
        ("bin/srv", "/p/bin/srv"),
        ("srv", "srv"),
        ("~/srv", "/home/me/srv"),
        ("~other/srv", "/p/~other/srv"),
        ("/opt/srv", "/opt/srv"),
    ] {
        assert_eq!(
            child(&host.resolve(json!({"command": command})).await.unwrap()).0,
            program
        );
    }
    for (cwd, directory) in [
        (json!(null), "/p"),
        (json!("sub"), "/p/sub"),
        (json!("~"), "/home/me"),
        (json!("/x"), "/x"),
    ] {
        let resolved = host
            .resolve(json!({"command": "srv", "cwd": cwd}))
            .await
            .unwrap();
        assert_eq!(child(&resolved).3, PathBuf::from(directory));
    }
}

#[tokio::test]
async fn a_definitions_own_base_directory_wins_over_the_sources() {
    let host = Host::expanding();
    let mut definition = definition(json!({"command": "./srv", "cwd": "sub"}));
    definition.base_dir = Some("/own".into());
    let resolved = resolve(&definition, &host.context()).await.unwrap();
    let (program, _, _, directory) = child(&resolved);
    assert_eq!(program, "/own/srv");
    assert_eq!(directory, PathBuf::from("/own/sub"));
}

#[tokio::test]
async fn a_server_that_cannot_be_resolved_names_field_and_variable_and_no_value() {
    let host = Host {
        commands: Some(SecretCommands::new(Arc::<Saying>::default())),
        ..Host::expanding()
    };
    let unset = |name: &str| {
        format!(
            "variable {name} is not set; set it, or write ${{{name}:-default}}, or $$ for a dollar"
        )
    };
    let cases = [
        (json!({"command": "x", "args": ["a", "${NO}"]}), format!("args[1]: {}", unset("NO"))),
        (json!({"command": "x", "env": {"K": "$NO"}}), format!("env.K: {}", unset("NO"))),
        (json!({"url": "${NO}"}), format!("url: {}", unset("NO"))),
        (json!({"command": "${EMPTY}"}), "command: is empty after its variables were inserted".to_owned()),
        (
            json!({"url": "http://h/", "headers": {"X-K": "a\r\nX-Injected: canary"}}),
            "headers.X-K: has a value with a line break, NUL or another control character; remove it".to_owned(),
        ),
        (
            json!({"url": "http://h/", "headers": {"X-K": "${BREAK}"}}),
            "headers.X-K: has a value with a line break, NUL or another control character; remove it".to_owned(),
        ),
        (
            json!({"url": "http://h/", "headers": {"X-K": "!say two\nlines"}}),
            "headers.X-K: has a value with a line break, NUL or another control character; remove it".to_owned(),
        ),
        (
            json!({"command": "x", "env": {"K": "!say a\u{0}b"}}),
            "env.K: contains a NUL character; remove it".to_owned(),
        ),
        (json!({"command": "x", "env": {"K": "!fail canary"}}), "env.K: the command ended with exit code 3".to_owned()),
        (
            json!({"url": "${A}"}),
            "url: is not an address; give one that begins with http:// or https://".to_owned(),
        ),
        (
            json!({"url": "http://h/${BREAK}"}),
            "url: contains a line break, tab or NUL; remove it".to_owned(),
        ),
    ];
    for (entry, expected) in cases {
        let parsed = parse(
            ConfigInput::Object(json!({"s": entry})),
            &ParseOptions::default(),
        )
        .unwrap();
        let problem = match &parsed.servers[0].definition {
            Ok(definition) => resolve(definition, &host.context()).await.unwrap_err(),
            Err(problem) => problem.clone(),
        };
        assert_eq!(
            problem.to_string(),
            format!("server \"s\": {expected}"),
            "{entry}"
        );
    }
}

#[tokio::test]
async fn values_of_variables_may_span_lines() {
    let resolved = Host::expanding()
        .resolve(json!({"command": "x", "env": {"K": "a\nb", "L": "$BREAK"}}))
        .await
        .unwrap();
    let environment = child(&resolved).2;
    assert!(
        environment.contains(&"K=a\nb".to_owned())
            && environment.contains(&"L=two\r\nlines".to_owned())
    );
}

#[tokio::test]
async fn commands_give_values_where_they_are_allowed() {
    let runner = Arc::<Saying>::default();
    let host = Host {
        commands: Some(SecretCommands::new(runner.clone())),
        ..Host::expanding()
    };
    let resolved = host
        .resolve(json!({"command": "x", "args": ["!say no"], "env": {"K": "!say $A ${B}\n", "L": "!!not $A", "M": "a!b"}}))
        .await
        .unwrap();
    let (_, args, environment, _) = child(&resolved);
    assert_eq!(args, ["!say no"]);
    assert_eq!(
        environment[2..],
        ["K=$A ${B}", "L=!not alpha-value", "M=a!b"]
    );
    let seen: Vec<_> = runner.environments.lock().unwrap()[0]
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(
        seen,
        ["HOME", "PATH", "GNUPGHOME"],
        "nothing of the host but what programs and key stores need"
    );

    let error = Host::expanding()
        .resolve(json!({"url": "http://h/", "headers": {"X-K": "!say x"}}))
        .await
        .unwrap_err();
    assert_eq!(
        error,
        "server \"s\": headers.X-K: is a command, and commands are not allowed here; allow them, or write !! for a text"
    );
}

#[tokio::test]
async fn a_servers_own_keys_win_over_the_source_and_an_option_over_resident() {
    let all = Inherit::All;
    let base = Inherit::safe_base();
    let own = Inherit::Names(vec!["A".to_owned()]);
    let names = |list: &[&str]| Some(list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    // The entry's keys, the source's expand, inherited names and resident; what follows from them.
    let cases = [
        (json!({}), None, None, false, ExpandMode::HeadersOnly, &all),
        (json!({}), None, None, true, ExpandMode::All, &base),
        (
            json!({"resident": true}),
            None,
            None,
            false,
            ExpandMode::All,
            &base,
        ),
        (
            json!({"resident": false}),
            None,
            None,
            true,
            ExpandMode::HeadersOnly,
            &all,
        ),
        (
            json!({}),
            Some(ExpandMode::HeadersOnly),
            names(&["@all"]),
            true,
            ExpandMode::HeadersOnly,
            &all,
        ),
        (
            json!({"resident": true}),
            Some(ExpandMode::HeadersOnly),
            names(&["A"]),
            false,
            ExpandMode::All,
            &base,
        ),
        (
            json!({"inheritEnv": ["A"], "expand": "headers"}),
            None,
            names(&[]),
            true,
            ExpandMode::HeadersOnly,
            &own,
        ),
        (
            json!({}),
            Some(ExpandMode::All),
            names(&["A"]),
            false,
            ExpandMode::All,
            &own,
        ),
    ];
    for (keys, expand, default_inherit_env, resident, mode, inherit) in cases {
        let mut entry = json!({"command": "x"});
        entry
            .as_object_mut()
            .unwrap()
            .extend(keys.as_object().unwrap().clone());
        let definition = definition(entry);
        let host = Host {
            expand,
            default_inherit_env,
            resident,
            ..Host::new()
        };
        assert_eq!(host.context().expand_mode(&definition), mode, "{keys}");
        assert_eq!(host.context().inherit(&definition), *inherit, "{keys}");
    }
}

#[tokio::test]
async fn sse_is_tried_after_streamable_http_unless_the_new_era_is_forced() {
    for (entry, kind, legacy) in [
        (json!({"url": "http://h/"}), RemoteKind::Http, true),
        (
            json!({"type": "http", "url": "http://h/", "protocol": "modern"}),
            RemoteKind::Http,
            false,
        ),
        (
            json!({"type": "sse", "url": "http://h/"}),
            RemoteKind::Sse,
            false,
        ),
    ] {
        match Host::new().resolve(entry).await.unwrap().server {
            ResolvedServer::Remote {
                kind: found,
                legacy_sse_allowed,
                ..
            } => {
                assert_eq!((found, legacy_sse_allowed), (kind, legacy));
            }
            other => panic!("not remote: {other:?}"),
        }
    }
}

#[tokio::test]
async fn no_secret_is_in_anything_that_can_be_printed() {
    let host = Host {
        commands: Some(SecretCommands::new(Arc::<Saying>::default())),
        ..Host::expanding()
    };
    let entries = [
        json!({"command": "x", "args": ["--token", "canary-arg", "${CANARY_SECRET}"],
            "env": {"TOKEN": "canary-env", "N": "1", "K": "!say canary-cmd", "PEM": "-----BEGIN\ncanary-line\n-----END"}}),
        json!({"url": "http://u:canary-user@127.0.0.1:1/mcp?key=canary%2Dquery",
            "headers": {"Authorization": "Bearer canary-auth", "X-Custom": "canary-custom"}}),
    ];
    for entry in entries {
        let definition = definition(entry);
        let resolved = resolve(&definition, &host.context()).await.unwrap();
        let shown = |value: &dyn Debug| format!("{value:?}{value:#?}");
        for text in [
            shown(&definition),
            shown(&definition.transport),
            shown(&resolved),
            shown(&host.context()),
            launch_line(&definition).replace("!say canary-cmd", ""),
        ] {
            assert!(!text.contains("canary"), "{text}");
        }
        let said = match &resolved.server {
            ResolvedServer::Stdio {
                args, environment, ..
            } => format!("{args:?} {environment:?} canary-line canary-cmd 1"),
            ResolvedServer::Remote { url, headers, .. } => {
                let values: Vec<_> = headers
                    .values()
                    .map(|value| value.to_str().unwrap())
                    .collect();
                format!("{url} {values:?} canary-auth canary-query canary-custom")
            }
        };
        let masked = resolved.redactor.mask(&said);
        assert!(
            said.contains("canary") && !masked.contains("canary"),
            "{masked}"
        );
    }
}
