//! One server: its states, its restarts, its list, and the calls of its tools.
//!
//! A task owns everything that changes (`task`); others send it commands and read the snapshot that
//! it publishes (`handle`). A call takes the connection of the snapshot and touches the task only
//! when there is none to take (`call`). What to do when a connection is lost is decided by pure
//! rules without a clock (`restart`, `pace`).

mod attempt;
mod call;
mod handle;
mod pace;
mod placeholder;
mod restart;
mod seat;
mod shell_command;
mod snapshot;
mod spec;
mod spill;
mod startup_gates;
mod task;

pub(crate) use handle::Server;
pub(crate) use seat::Seat;
pub use shell_command::ShellCommandRunner;
pub(crate) use spec::{EngineCell, HttpCell, RuntimeCell, ServerSpec, Shared};
pub(crate) use spill::Spill;
pub(crate) use startup_gates::StartupGates;
