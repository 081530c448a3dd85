//! `call`: one call of one tool.
//!
//! Only the servers that can have a tool of this name are started.

use std::sync::Arc;

use mcp_resident::{CallContext, Executed, McpSource, ProgressObserver, RawJson, Tool, ToolResult};

use super::tools::TRUST_HINT;
use crate::arguments::CallArguments;
use crate::call_arguments::assemble;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::records::{ResultRecord, ServerRecord};
use crate::selection::Selection;
use crate::servers::{self, Stay};
use crate::style::{Look, harmless};

/// Longer names are shortened, and no longer begin with the whole name of their server.
const LONGEST_NAME_CHARS: usize = 64;

/// So many names are listed for who asked for a tool that is not there.
const NAMES_SHOWN: usize = 20;

pub(crate) async fn run(arguments: &CallArguments, console: &Console) -> Result<Exit, Failure> {
    let mut selection = Selection::read(&arguments.config, console.environment())?;
    let tool = arguments.tool.as_str();
    selection
        .config
        .servers
        .retain(|entry| can_have(&entry.name, tool));
    selection
        .untrusted
        .retain(|definition| can_have(&definition.name, tool));
    let interrupt = Interrupt::listen();
    let source = servers::load(&selection, Stay::Briefly, &interrupt).await?;
    let result = match source.tool(tool) {
        Some(tool) => call(&tool, arguments, &interrupt, console).await,
        None => Err(not_there(tool, &selection, &source)),
    };
    source.close().await;
    let result = result?;
    show(&result, tool, console)?;
    Ok(match (&result.metadata.error, result.is_error) {
        (Some(error), _) => error.kind.into(),
        (None, true) => Exit::ToolFailed,
        (None, false) => Exit::Success,
    })
}

/// Whether a tool of this server can have this name.
fn can_have(server: &str, tool: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let prefix: String = server
        .chars()
        .map(|letter| if plain(letter) { letter } else { '_' })
        .collect();
    let rest = tool.strip_prefix(&prefix);
    tool.len() >= LONGEST_NAME_CHARS || rest.is_some_and(|rest| rest.starts_with('_'))
}

async fn call(
    tool: &Tool,
    arguments: &CallArguments,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<ToolResult, Failure> {
    let given = assemble(
        arguments.args.as_deref(),
        &arguments.pairs,
        tool.server_schema(),
    )
    .map_err(|reason| Failure::new(Exit::Usage, format!("{}: {reason}", tool.name())))?;
    let context = CallContext {
        cancel: Some(interrupt.token()),
        timeout: arguments.timeout,
        progress: console.shows_progress().then(progress_line),
    };
    let showed_progress = context.progress.is_some();
    let result = tool.execute(given, context).await;
    if showed_progress {
        Console::note_in_place("");
    }
    Ok(result)
}

/// One line on the terminal that says how far a call is.
fn progress_line() -> ProgressObserver {
    Arc::new(|params: RawJson| {
        let part = |name| params.member(name);
        let number = |name| part(name).map(|value| value.to_string());
        let message = part("message").and_then(|message| message.parse_as::<String>().ok());
        let progress = number("progress").unwrap_or_default();
        let of = number("total").map_or_else(String::new, |total| format!(" of {total}"));
        let message = message.unwrap_or_default();
        Console::note_in_place(&format!("progress: {progress}{of} {message}"));
    })
}

pub(super) fn show(result: &ToolResult, tool: &str, console: &Console) -> Result<(), Failure> {
    if console.is_json() {
        return console.json(&ResultRecord::from(result));
    }
    if !result.is_error {
        // A terminal obeys what it is shown; a pipe gets every byte.
        return if console.is_live() {
            console.line(harmless(&result.output))
        } else {
            console.line(&result.output)
        };
    }
    console.note(Look::Bad, "error:", format!("{tool}: {}", result.output));
    if let Some(error) = &result.metadata.error {
        if let Some(tail) = &error.stderr_tail {
            for line in tail.lines() {
                console.note(Look::Dim, "stderr:", line);
            }
        }
        if error.executed == Executed::Unknown {
            console.note(Look::Dim, "hint:", "the tool may have had its effect");
        }
    }
    Ok(())
}

/// Why there is no such tool: its server failed or may not be started, or the name is wrong.
fn not_there(tool: &str, selection: &Selection, source: &McpSource) -> Failure {
    let servers = ServerRecord::all(selection, source);
    if let Some(error) = servers
        .iter()
        .filter(|server| server.has_failed())
        .find_map(|server| server.error.clone())
    {
        return error.into();
    }
    if let Some(untrusted) = selection.untrusted.first() {
        let message = format!(
            "there is no tool `{tool}`: the server `{}` of this folder is not trusted",
            untrusted.name
        );
        return Failure::new(Exit::Configuration, message).with_hint(TRUST_HINT);
    }
    if let Some(disabled) = servers.iter().find(|server| server.status == "disabled") {
        let message = format!(
            "there is no tool `{tool}`: the server `{}` is switched off by its configuration",
            disabled.name
        );
        return Failure::new(Exit::Configuration, message);
    }
    let tools = source.tools();
    let names: Vec<&str> = tools
        .iter()
        .take(NAMES_SHOWN)
        .map(|tool| tool.name())
        .collect();
    let message = match (names.len(), tools.len()) {
        (0, _) => format!("there is no tool `{tool}`, and no server whose name it begins with"),
        (shown, all) if shown == all => {
            format!("there is no tool `{tool}`; there are: {}", names.join(", "))
        }
        (shown, all) => format!(
            "there is no tool `{tool}`; there are: {} and {} more",
            names.join(", "),
            all - shown
        ),
    };
    Failure::new(Exit::Usage, message).with_hint("`mcp-resident tools` lists them all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_begins_with_its_server_unless_its_name_was_shortened() {
        assert!(can_have("a b", "a_b_tool"));
        assert!(can_have("a", "a_b_tool"));
        assert!(!can_have("ab", "a_b_tool"));
        assert!(!can_have("a_b_tool", "a_b_tool"));
        assert!(can_have("any", &"x".repeat(64)));
    }
}
