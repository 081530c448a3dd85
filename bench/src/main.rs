//! Measures calls through this library against the same calls through a bare rmcp client, and both
//! against the floor: the same bytes with nobody reading their meaning.
//!
//! One run interleaves everything, because a machine is not the same one a minute later; each
//! measurement is a process of its own, so that none inherits another's memory.

mod cell;
mod client;
mod languages;
mod machine;
mod plan;
mod report;
mod run;
mod server;
mod statistics;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::languages::LanguageOptions;
use crate::plan::{Cell, ClientKind};
use crate::server::ServerOptions;

/// Whatever went wrong; a measurement that failed is of no use, so nobody tells them apart.
type Failure = Box<dyn Error + Send + Sync>;

/// Measures mcp-resident against a bare rmcp client and the floor.
#[derive(Parser)]
#[command(name = "mcp-resident-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs all cells, or some of them, and prints the table.
    All {
        /// How often each cell is run by each client.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Runs this cell only; may be given several times.
        #[arg(long)]
        only: Vec<Cell>,
        /// Where the table is written as well.
        #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md"))]
        output: PathBuf,
    },
    /// Measures the bindings for Python and Node against their peers; `scripts/bench-languages` installs what that needs.
    Languages(LanguageOptions),
    /// Runs one cell with one client, once, and prints what was measured as JSON.
    Cell {
        cell: Cell,
        #[arg(long)]
        client: ClientKind,
    },
    /// Serves MCP with as little work as possible.
    Server(ServerOptions),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::All {
            rounds,
            only,
            output,
        } => run::all(rounds, &only, &output),
        Command::Languages(options) => languages::run(&options),
        Command::Cell { cell, client } => cell::run(cell, client).and_then(|r| report::print(&r)),
        Command::Server(options) => server::serve(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report::complain(&failure);
            ExitCode::FAILURE
        }
    }
}
