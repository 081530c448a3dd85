//! [`Server`]: how a source sees one of its servers and has it do things.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::activity::InUse;
use super::instance::{Departure, Instance, Unstarted};
use super::lease::{Lease, Tenant};
use super::snapshot::Snapshot;
use super::spec::ServerSpec;
use super::task::{Command, Waiter};
use crate::catalog::CatalogStore;
use crate::config::Lazy;
use crate::error::{Error, ErrorKind};
use crate::event::{State, Status};

/// A source's lease on an instance. Its seat holds it, and its tools hold the seat, so it outlives the source; closed, it
/// only says so.
pub(crate) struct Server {
    name: Arc<str>,
    lease: Arc<Lease>,
    instance: Arc<Instance>,
    /// Cancelled when the source closes, and when another server takes the seat.
    released: CancellationToken,
    catalog: Weak<CatalogStore>,
}

/// An instance for a server: one that serves others already, or one that has to be started.
pub(crate) struct Placed {
    pub(crate) instance: Arc<Instance>,
    pub(crate) unstarted: Option<Unstarted>,
}

/// A server that nobody can call yet: the source comes to know it first.
pub(crate) struct Unlaunched {
    server: Arc<Server>,
    tenant: Arc<Tenant>,
    unstarted: Option<Unstarted>,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Placed {
    /// An instance of the tenant's own.
    pub(crate) fn alone(tenant: &Arc<Tenant>, generation: u64) -> Self {
        let unstarted = Instance::prepare(&tenant.spec(), generation);
        let instance = Arc::clone(unstarted.instance());
        if tenant.spec().definition.enabled {
            instance.join(tenant);
        }
        Self {
            instance,
            unstarted: Some(unstarted),
        }
    }
}

impl Server {
    /// Makes the tenant of an instance a server of its source.
    pub(crate) fn prepare(tenant: Arc<Tenant>, placed: Placed) -> Unlaunched {
        let spec = tenant.spec();
        let server = Arc::new(Self {
            name: Arc::clone(&spec.name),
            lease: Arc::clone(&tenant.lease),
            instance: placed.instance,
            released: spec.shared.closing.child_token(),
            catalog: Arc::downgrade(tenant.catalog()),
        });
        Unlaunched {
            server,
            tenant,
            unstarted: placed.unstarted,
        }
    }

    /// Unique in this process: what is listed for a server counts only while it has its seat.
    pub(crate) fn id(&self) -> u64 {
        self.lease.id()
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn spec(&self) -> Arc<ServerSpec> {
        self.lease.spec()
    }

    /// Has the server go on with these settings, without a new connection.
    pub(crate) async fn adopt(&self, spec: Arc<ServerSpec>) -> Result<(), Error> {
        let here = self.instance.tenants();
        match here.iter().find(|tenant| tenant.lease.id() == self.id()) {
            Some(tenant) => tenant.adopt(Arc::clone(&spec)),
            None => self.lease.adopt(Arc::clone(&spec)),
        }
        self.tell(|done| Command::Adopt(spec, done)).await
    }

    /// Gives the instance up. One that nobody else uses ends beside whoever asks, and this returns when it says that it
    /// is stopped: from then on it changes nothing that can be seen, and another one may take its seat while its process
    /// ends.
    pub(crate) async fn retire(&self) {
        self.released.cancel();
        if !self.spec().definition.enabled {
            return;
        }
        self.instance.leave(self.id(), Departure::Reconfigured);
        if !self.instance.is_ending() {
            return;
        }
        let mut snapshot = self.watch();
        // A task that has ended has said so, too.
        let _ = snapshot
            .wait_for(|now| now.closed && now.state == State::Stopped)
            .await;
    }

    /// Whether the source gave it up.
    pub(super) fn is_released(&self) -> bool {
        self.released.is_cancelled()
    }

    /// Cancelled when the source gives it up.
    pub(super) fn released(&self) -> &CancellationToken {
        &self.released
    }

    /// Whether nothing can be asked of it any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_released() || self.look(|now| now.closed)
    }

    /// Waits until the source closes.
    pub(super) async fn source_closing(&self) {
        let spec = self.spec();
        spec.shared.closing.cancelled().await;
    }

    /// Whether the source closes, and not only this server.
    pub(super) fn is_source_closing(&self) -> bool {
        self.spec().shared.closing.is_cancelled()
    }

    pub(super) fn catalog(&self) -> Option<Arc<CatalogStore>> {
        self.catalog.upgrade()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let now = self.instance.snapshot().borrow().clone();
        match self.has_left() {
            true => now.left(),
            false => now,
        }
    }

    /// Looks at the snapshot of the instance without cloning it.
    pub(super) fn look<T>(&self, at: impl FnOnce(&Snapshot) -> T) -> T {
        at(&self.instance.snapshot().borrow())
    }

    pub(super) fn watch(&self) -> watch::Receiver<Snapshot> {
        self.instance.snapshot().clone()
    }

    /// The state and the status alone, without cloning the rest.
    pub(crate) fn standing(&self) -> (State, Status) {
        match self.has_left() {
            true => (State::Stopped, self.look(|now| now.status)),
            false => self.look(|now| (now.state, now.status)),
        }
    }

    /// Whether the instance goes on for others, without this server.
    fn has_left(&self) -> bool {
        self.is_released() && !self.instance.is_ending()
    }

