//! `completions`: a script for a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::arguments::Arguments;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) fn run(shell: Shell, console: &Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(shell, &mut visible(), "mcp-resident", &mut script);
    console.write(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// The command line without what its help does not show; the generators show everything.
fn visible() -> clap::Command {
    let whole = Arguments::command();
    let commands = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    clap::Command::new("mcp-resident")
        .args(whole.get_arguments())
        .subcommands(commands)
}
