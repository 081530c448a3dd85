//! Operations: what a host starts, and how it ends.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use mcp_resident::{
    CancellationToken, Error, ErrorKind, InventoryEntry, Reloaded, State, ToolResult,
};

use crate::io_thread::{self, IoThread, Lease};
use crate::queue::Queue;
use crate::session::{Exchange, Session};
use crate::source::Source;

/// Names an operation. Never given twice in a process.
pub type OperationId = u64;

/// How an operation ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// Of a load.
    Loaded(Result<Arc<Source>, Error>),
    /// Of a call: whatever happened is a result.
    Called(ToolResult),
    /// Of a start, a stop, a restart, a refresh, a close.
    Done(Result<(), Error>),
    /// Of a wait for states.
    Reached(Result<State, Error>),
    /// Of an inventory.
    Listed(Result<Vec<InventoryEntry>, Error>),
    /// Of opening a session.
    Opened(Result<Arc<Session>, Error>),
    /// Of the beginning of an exchange.
    Exchanged(Result<Arc<Exchange>, Error>),
    /// Of a reload: what it changed.
    Reloaded(Result<Reloaded, Error>),
    /// Of an operation of any kind that ended in a panic, which is a defect of this library.
    Broken(Error),
}

/// Starts an operation on the I/O thread. What it does gets the id by which it is known.
pub(crate) fn start<F>(
    queue: &Arc<Queue>,
    lease: Lease,
    token: CancellationToken,
    work: impl FnOnce(OperationId, Lease) -> F,
) -> OperationId
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let operation = queue.begin(token);
    let work = work(operation, Arc::clone(&lease));
    let queue = Arc::clone(queue);
    let runtime = lease.runtime().clone();
    runtime.spawn(async move {
        let outcome = guarded(work).await;
        queue.complete(Some(&lease), operation, outcome);
    });
    operation
}

/// Starts an operation after which the thread may end: its outcome arrives when that has happened.
pub(crate) fn start_last<F>(queue: &Arc<Queue>, lease: Lease, work: F) -> OperationId
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let operation = queue.begin(CancellationToken::new());
    let queue = Arc::clone(queue);
    let runtime = lease.runtime().clone();
    runtime.spawn(async move {
        let outcome = guarded(work).await;
        io_thread::release(lease, move || {
            queue.complete(None::<&IoThread>, operation, outcome);
        });
    });
    operation
}

/// No panic reaches a caller.
async fn guarded(work: impl Future<Output = Outcome>) -> Outcome {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| {
            let message = "the operation failed inside of mcp-resident, which is a defect of it: please report it";
            Outcome::Broken(Error::new(ErrorKind::Internal, message))
        })
}
