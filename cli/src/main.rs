//! The `mcp-resident` program: checks a configuration, lists and calls the tools of its servers,
//! and watches them live.
//!
//! It decides what the library leaves to its host: where configurations are found, what of a
//! folder's own file is trusted, how things are shown, and what an exit code means.

#![forbid(unsafe_code)]

mod arguments;
mod call_arguments;
mod commands;
mod console;
mod exit;
mod failure;
mod feed;
mod interrupt;
mod places;
mod records;
mod selection;
mod servers;
mod style;
mod table;
mod trust_store;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;

fn main() -> ExitCode {
    let Arguments { command, json } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    if let Command::Fake(arguments) = command {
        // It has a runtime of its own.
        return mcp_resident_fixtures::fake::run(arguments);
    }
    let console = Console::new(json);
    match commands::run(command, &console) {
        Ok(exit) => exit.into(),
        Err(failure) => failed(&failure, &console),
    }
}

/// Help that was asked for, and words that are no command line.
fn refused(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|word| word == "--json");
    if wants_json && error.use_stderr() {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        let failure = Failure::new(Exit::Usage, message).with_hint("try --help");
        return failed(&failure, &Console::new(true));
    }
    error.exit()
}

fn failed(failure: &Failure, console: &Console) -> ExitCode {
    console.fail(failure);
    failure.exit().into()
}
