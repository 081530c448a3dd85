//! One line that shows a person what a server would start, without its secrets.
//!
//! It is what is shown before a stranger's entry is trusted, so nothing that changes what is started is left out, and
//! no text can pretend to be more than one word of it.

use super::definition::{RemoteDefinition, ServerDefinition, StdioDefinition, Transport};
use super::expand::is_bare_reference;
use super::redact::MASK;
use super::secret_command::command_in;
use super::sensitive;

/// What a definition starts. Literal parts of values of env and headers, and what is likely to be a secret in arguments
/// and addresses, are masked; references such as `${TOKEN}`, the texts of commands, and variables that decide which code
/// runs are shown.
#[must_use]
pub fn launch_line(definition: &ServerDefinition) -> String {
    match &definition.transport {
        Transport::Stdio(stdio) => stdio_line(stdio),
        Transport::Http(remote) => remote_line("", remote),
        Transport::Sse(remote) => remote_line("sse ", remote),
    }
}

/// An address without its secrets.
pub(crate) fn visible_url(url: &str) -> String {
    sensitive::masked(url, &sensitive::in_url(url), is_literal)
}

/// Arguments without their secrets.
pub(crate) fn visible_args(args: &[String]) -> Vec<String> {
    let ranges = sensitive::in_args(args);
    args.iter()
        .zip(&ranges)
        .map(|(arg, ranges)| sensitive::masked(arg, ranges, is_literal))
        .collect()
}

/// A value of env or headers as it may be shown.
pub(crate) fn visible_value(value: &str) -> String {
    match command_in(value) {
        Some(command) => format!("!{}", visible_command(command)),
        None => references_only(value),
    }
}

/// The references in a value, each run of literal text between them masked: `Bearer ${TOKEN}` is `***${TOKEN}`.
fn references_only(value: &str) -> String {
    let mut shown = String::new();
    let mut rest = value;
    while !rest.is_empty() {
        let start = rest.find("${").unwrap_or(rest.len());
        let (literal, from) = rest.split_at(start);
        if !literal.is_empty() {
            shown.push_str(if is_literal(literal) { MASK } else { literal });
        }
        let Some(length) = from.find('}') else {
            if !from.is_empty() {
                shown.push_str(MASK);
            }
            break;
        };
        let (reference, after) = from.split_at(length + 1);
        match reference.split_once(":-") {
            _ if !is_literal(reference) => shown.push_str(reference),
            Some((name, _)) if !is_literal(&format!("{name}}}")) => {
                shown.push_str(&format!("{name}:-{MASK}}}"));
            }
            _ => shown.push_str(MASK),
        }
        rest = after;
    }
    shown
}

/// Variables that decide which code runs: whoever trusts an entry must see them.
fn decides_what_runs(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "BASH_ENV",
        "CLASSPATH",
        "ENV",
        "JAVA_TOOL_OPTIONS",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PATH",
        "PERL5LIB",
        "PERL5OPT",
        "RUBYLIB",
        "RUBYOPT",
        "SHELL",
    ];
    NAMES.contains(&name)
        || ["LD_", "DYLD_", "PYTHON"]
            .iter()
            .any(|start| name.starts_with(start))
}

fn visible_variable(name: &str, value: &str) -> String {
    if decides_what_runs(name) {
        value.to_owned()
    } else {
        visible_value(value)
    }
}

fn is_literal(text: &str) -> bool {
    !is_bare_reference(text)
}

fn visible_command(command: &str) -> String {
    let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
    visible_args(&words).join(" ")
}

