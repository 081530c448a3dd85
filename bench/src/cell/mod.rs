//! The work of each cell, in a process of its own.

mod calls;
mod idle;
mod listing;
mod slow;

use std::future::Future;

use crate::Failure;
use crate::client::{Ours, Rmcp};
use crate::plan::{Cell, ClientKind};
use crate::report::Report;

/// Does the work of a cell once and says what it took.
pub(crate) fn run(cell: Cell, client: ClientKind) -> Result<Report, Failure> {
    if let Some(calls) = calls::Calls::of(cell) {
        return calls.run(client);
    }
    match (cell, client) {
        (Cell::ToolList, ClientKind::Floor) => listing::floor(),
        (Cell::ToolList, ClientKind::Rmcp) => listing::run::<Rmcp>(),
        (Cell::ToolList, ClientKind::Ours) => listing::run::<Ours>(),
        (Cell::IdleServers, ClientKind::Rmcp) => idle::run::<Rmcp>(),
        (Cell::IdleServers, ClientKind::Ours) => idle::run::<Ours>(),
        (Cell::SlowServer, ClientKind::Rmcp) => slow::run::<Rmcp>(),
        (Cell::SlowServer, ClientKind::Ours) => slow::run::<Ours>(),
        _ => Err("this cell has no floor".into()),
    }
}

/// Runs on one thread, as a binding would.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}
