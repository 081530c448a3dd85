//! `trust`: the user's decision about a folder's own servers.
//!
//! What is recorded is what was shown: both come from one reading of the files.

use std::io::{self, BufRead, IsTerminal, Write};

use mcp_resident::config::{ServerDefinition, fingerprint, launch_line};
use serde_json::{Value, json};

use crate::arguments::TrustArguments;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::records::Place;
use crate::selection::{Selection, project_folder};
use crate::style::{Look, one_line};
use crate::trust_store::{Folder, TrustStore, Trusted};

pub(crate) fn run(arguments: &TrustArguments, console: &Console) -> Result<Exit, Failure> {
    if arguments.list {
        list(console)
    } else if arguments.revoke {
        revoke(arguments, console)
    } else {
        trust(arguments, console)
    }
}

fn trust(arguments: &TrustArguments, console: &Console) -> Result<Exit, Failure> {
    let folder = project_folder(&arguments.layers)?;
    let mut wanted = Selection::layered(&arguments.layers, console.environment())?.untrusted;
    if !arguments.servers.is_empty() {
        let is_there = |name: &&String| wanted.iter().any(|definition| definition.name == **name);
        if let Some(unknown) = arguments.servers.iter().find(|name| !is_there(name)) {
            let message = format!("this folder has no server `{unknown}` that is not trusted yet");
            return Err(Failure::new(Exit::Usage, message)
                .with_hint("`mcp-resident check` shows what there is"));
        }
        wanted.retain(|definition| arguments.servers.contains(&definition.name));
    }
    if console.is_json() && !arguments.yes && !wanted.is_empty() {
        return Err(
            Failure::new(Exit::Usage, "`--json` shows nothing to agree to")
                .with_hint("look at `mcp-resident check --json`, then use --yes"),
        );
    }
    if !console.is_json() {
        show(&folder, &wanted, console)?;
    }
    let agreed = wanted.is_empty() || arguments.yes || agrees(wanted.len(), console)?;
    if agreed && !wanted.is_empty() {
        let mut store = TrustStore::open(console.environment())?;
        store.trust(&folder, wanted.iter().map(Trusted::new).collect());
        store.save()?;
    }
    if console.is_json() {
        console.json(&json!({
            "folder": folder.as_str(),
            "servers": wanted.iter().map(record).collect::<Vec<_>>(),
            "trusted": agreed,
        }))?;
    } else if !wanted.is_empty() {
        let done = if agreed { "trusted" } else { "not trusted" };
        console.line(format!("{done}: {}", names(&wanted)))?;
    }
    Ok(if agreed {
        Exit::Success
    } else {
        Exit::Cancelled
    })
}

fn show(folder: &Folder, wanted: &[ServerDefinition], console: &Console) -> Result<(), Failure> {
    let style = console.style();
    if wanted.is_empty() {
        return console.line(format!(
            "nothing in {} needs to be trusted",
            folder.as_str()
        ));
    }
    console.line(format!("{} would start:", folder.as_str()))?;
    for definition in wanted {
        let source = definition.origin.source.as_deref().unwrap_or_default();
        let line = definition.origin.entry.map(|entry| entry.line);
        let place = format!("{source}:{}", line.unwrap_or_default());
        console.line(format!(
            "  {} {}\n    {}",
            style.paint(Look::Bold, &definition.name.escape_debug().to_string()),
            style.paint(Look::Dim, &place),
            launch_line(definition)
        ))?;
    }
    Ok(())
}

/// Asks a person, who can only be asked on a terminal.
fn agrees(count: usize, console: &Console) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(
            Exit::Usage,
            "nobody is there to ask, so nothing was trusted",
        )
        .with_hint("look at what would be started, then use --yes"));
    }
    let what = if count == 1 { "it" } else { "them" };
    let question = format!("Trust {what}? [y/N] ");
    let question = console.note_style().paint(Look::Bold, &question);
    let mut answer = String::new();
    let _ = io::stderr().write_all(question.as_bytes());
    let read = io::stdin().lock().read_line(&mut answer);
    // An end of input is no answer.
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn list(console: &Console) -> Result<Exit, Failure> {
    let store = TrustStore::open(console.environment())?;
    if console.is_json() {
        let folders: Vec<Value> = store
            .folders()
            .iter()
            .map(|(folder, servers)| json!({"folder": folder, "servers": servers}))
            .collect();
        console.json(&json!({ "folders": folders }))?;
        return Ok(Exit::Success);
    }
    if store.folders().is_empty() {
        console.line("nothing is trusted")?;
    }
    for (folder, servers) in store.folders() {
        console.line(folder)?;
        for server in servers {
            let name = server.server.escape_debug().to_string();
            let name = console.style().paint(Look::Bold, &name);
            console.line(format!("  {name} {}", server.launch))?;
        }
    }
    Ok(Exit::Success)
}

fn revoke(arguments: &TrustArguments, console: &Console) -> Result<Exit, Failure> {
    let folder = project_folder(&arguments.layers)?;
    let mut store = TrustStore::open(console.environment())?;
    let revoked = store.revoke(&folder, &arguments.servers);
    if !revoked.is_empty() {
        store.save()?;
    }
    let is_revoked = |name: &&String| revoked.iter().any(|entry| entry.server == **name);
    if let Some(unknown) = arguments.servers.iter().find(|name| !is_revoked(name)) {
        let message = format!("no server `{unknown}` of {} is trusted", folder.as_str());
        return Err(Failure::new(Exit::Usage, message)
            .with_hint("`mcp-resident trust --list` shows what is"));
    }
    if console.is_json() {
        console.json(&json!({"folder": folder.as_str(), "revoked": revoked}))?;
    } else if revoked.is_empty() {
        console.line(format!("nothing in {} was trusted", folder.as_str()))?;
    } else {
        let mut names: Vec<_> = revoked
            .iter()
            .map(|entry| one_line(&entry.server))
            .collect();
        names.dedup();
        console.line(format!("no longer trusted: {}", names.join(", ")))?;
    }
    Ok(Exit::Success)
}

fn names(definitions: &[ServerDefinition]) -> String {
    let names = definitions
        .iter()
        .map(|definition| one_line(&definition.name));
    names.collect::<Vec<_>>().join(", ")
}

fn record(definition: &ServerDefinition) -> Value {
    let origin = &definition.origin;
    json!({
        "server": definition.name,
        "launch": launch_line(definition),
        "fingerprint": fingerprint(definition),
        "place": Place::new(origin.source.as_deref(), origin.entry),
    })
}
