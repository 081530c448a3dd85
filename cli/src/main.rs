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

fn main() -> ExitCode {
    let Arguments { command, json } = Arguments::parse();
    if let Command::Fake(arguments) = command {
        // It has a runtime of its own.
        return mcp_resident_fixtures::fake::run(arguments);
    }
    let console = Console::new(json);
    match commands::run(command, &console) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let exit = failure.exit();
            console.fail(&failure);
            exit.into()
        }
    }
}
