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
    let script = String::from_utf8_lossy(&script);
    // The generator names the states of its Bash script in two ways when the program's name has a hyphen.
    let script = script.replace("mcp__subcmd__resident", "mcp__resident");
    console.write(&script)?;
    Ok(Exit::Success)
}

/// The command line without what its help does not show; the generators show everything.
fn visible() -> clap::Command {
    let whole = Arguments::command();
    let commands = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    clap::Command::new("mcp-resident")
        .version(env!("CARGO_PKG_VERSION"))
        .args(whole.get_arguments())
        .subcommands(commands)
}