    /// Waits until the instance goes on for others, without this server.
    async fn left(&self) {
        self.released.cancelled().await;
        if self.instance.is_ending() {
            // What happens to it is seen in its snapshot.
            std::future::pending::<()>().await;
        }
    }

    /// Whether it was closed because it was idle, and waits for its next call.
    pub(crate) fn is_dormant(&self) -> bool {
        self.look(|now| now.dormant)
    }

    /// A call begins. While it runs, the instance is not idle.
    pub(super) fn in_use(&self) -> InUse<'_> {
        self.instance.activity.begin()
    }

    /// Whether this tool is known not to be offered, by the server or by the source's choice of tools.
    pub(super) fn lacks(&self, tool: &str) -> bool {
        self.look(|now| now.lacks(tool)) || !self.lease.allows(tool)
    }

    /// Connects, unless that is done or under way, and waits for the outcome.
    pub(crate) async fn start(&self, cancel: &CancellationToken) -> Result<(), Error> {
        self.ask(Command::Start, cancel).await
    }

    /// Connects to list and disconnects, unless the list is known.
    pub(crate) async fn list_once(&self, cancel: &CancellationToken) -> Result<(), Error> {
        self.ask(Command::ListOnce, cancel).await
    }

    /// Disconnects and connects again.
    pub(crate) async fn restart(&self, cancel: &CancellationToken) -> Result<(), Error> {
        self.ask(Command::Restart, cancel).await
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
        self.while_leased(self.instance.stop()).await
    }

    /// Fetches the list again and publishes what changed.
    pub(crate) async fn refresh(&self) -> Result<(), Error> {
        self.tell(Command::Refresh).await
    }

    /// Has secret commands run again that the connection of this generation was given. False when
    /// there are none. A newer connection has newer secrets already.
    pub(super) fn forget_secrets(&self, generation: u64) -> bool {
        let serving = self.instance.serving();
        if self.look(|now| now.generation) != generation {
            return serving.has_secret_commands();
        }
        serving.forget_secrets()
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
        self.reached(|now| now.closed || now.attempted).await;
    }

    /// Waits until the first attempt is over, however it ended.
    pub(crate) async fn settled(&self) {
        // A stop ends an attempt, too.
        self.reached(|now| now.closed || (now.attempted && now.state != State::Starting))
            .await;
    }

    /// Waits until the snapshot is as wanted, or nothing will come of it.
    async fn reached(&self, wanted: impl FnMut(&Snapshot) -> bool) {
        let mut snapshot = self.watch();
        tokio::select! {
            biased;
            // A task that has ended attempts nothing.
            _ = snapshot.wait_for(wanted) => {}
            () = self.released.cancelled() => {}
        }
    }

    /// Whether this instance was connected, now or at some time.
    pub(crate) fn was_connected(&self) -> bool {
        self.look(|now| now.generation > self.instance.generation_before())
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
        let mut snapshot = self.watch();
        let reached = async {
            tokio::select! {
                biased;
                reached = snapshot.wait_for(|now| states.contains(&now.state)) => {
                    reached.ok().map(|now| now.state)
                }
                () = self.left() => None,
            }
        };
        match tokio::time::timeout(timeout, reached).await {
            Ok(Some(state)) => Ok(state),
            Ok(None) => Err(self.closed()),
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

    async fn ask(
        &self,
        command: fn(Waiter) -> Command,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        self.check_enabled()?;
        self.while_leased(self.instance.ask(command, cancel.cancelled()))
            .await
    }

    async fn tell(&self, command: impl FnOnce(super::task::Done) -> Command) -> Result<(), Error> {
        self.check_enabled()?;
        self.while_leased(self.instance.tell(command)).await
    }

    /// Waits for the instance as long as this source uses it.
    async fn while_leased(
        &self,
        work: impl Future<Output = Result<(), Error>>,
    ) -> Result<(), Error> {
        tokio::select! {
            biased;
            result = work => result,
            () = self.released.cancelled() => Err(self.closed()),
        }
    }

    fn check_enabled(&self) -> Result<(), Error> {
        if self.spec().definition.enabled {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Disabled, "switched off by its configuration");
        Err(error.of_server(&self.name))
    }

    fn closed(&self) -> Error {
        let why = match self.is_source_closing() {
            true => Departure::SourceClosed,
            false => Departure::Reconfigured,
        };
        why.error(&self.name)
    }
}

impl Unlaunched {
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Begins the server. Nothing is connected by that; tools that are known are in the catalog when this returns.
    pub(crate) async fn launch(self) {
        let Self {
            server,
            tenant,
            unstarted,
        } = self;
        let spec = server.spec();
        if !spec.definition.enabled {
            return;
        }
        // Before anything runs: it is this that ends what runs, when the source closes.
        spec.shared.tasks.spawn(keep(Arc::clone(&server)));
        match unstarted {
            Some(unstarted) => unstarted.launch().await,
            // Whether it has ended meanwhile is seen by whoever uses it.
            None => drop(server.tell(|done| Command::Welcome(tenant, done)).await),
        }
    }
}

/// Gives the instance up when its source closes or releases the server, and waits for the end of one that nobody else
/// uses.
async fn keep(server: Arc<Server>) {
    server.released.cancelled().await;
    let why = match server.is_source_closing() {
        true => Departure::SourceClosed,
        false => Departure::Reconfigured,
    };
    let Server { instance, .. } = &*server;
    instance.leave(server.id(), why);
    if instance.is_ending() {
        instance.ended(&server.spec().shared.overdue).await;
    }
}
