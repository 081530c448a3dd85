//! [`Instance`]: what is started from one launch definition, whoever uses it.
//!
//! Sources use it through leases. Its first tenant starts it and its last one ends it; everything that changes in between
//! is the business of its task.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::activity::Activity;
use super::facilities::Facilities;
use super::lease::Tenant;
use super::snapshot::Snapshot;
use super::spec::ServerSpec;
use super::task::{Command, Done, Task, Waiter};
use crate::config::Lazy;
use crate::error::{Error, ErrorKind};
use crate::event::{Audience, EventKind, State, Status};

/// Commands that may wait for the task; more wait to be sent.
const COMMAND_QUEUE: usize = 64;

/// A process or a remote session, with at most one current connection.
pub(crate) struct Instance {
    name: Arc<str>,
    /// What its task works from: the settings of the tenant that said last what it wants.
    serving: RwLock<Arc<ServerSpec>>,
    pub(super) facilities: Arc<Facilities>,
    tenants: Mutex<Tenants>,
    /// The event logs of the tenants.
    pub(super) audience: Audience,
    pub(super) activity: Activity,
    /// Cancelled when the last tenant leaves: ends attempts and waits at once.
    closing: CancellationToken,
    /// Cancelled when that takes too long: what is left is let go, and so killed.
    overdue: CancellationToken,
    /// Everything that runs for the instance.
    pub(super) tasks: TaskTracker,
    commands: mpsc::Sender<Command>,
    snapshot: watch::Receiver<Snapshot>,
    waiters: AtomicU64,
    /// The number of the last connection of the instance before.
    generation_before: u64,
}

#[derive(Default)]
struct Tenants {
    here: Vec<Arc<Tenant>>,
    /// Why the last one left. Nobody joins after that.
    ended: Option<Departure>,
}

/// Why a source no longer uses an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Departure {
    SourceClosed,
    Reconfigured,
}

impl Departure {
    /// As an error of whoever wanted something of the server.
    pub(super) fn error(self, server: &str) -> Error {
        let message = match self {
            Self::SourceClosed => "the source was closed",
            Self::Reconfigured => {
                "a new configuration removed the server, or changed how it is started"
            }
        };
        Error::new(ErrorKind::Closed, message).of_server(server)
    }
}

/// An instance whose task does not run yet: its seat and its catalog come to know it first.
pub(crate) struct Unstarted {
    instance: Arc<Instance>,
    inbox: mpsc::Receiver<Command>,
    publisher: watch::Sender<Snapshot>,
}

