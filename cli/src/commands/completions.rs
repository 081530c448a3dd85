//! `completions`: a script for a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::arguments::Arguments;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) fn run(shell: Shell, console: &Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(
        shell,
        &mut Arguments::command(),
        "mcp-resident",
        &mut script,
    );
    console.write(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
