//! The commands, one in each file.

mod call;
mod check;
mod completions;
mod demo;
mod run;
mod tools;
mod trust;
mod watch;

use std::future::Future;

use crate::arguments::Command;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;

/// Runs one command to its end.
pub(crate) fn run(command: Command, console: &Console) -> Result<Exit, Failure> {
    match command {
        Command::Check(arguments) => block_on(check::run(&arguments, console)),
        Command::Trust(arguments) => trust::run(&arguments, console),
        Command::Tools(arguments) => block_on(tools::run(&arguments, console)),
        Command::Call(arguments) => block_on(call::run(&arguments, console)),
        Command::Run(arguments) => block_on(run::run(&arguments, console)),
        Command::Watch(arguments) => block_on(watch::run(&arguments, console)),
        Command::Demo => block_on(demo::run(console)),
        Command::Completions { shell } => completions::run(shell, console),
        Command::Fake(_) => Err(Failure::new(
            Exit::Internal,
            "the fake server needs a runtime of its own",
        )),
    }
}

fn block_on(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new(
                Exit::Internal,
                format!("no runtime can be started: {error}"),
            )
        })?;
    runtime.block_on(command)
}
