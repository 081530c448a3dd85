//! [`Server`]: how others see a server and talk to its task.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::seat::Seat;
use super::snapshot::Snapshot;
use super::spec::ServerSpec;
use super::task::{Command, Done, Task, Waiter};
use crate::catalog::CatalogStore;
use crate::config::Lazy;
use crate::error::{Error, ErrorKind};
use crate::event::{State, Status};

/// Commands that may wait for the task; more wait to be sent.
const COMMAND_QUEUE: usize = 64;

/// The number of the next instance.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// One instance of a server: what is started from one launch definition. Its seat holds it, and its tools hold the
/// seat, so it outlives the source; closed, it only says so.
pub(crate) struct Server {
    /// Unique in this process: what an instance lists counts only while it has its seat.
    id: u64,
    name: Arc<str>,
    /// Replaced as a whole when a new configuration changes what needs no new process.
    spec: RwLock<Arc<ServerSpec>>,
    /// Cancelled when the source closes, and when another instance takes the seat.
    closing: CancellationToken,
    commands: mpsc::Sender<Command>,
    snapshot: watch::Receiver<Snapshot>,
    catalog: Weak<CatalogStore>,
    waiters: AtomicU64,
    /// The number of the last connection of the instance before.
    generation_before: u64,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Makes an instance. Nothing runs yet. Its connections are numbered after `generation`, that of the instance
    /// before.
    pub(crate) fn prepare(
        spec: Arc<ServerSpec>,
        catalog: &Arc<CatalogStore>,
        generation: u64,
    ) -> Unstarted {
        let status = match (spec.definition.enabled, spec.lazy) {
            (false, _) => Status::Disabled,
            (true, Lazy::Yes) => Status::Connected,
            (true, Lazy::No | Lazy::List) => Status::Failed,
        };
        let (publisher, snapshot) = watch::channel(Snapshot::initial(status, generation));
        let (commands, inbox) = mpsc::channel(COMMAND_QUEUE);
        let server = Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name: Arc::clone(&spec.name),
            closing: spec.shared.closing.child_token(),
            spec: RwLock::new(spec),
            commands,
            snapshot,
            catalog: Arc::downgrade(catalog),
            waiters: AtomicU64::new(1),
            generation_before: generation,
        });
        Unstarted {
            server,
            catalog: Arc::clone(catalog),
            inbox,
            publisher,
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn spec(&self) -> Arc<ServerSpec> {
        Arc::clone(&self.spec.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has the instance go on with these settings, without a new connection.
    pub(crate) async fn adopt(&self, spec: Arc<ServerSpec>) -> Result<(), Error> {
        *self.spec.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&spec);
        self.tell(|done| Command::Adopt(spec, done)).await
    }

    /// Ends the instance beside whoever asks, and returns when it says that it is stopped: from then on it changes
    /// nothing that can be seen, and another one may take its seat while its process ends.
    pub(crate) async fn retire(&self) {
        self.closing.cancel();
        if !self.spec().definition.enabled {
            return;
        }
        let mut snapshot = self.snapshot.clone();
        // A task that has ended has said so, too.
        let _ = snapshot
            .wait_for(|now| now.closed && now.state == State::Stopped)
            .await;
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Whether the instance was told to end.
    pub(super) fn is_retired(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Waits until the source closes.
    pub(super) async fn source_closing(&self) {
        let spec = self.spec();
        spec.shared.closing.cancelled().await;
    }

    /// Whether the source closes, and not only this instance.
    pub(super) fn is_source_closing(&self) -> bool {
        let spec = self.spec.read().unwrap_or_else(PoisonError::into_inner);
        spec.shared.closing.is_cancelled()
    }

    pub(super) fn catalog(&self) -> Option<Arc<CatalogStore>> {
        self.catalog.upgrade()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.snapshot.borrow().clone()
    }

    /// Looks at the snapshot without cloning it.
    pub(super) fn look<T>(&self, at: impl FnOnce(&Snapshot) -> T) -> T {
        at(&self.snapshot.borrow())
    }

    pub(super) fn watch(&self) -> watch::Receiver<Snapshot> {
        self.snapshot.clone()
    }

    /// The state and the status alone, without cloning the rest.
    pub(crate) fn standing(&self) -> (State, Status) {
        let snapshot = self.snapshot.borrow();
        (snapshot.state, snapshot.status)
    }

    /// Connects, unless that is done or under way, and waits for the outcome.
    pub(crate) async fn start(&self, cancel: &CancellationToken) -> Result<(), Error> {
        self.ask(Command::Start, cancel.cancelled()).await
    }

    /// Connects to list and disconnects, unless the list is known.
    pub(crate) async fn list_once(&self, cancel: &CancellationToken) -> Result<(), Error> {
        self.ask(Command::ListOnce, cancel.cancelled()).await
    }

    /// Disconnects and connects again.
    pub(crate) async fn restart(&self, cancel: &CancellationToken) -> Result<(), Error> {
        self.ask(Command::Restart, cancel.cancelled()).await
    }

    /// Connects for a call; whoever else waits for it shares the attempt. A call that goes away
    /// leaves the attempt running: the next call wants it too.
    pub(crate) async fn wake(&self) -> Result<(), Error> {
        self.tell(|done| Command::Wake(Waiter { id: 0, done }))
            .await
    }

    /// Disconnects and waits until nothing of the server is left.
    pub(crate) async fn stop(&self) -> Result<(), Error> {
        self.check_enabled()?;
        let (done, answer) = oneshot::channel();
        self.send(Command::Stop(done)).await?;
        self.answered(answer).await
    }

    /// Fetches the list again and publishes what changed.
    pub(crate) async fn refresh(&self) -> Result<(), Error> {
        self.tell(Command::Refresh).await
    }

    /// Has secret commands run again that the connection of this generation was given. False when
    /// there are none. A newer connection has newer secrets already.
    pub(super) fn forget_secrets(&self, generation: u64) -> bool {
        if self.look(|now| now.generation) != generation {
            return self.spec().has_secret_commands();
        }
        self.spec().forget_secrets()
    }

    /// Replaces the session of this generation, unless that is done already.
    pub(super) async fn replace_session(&self, generation: u64) -> Result<(), Error> {
        self.tell(|done| Command::ReplaceSession { generation, done })
            .await
    }

    /// Waits until the first attempt is under way, or over.
    pub(crate) async fn begun(&self) {
        let spec = self.spec();
        if !spec.definition.enabled || spec.lazy == Lazy::Yes {
            return;
        }
        let mut snapshot = self.snapshot.clone();
        let begun = snapshot.wait_for(|now| now.closed || now.attempted);
        // A task that has ended begins nothing.
        let _ = begun.await;
    }

    /// Waits until the first attempt is over, however it ended.
    pub(crate) async fn settled(&self) {
        let mut snapshot = self.snapshot.clone();
        // A stop ends an attempt, too.
        let over = |now: &Snapshot| now.closed || (now.attempted && now.state != State::Starting);
        // A task that has ended attempts nothing.
        let _ = snapshot.wait_for(over).await;
    }

    /// Whether this instance was connected, now or at some time.
    pub(crate) fn was_connected(&self) -> bool {
        self.look(|now| self.connected_before(now))
    }

    fn connected_before(&self, now: &Snapshot) -> bool {
        now.generation > self.generation_before
    }

    pub(super) fn generation_before(&self) -> u64 {
        self.generation_before
    }

    /// Waits until the server is in one of these states.
    pub(crate) async fn wait_for(
        &self,
        states: &[State],
        timeout: Duration,
    ) -> Result<State, Error> {
        if !states.contains(&State::Stopped) {
            self.check_enabled()?;
        }
        let mut snapshot = self.snapshot.clone();
        let reached = snapshot.wait_for(|snapshot| states.contains(&snapshot.state));
        match tokio::time::timeout(timeout, reached).await {
            Ok(Ok(snapshot)) => Ok(snapshot.state),
            Ok(Err(_)) => Err(self.closed()),
            Err(_) => {
                let names: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
                let message = format!(
                    "still {} after {} ms, waited for {}",
                    self.standing().0,
                    timeout.as_millis(),
                    names.join(" or ")
                );
                Err(Error::new(ErrorKind::Timeout, message).of_server(&self.name))
            }
        }
    }

    /// Sends a command whose waiter may go away: then the task is told, so that an attempt that
    /// nobody waits for any more ends.
    async fn ask(
        &self,
        command: fn(Waiter) -> Command,
        cancelled: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        self.check_enabled()?;
        let id = self.waiters.fetch_add(1, Ordering::Relaxed);
        let (done, answer) = oneshot::channel();
        self.send(command(Waiter { id, done })).await?;
        let mut guard = Abandon {
            server: self,
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

    async fn tell(&self, command: impl FnOnce(Done) -> Command) -> Result<(), Error> {
        self.check_enabled()?;
        let (done, answer) = oneshot::channel();
        self.send(command(done)).await?;
        self.answered(answer).await?
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

    fn check_enabled(&self) -> Result<(), Error> {
        if self.spec().definition.enabled {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Disabled, "switched off by its configuration");
        Err(error.of_server(&self.name))
    }

    pub(super) fn closed(&self) -> Error {
        let message = match self.is_source_closing() {
            true => "the source was closed",
            false => "a new configuration removed the server, or changed how it is started",
        };
        Error::new(ErrorKind::Closed, message).of_server(&self.name)
    }
}

/// An instance whose task does not run yet: the seat and the catalog come to know it first.
pub(crate) struct Unstarted {
    server: Arc<Server>,
    catalog: Arc<CatalogStore>,
    inbox: mpsc::Receiver<Command>,
    publisher: watch::Sender<Snapshot>,
}

impl Unstarted {
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Starts the instance's task. Nothing is connected yet; a lazy server's tools are known when this returns.
    pub(crate) async fn launch(self, seat: &Arc<Seat>) {
        let spec = self.server.spec();
        if spec.definition.enabled {
            let users = (self.server, Arc::clone(seat), self.catalog);
            let mut task = Task::new(users, self.inbox, self.publisher);
            if spec.lazy == Lazy::Yes {
                task.offer_unstarted().await;
            }
            spec.shared.tasks.spawn(task.run());
        }
    }
}

/// Tells the task that a waiter has gone, when its future is dropped.
struct Abandon<'a> {
    server: &'a Server,
    id: Option<u64>,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // A full queue only means that the attempt runs to its end.
            let _ = self.server.commands.try_send(Command::Abandon(id));
        }
    }
}
