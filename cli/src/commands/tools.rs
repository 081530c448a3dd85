//! `tools`: what a model would be offered.

use std::sync::Arc;

use mcp_resident::Tool;
use serde_json::json;

use crate::arguments::ConfigArguments;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::records::{ServerRecord, ToolRecord};
use crate::selection::Selection;
use crate::servers::{self, Stay};
use crate::style::{Look, one_line};
use crate::table::{Cell, Table};

/// What to do about servers that are not trusted.
pub(crate) const TRUST_HINT: &str = "`mcp-resident trust` allows this folder's own servers";

pub(crate) async fn run(arguments: &ConfigArguments, console: &Console) -> Result<Exit, Failure> {
    let selection = Selection::read(arguments, console.environment())?;
    let interrupt = Interrupt::listen();
    let source = servers::load(&selection, Stay::Briefly, &interrupt).await?;
    let tools = source.tools();
    let servers = ServerRecord::all(&selection, &source);
    source.close().await;

    if console.is_json() {
        console.json(&json!({
            "tools": tools.iter().map(|tool| ToolRecord::from(&**tool)).collect::<Vec<_>>(),
            "servers": servers.iter().map(ServerRecord::to_json).collect::<Vec<_>>(),
        }))?;
    } else {
        list(&tools, console)?;
    }
    report(&servers, console);
    Ok(exit(&servers))
}

/// Writes the tools as a table; nothing when there are none.
pub(super) fn list(tools: &[Arc<Tool>], console: &Console) -> Result<(), Failure> {
    if tools.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["TOOL", "DESCRIPTION"]);
    for tool in tools {
        table.add([
            Cell::new(Look::Bold, tool.name()),
            one_line(tool.description()).into(),
        ]);
    }
    let lines = table.lines(console.style(), console.width());
    lines.iter().try_for_each(|line| console.line(line))
}

/// Says on standard error whose tools are not there, and why.
pub(crate) fn report(servers: &[ServerRecord], console: &Console) {
    if console.is_json() {
        return;
    }
    for server in servers {
        if let (true, Some(error)) = (server.has_failed(), &server.error) {
            console.note(Look::Bad, "failed:", one_line(&error.to_string()));
        }
        if let Some(launch) = &server.untrusted_launch {
            let name = one_line(&server.name);
            console.note(Look::Odd, "not trusted:", format!("{name}: {launch}"));
        }
    }
    if servers
        .iter()
        .any(|server| server.untrusted_launch.is_some())
    {
        console.note(Look::Dim, "hint:", TRUST_HINT);
    }
}

/// Success when all that should be there is there.
fn exit(servers: &[ServerRecord]) -> Exit {
    let failed = servers.iter().filter(|server| server.has_failed());
    let exits = failed.map(|server| {
        let kind = server.error.as_ref().map(mcp_resident::Error::kind);
        kind.map_or(Exit::Unavailable, Exit::from)
    });
    exits
        .min_by_key(|exit| exit.code())
        .unwrap_or(Exit::Success)
}
