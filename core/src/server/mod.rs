//! One server: its states, its restarts, its list, and the calls of its tools.
//!
//! What is started is an instance; sources use it through leases (`lease`), several of them where they share it. A task
//! owns everything that changes of it (`task`); others send it commands and read the snapshot that it publishes
//! (`instance`, and `handle` for a source's own view). A call takes the connection of the snapshot and touches the task only
//! when there is none to take (`call`). What to do when a connection is lost is decided by pure
//! rules without a clock (`restart`, `pace`).

mod activity;
mod attempt;
mod call;
mod facilities;
mod handle;
mod instance;
mod lease;
mod pace;
mod placeholder;
mod process_budget;
mod restart;
mod seat;
mod shell_command;
mod snapshot;
mod spec;
mod spill;
mod startup_gates;
mod task;

pub(crate) use facilities::Facilities;
pub(crate) use handle::{Placed, Server};
pub(crate) use lease::{Lease, Tenant};
pub(crate) use seat::Seat;
pub use shell_command::ShellCommandRunner;
pub(crate) use spec::{RuntimeCell, ServerSpec, Shared};
pub(crate) use spill::Spill;
