//! The one thread that does all input and output of a process's sources.
//!
//! It exists as long as somebody holds a lease: a source until it is closed, an operation until its outcome is
//! delivered. With the last lease it ends, and the next one starts another. It runs a current-thread runtime, which was
//! measured to take less processor time and fewer wake-ups than several workers.
//!
//! A process that is forked has none of its parent's threads. Whoever used this library before the fork gets
//! [`ErrorKind::Forked`] after it, instead of waiting for ever.

use std::mem;
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use mcp_resident::{CancellationToken, Error, ErrorKind, McpSource};
use mcp_resident_process::{block_signals_on_this_thread, fork_generation};
use tokio::runtime::{self, Handle, Runtime};
use tokio::sync::{Notify, oneshot};

use crate::queue::Queue;

/// What debuggers and process lists show. Linux keeps 15 characters.
const THREAD_NAME: &str = "mcp-resident-io";
/// Threads for blocking work, such as reading a configuration: more of it waits its turn.
const MAX_BLOCKING_THREADS: usize = 8;

/// The thread that leases are given of, while there is one.
static CURRENT: Mutex<Weak<IoThread>> = Mutex::new(Weak::new());
/// The process that first had such a thread; 0 before.
static FIRST_PROCESS: AtomicU32 = AtomicU32::new(0);
/// What tells it from those forked from it.
static FIRST_GENERATION: AtomicU64 = AtomicU64::new(0);

/// Keeps the I/O thread alive.
pub(crate) type Lease = Arc<IoThread>;

/// What is done when the thread has ended.
type LastAct = Box<dyn FnOnce() + Send>;

pub(crate) struct IoThread {
    runtime: Handle,
    /// Ends every load that runs.
    ending: CancellationToken,
    /// Sources to close at [`shut_down`].
    tenants: Mutex<Vec<Weak<Tenant>>>,
    /// Fails when the thread has ended.
    ended: Mutex<Option<Receiver<()>>>,
    wakes: Arc<Wakes>,
    end: Mutex<Option<oneshot::Sender<Option<LastAct>>>>,
}

/// A source as long as it is open.
pub(crate) struct Tenant {
    pub(crate) source: Arc<McpSource>,
    lease: Mutex<Option<Lease>>,
}

/// Queues whose hosts are to be woken when what is ready has been done.
#[derive(Default)]
struct Wakes {
    due: Mutex<Vec<Arc<Queue>>>,
    any: Notify,
}

/// A lease of the I/O thread, which is started if there is none.
pub(crate) fn lease() -> Result<Lease, Error> {
    refuse_forked()?;
    let mut current = lock(&CURRENT);
    if let Some(thread) = current.upgrade() {
        return Ok(thread);
    }
    let thread = IoThread::start().map_err(|error| {
        let message = format!("the thread for input and output cannot be started: {error}");
        Error::new(ErrorKind::Internal, message)
    })?;
    *current = Arc::downgrade(&thread);
    FIRST_GENERATION.store(fork_generation(), Ordering::Relaxed);
    FIRST_PROCESS.store(process::id(), Ordering::Release);
    Ok(thread)
}

/// Gives a lease back. `last_act` runs when no thread is left, or at once if others hold leases.
pub(crate) fn release(lease: Lease, last_act: impl FnOnce() + Send + 'static) {
    match Arc::into_inner(lease) {
        Some(thread) => thread.end(Some(Box::new(last_act))),
        None => last_act(),
    }
}

/// An error in a process that was forked from one that had the thread.
pub(crate) fn refuse_forked() -> Result<(), Error> {
    match FIRST_PROCESS.load(Ordering::Acquire) {
        0 => Ok(()),
        _ if FIRST_GENERATION.load(Ordering::Relaxed) == fork_generation() => Ok(()),
        first => Err(Error::new(
            ErrorKind::Forked,
            format!(
                "this process was forked from process {first} after that had loaded servers, and has none of its \
                 threads: load in the child only, or start the child as a new process (`spawn`)"
            ),
        )),
    }
}