fn stdio_line(stdio: &StdioDefinition) -> String {
    let words = [
        visible_args(std::slice::from_ref(&stdio.command)),
        visible_args(&stdio.args),
    ]
    .concat();
    let mut line: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    let mut notes = Vec::new();
    if let Some(cwd) = &stdio.cwd {
        notes.push(format!("in {}", quoted(cwd)));
    }
    let variables: Vec<_> = stdio
        .env
        .iter()
        .filter_map(|(name, value)| {
            Some(quoted(&format!(
                "{name}={}",
                visible_variable(name, value.as_deref()?)
            )))
        })
        .collect();
    let unset: Vec<_> = stdio
        .env
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| quoted(name))
        .collect();
    let inherited: Vec<_> = stdio
        .inherit_env
        .iter()
        .flatten()
        .map(|name| quoted(name))
        .collect();
    for (what, names) in [
        ("with", variables),
        ("without", unset),
        ("inheriting", inherited),
    ] {
        if !names.is_empty() {
            notes.push(format!("{what} {}", names.join(" ")));
        }
    }
    if !notes.is_empty() {
        line.push(format!("({})", notes.join("; ")));
    }
    line.join(" ")
}

fn remote_line(prefix: &str, remote: &RemoteDefinition) -> String {
    let url = quoted(&visible_url(&remote.url));
    let headers: Vec<_> = remote
        .headers
        .iter()
        .map(|(name, value)| quoted(&format!("{name}: {}", visible_value(value))))
        .collect();
    if headers.is_empty() {
        format!("{prefix}{url}")
    } else {
        format!("{prefix}{url} (with {})", headers.join(" "))
    }
}

/// One word: quoted when it could be taken for several, and without characters that change how a terminal shows it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./:@%+,~*$!?&#{}[]\\".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let escaped: String = word
        .chars()
        .flat_map(|c| {
            if c == '"' || c == '\'' || c == '\\' {
                vec![c]
            } else {
                c.escape_debug().collect()
            }
        })
        .collect();
    format!("'{}'", escaped.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{ConfigInput, ParseOptions, parse};

    fn line(entry: serde_json::Value) -> String {
        let parsed = parse(
            ConfigInput::Object(json!({"s": entry})),
            &ParseOptions::default(),
        )
        .unwrap();
        launch_line(parsed.servers[0].definition.as_ref().unwrap())
    }

    #[test]
    fn a_line_shows_what_is_started_and_hides_literal_values() {
        let cases = [
            (
                json!({"command": "npx", "args": ["-y", "pkg"]}),
                "npx -y pkg",
            ),
            (
                json!({"command": "srv", "args": ["--token", "canary", "--key=${KEY}"], "cwd": "my dir",
                    "env": {"A": "canary", "B": "${B}", "C": "!pass show --token canary x", "D": null},
                    "inheritEnv": ["E"]}),
                "srv --token *** --key=${KEY} (in 'my dir'; with A=*** B=${B} 'C=!pass show --token *** x'; without D; \
                 inheriting E)",
            ),
            (
                json!({"url": "http://u:canary@h/mcp?key=canary&t=${T}",
                    "headers": {"Authorization": "Bearer canary", "X-Key": "${KEY}", "X-Default": "${KEY:-canary}"}}),
                "http://***:***@h/mcp?key=***&t=${T} (with 'Authorization: ***' 'X-Key: ${KEY}' 'X-Default: ${KEY:-***}')",
            ),
            (
                json!({"command": "srv", "env": {"LD_PRELOAD": "./x.so", "PATH": "./bin", "AUTH": "Bearer ${TOKEN}"}}),
                "srv (with LD_PRELOAD=./x.so PATH=./bin AUTH=***${TOKEN})",
            ),
            (
                json!({"type": "sse", "url": "http://h/sse"}),
                "sse http://h/sse",
            ),
        ];
        for (entry, expected) in cases {
            assert_eq!(line(entry), expected);
        }
    }

    #[test]
    fn a_word_cannot_pretend_to_be_more_than_one() {
        let line = line(
            json!({"command": "x", "args": ["a b", "", "it's", "l\nm", "\u{202e}gnp", "(in /tmp)", "\u{1b}[2K"]}),
        );
        assert_eq!(
            line,
            r"x 'a b' '' 'it'\''s' 'l\nm' '\u{202e}gnp' '(in /tmp)' '\u{1b}[2K'"
        );
    }
}