impl fmt::Debug for Instance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Instance")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Instance {
    /// Makes an instance. Nothing runs yet. Its connections are numbered after `generation`, that of the instance
    /// before.
    pub(crate) fn prepare(spec: &Arc<ServerSpec>, generation: u64) -> Unstarted {
        let status = match (spec.definition.enabled, spec.lazy) {
            (false, _) => Status::Disabled,
            (true, Lazy::Yes) => Status::Connected,
            (true, Lazy::No | Lazy::List) => Status::Failed,
        };
        let (publisher, snapshot) = watch::channel(Snapshot::initial(status, generation));
        let (commands, inbox) = mpsc::channel(COMMAND_QUEUE);
        let instance = Arc::new(Self {
            name: Arc::clone(&spec.name),
            serving: RwLock::new(Arc::clone(spec)),
            facilities: Arc::clone(&spec.shared.facilities),
            tenants: Mutex::default(),
            audience: Audience::default(),
            activity: Activity::new(Arc::clone(&spec.shared.facilities.processes)),
            closing: CancellationToken::new(),
            overdue: CancellationToken::new(),
            tasks: TaskTracker::new(),
            commands,
            snapshot,
            waiters: AtomicU64::new(1),
            generation_before: generation,
        });
        Unstarted {
            instance,
            inbox,
            publisher,
        }
    }

    /// Takes a tenant in, unless the last one has left already.
    pub(crate) fn join(&self, tenant: &Arc<Tenant>) -> bool {
        let mut tenants = self.lock();
        if tenants.ended.is_some() {
            return false;
        }
        self.audience.join(tenant.spec().shared.events.clone());
        tenants.here.push(Arc::clone(tenant));
        true
    }

    /// A tenant goes. With the last one the instance ends; who has gone already goes no second time.
    pub(super) fn leave(&self, lease: u64, why: Departure) {
        let mut tenants = self.lock();
        let place = tenants.here.iter().position(|it| it.lease.id() == lease);
        let Some(place) = place else { return };
        let gone = tenants.here.remove(place);
        if tenants.here.is_empty() {
            tenants.ended = Some(why);
        }
        let left = tenants.here.last().cloned();
        drop(tenants);
        match left {
            // From now on it works from the settings of somebody who is here.
            Some(left) => {
                let (done, _) = oneshot::channel();
                // With a full queue it goes on with those that it has.
                let _ = self.commands.try_send(Command::Adopt(left.spec(), done));
                self.see_off(&gone, why);
            }
            // What is said of the end is still said to the last one.
            None => self.closing.cancel(),
        }
    }

    /// For whoever has gone the server is stopped, whatever becomes of the instance.
    fn see_off(&self, gone: &Tenant, why: Departure) {
        let spec = gone.spec();
        let log = &spec.shared.events;
        self.audience.leave(log);
        let (from, generation) = {
            let now = self.snapshot.borrow();
            (now.state, now.generation)
        };
        if from != State::Stopped {
            let cause = match why {
                Departure::SourceClosed => "closed",
                Departure::Reconfigured => "no longer used here",
            };
            let kind = EventKind::State {
                from,
                to: State::Stopped,
                cause: cause.to_owned(),
            };
            log.push(&spec.name, generation, kind);
        }
    }

    /// Whether the last tenant has left.
    pub(super) fn is_ending(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Waits until nothing is left of an instance that ends; when `overdue` is cancelled, without any grace.
    pub(super) async fn ended(&self, overdue: &CancellationToken) {
        self.tasks.close();
        tokio::select! {
            biased;
            () = self.tasks.wait() => {}
            () = overdue.cancelled() => {
                self.overdue.cancel();
                self.tasks.wait().await;
            }
        }
    }

    pub(super) fn tenants(&self) -> Vec<Arc<Tenant>> {
        self.lock().here.clone()
    }

    /// Whether more than one source uses it.
    pub(super) fn is_shared(&self) -> bool {
        self.lock().here.len() > 1
    }

    fn lock(&self) -> MutexGuard<'_, Tenants> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn serving(&self) -> Arc<ServerSpec> {
        Arc::clone(&self.serving.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Only its task says what it works from.
    pub(super) fn serve(&self, spec: Arc<ServerSpec>) {
        *self.serving.write().unwrap_or_else(PoisonError::into_inner) = spec;
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(super) fn overdue(&self) -> &CancellationToken {
        &self.overdue
    }

    pub(super) fn generation_before(&self) -> u64 {
        self.generation_before
    }

    pub(super) fn snapshot(&self) -> &watch::Receiver<Snapshot> {
        &self.snapshot
    }

    /// Sends a command whose waiter may go away: then the task is told, so that an attempt that nobody waits for any more
    /// ends.
    pub(super) async fn ask(
        &self,
        command: fn(Waiter) -> Command,
        cancelled: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        let id = self.waiters.fetch_add(1, Ordering::Relaxed);
        let (done, answer) = oneshot::channel();
        self.send(command(Waiter { id, done })).await?;
        let mut guard = Abandon {
            instance: self,
            id: Some(id),
        };
        tokio::select! {
            biased;
            result = self.answered(answer) => {
                guard.id = None;
                result.and_then(|done| done)
            }
            () = cancelled => {
                guard.id = None;
                // Told before this returns, so that the caller sees no attempt after its cancel.
                self.send(Command::Abandon(id)).await?;
                let error = Error::new(ErrorKind::Cancelled, "cancelled by the caller");
                Err(error.of_server(&self.name))
            }
        }
    }

    /// Sends a command and waits for what came of it.
    pub(super) async fn tell(&self, command: impl FnOnce(Done) -> Command) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        self.send(command(done)).await?;
        self.answered(answer).await?
    }

    /// Disconnects and waits until nothing of the server is left.
    pub(super) async fn stop(&self) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        self.send(Command::Stop(done)).await?;
        self.answered(answer).await
    }

    /// The answer to a command. A command that was sent while the task ended is never read, and never dropped either: this
    /// handle itself keeps the queue alive that holds it. So the end of the task is an answer, too.
    async fn answered<T>(&self, mut answer: oneshot::Receiver<T>) -> Result<T, Error> {
        let mut snapshot = self.snapshot.clone();
        let task_ended = async { while snapshot.changed().await.is_ok() {} };
        tokio::select! {
            biased;
            answer = &mut answer => answer.map_err(|_| self.closed()),
            () = task_ended => answer.try_recv().map_err(|_| self.closed()),
        }
    }

    async fn send(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| self.closed())
    }

    /// Asks it to give up its process, when no call is running.
    pub(super) fn ask_to_make_room(&self) {
        // One that has so much to do is not idle.
        let _ = self.commands.try_send(Command::MakeRoom);
    }

    pub(super) fn closed(&self) -> Error {
        let why = self.lock().ended.unwrap_or(Departure::SourceClosed);
        why.error(&self.name)
    }
}

impl Unstarted {
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Starts the instance's task. Nothing is connected yet; a lazy server's tools are known when this returns.
    pub(super) async fn launch(self) {
        let instance = Arc::clone(&self.instance);
        let mut task = Task::new(self.instance, self.inbox, self.publisher);
        task.offer_unstarted().await;
        instance.tasks.spawn(task.run());
    }
}

/// Tells the task that a waiter has gone, when its future is dropped.
struct Abandon<'a> {
    instance: &'a Instance,
    id: Option<u64>,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // A full queue only means that the attempt runs to its end.
            let _ = self.instance.commands.try_send(Command::Abandon(id));
        }
    }
}