/// Closes every source of this process, for a host that ends, and waits at most `limit` until the thread has ended.
/// Returns whether it has. What is still there then ends with the process.
pub fn shut_down(limit: Duration) -> bool {
    if refuse_forked().is_err() {
        return true;
    }
    let Some(thread) = lock(&CURRENT).upgrade() else {
        return true;
    };
    thread.ending.cancel();
    let tenants: Vec<_> = mem::take(&mut *lock(&thread.tenants))
        .into_iter()
        .filter_map(|tenant| tenant.upgrade())
        .collect();
    let ended = lock(&thread.ended).take();
    let runtime = thread.runtime.clone();
    runtime.spawn(async move {
        join_all(tenants.iter().map(|tenant| tenant.source.close())).await;
        for tenant in tenants {
            tenant.move_out();
        }
        drop(thread);
    });
    // Whatever else runs ends now, since its source is closed or its load cancelled.
    ended.is_none_or(|ended| ended.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected))
}

impl Tenant {
    pub(crate) fn new(source: Arc<McpSource>, lease: Lease) -> Arc<Self> {
        let tenants = Arc::clone(&lease);
        let tenant = Arc::new(Self {
            source,
            lease: Mutex::new(Some(lease)),
        });
        let mut tenants = lock(&tenants.tenants);
        tenants.retain(|tenant| tenant.strong_count() > 0);
        tenants.push(Arc::downgrade(&tenant));
        drop(tenants);
        tenant
    }

    /// The thread, while the source is open; after that, one for what is answered with an error.
    pub(crate) fn lease(&self) -> Result<Lease, Error> {
        refuse_forked()?;
        let own = lock(&self.lease).clone();
        own.map_or_else(lease, Ok)
    }

    /// Gives the lease up. Nothing of the source runs any more, or whoever takes the lease ends it.
    pub(crate) fn move_out(&self) -> Option<Lease> {
        lock(&self.lease).take()
    }
}

impl IoThread {
    fn start() -> std::io::Result<Lease> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .thread_name(THREAD_NAME)
            .build()?;
        let wakes = Arc::new(Wakes::default());
        let (end, to_end) = oneshot::channel();
        let (ended, has_ended) = mpsc::channel();
        let thread = Arc::new(Self {
            runtime: runtime.handle().clone(),
            ending: CancellationToken::new(),
            tenants: Mutex::default(),
            ended: Mutex::new(Some(has_ended)),
            wakes: Arc::clone(&wakes),
            end: Mutex::new(Some(end)),
        });
        thread::Builder::new()
            .name(THREAD_NAME.to_owned())
            .spawn(move || {
                // They are for the host's own threads, and a write costs less without them.
                block_signals_on_this_thread();
                run(runtime, &wakes, to_end, ended);
            })?;
        Ok(thread)
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// A token that is cancelled when the process ends.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.ending.child_token()
    }

    /// Wakes a queue's host once everything that is ready now has been done.
    pub(crate) fn wake_later(&self, queue: &Arc<Queue>) {
        lock(&self.wakes.due).push(Arc::clone(queue));
        self.wakes.any.notify_one();
    }

    fn end(&self, last_act: Option<LastAct>) {
        if let Some(end) = lock(&self.end).take() {
            // The thread waits for nothing else, so it is there.
            let _ = end.send(last_act);
        }
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// The thread's whole life.
///
/// It holds `_ended` until it returns.
fn run(
    runtime: Runtime,
    wakes: &Wakes,
    end: oneshot::Receiver<Option<LastAct>>,
    _ended: Sender<()>,
) {
    let last_act = runtime.block_on(async {
        tokio::select! {
            last_act = end => last_act.ok().flatten(),
            () = wakes.deliver() => None,
        }
    });
    drop(runtime);
    wakes.wake_all();
    if let Some(act) = last_act {
        act();
    }
}

impl Wakes {
    /// Tasks run in the order in which they became ready, so this one comes after all that are ready with it.
    async fn deliver(&self) {
        loop {
            self.any.notified().await;
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        let due = mem::take(&mut *lock(&self.due));
        for queue in due {
            queue.wake();
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
