//! Sources as a host holds them: the core's, with operations in place of futures.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::Future;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_resident::config::ConfigProblem;
use mcp_resident::{
    CancellationToken, Error, Event, EventKind, McpSource, ServerInfo, State, Status, Subscription,
    list_mcp_tools, load_mcp,
};

use crate::configuration::Configuration;
use crate::environment::SharedEnvironment;
use crate::io_thread::{self, Lease, Tenant, lock};
use crate::operation::{OperationId, Outcome, start, start_last};
use crate::queue::{Queue, SubscriptionId, next_id};
use crate::request::LoadRequest;
use crate::tool::{Tool, ToolShelf};

/// How often a close lets observers run before its outcome is delivered.
const MAX_CLOSING_TURNS: usize = 1_000;

/// Which events an observer is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// All of them.
    Everything,
    /// Changes of a server's state.
    States,
    /// Changes of a server's part of the tool list.
    Tools,
}

/// The servers of a configuration.
///
/// Operations report to the queue that they are given. Dropping a source that was not closed closes it in the
/// background.
pub struct Source {
    tenant: Arc<Tenant>,
    environment: Arc<SharedEnvironment>,
    tools: Mutex<ToolShelf>,
    observers: Mutex<HashMap<SubscriptionId, Observer>>,
}

/// One observer, and how far it has come.
struct Observer {
    _subscription: Subscription,
    /// The sequence of the newest event that it was told of.
    reached: Arc<AtomicU64>,
}

/// Loads a configuration. The outcome is [`Outcome::Loaded`].
///
/// # Errors
/// [`Forked`](mcp_resident::ErrorKind::Forked) after a fork.
pub fn load(queue: &Arc<Queue>, request: LoadRequest) -> Result<OperationId, Error> {
    start_load(queue, |operation, lease, cancel, queue| async move {
        let (config, options, environment) = request.prepare(&queue, operation, &lease, cancel);
        let loaded = load_mcp(config, options).await;
        Outcome::Loaded(loaded.map(|source| Source::new(Arc::new(source), environment, lease)))
    })
}

/// Lists what the servers of a configuration offer, and keeps nothing. The outcome is [`Outcome::Listed`].
///
/// # Errors
/// [`Forked`](mcp_resident::ErrorKind::Forked) after a fork.
pub fn inventory(queue: &Arc<Queue>, request: LoadRequest) -> Result<OperationId, Error> {
    start_load(queue, |operation, lease, cancel, queue| async move {
        let (config, options, _) = request.prepare(&queue, operation, &lease, cancel);
        Outcome::Listed(list_mcp_tools(config, options).await)
    })
}

/// Starts what takes a configuration; it ends with the process at the latest.
pub(crate) fn start_load<F>(
    queue: &Arc<Queue>,
    work: impl FnOnce(OperationId, Lease, CancellationToken, Arc<Queue>) -> F,
) -> Result<OperationId, Error>
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let lease = io_thread::lease()?;
    let cancel = lease.cancellation();
    let reply_to = Arc::clone(queue);
    Ok(start(queue, lease, cancel.clone(), |operation, lease| {
        work(operation, lease, cancel, reply_to)
    }))
}

impl Source {
    pub(crate) fn new(
        source: Arc<McpSource>,
        environment: Arc<SharedEnvironment>,
        lease: Lease,
    ) -> Arc<Self> {
        Arc::new(Self {
            tenant: Tenant::new(source, lease),
            environment,
            tools: Mutex::default(),
            observers: Mutex::default(),
        })
    }

    /// All tools as they are now, in order. A tool that did not change is the same object as before.
    pub fn tools(self: &Arc<Self>) -> Arc<[Arc<Tool>]> {
        lock(&self.tools).tools(self, &self.tenant.source.catalog())
    }

    /// A number that changes whenever the list of tools does, for hosts that keep their own list until then.
    pub fn tools_version(&self) -> u64 {
        self.tenant.source.catalog().version()
    }

    /// The tool that a model knows by this name.
    pub fn tool(self: &Arc<Self>, name: &str) -> Option<Arc<Tool>> {
        lock(&self.tools).tool(self, &self.tenant.source.catalog(), name)
    }

    /// The server, and the tool's own name on it, behind a name for models.
    pub fn owner_of(&self, name: &str) -> Option<(String, String)> {
        self.tenant.source.owner_of(name)
    }

    /// The name for models of a server's tool.
    pub fn name_of(&self, server: &str, tool: &str) -> Option<String> {
        self.tenant.source.name_of(server, tool)
    }

    /// The names of all servers, in the order of the configuration.
    pub fn servers(&self) -> Vec<String> {
        self.tenant.source.servers()
    }

    /// How the newest attempt of each server ended.
    pub fn status(&self) -> BTreeMap<String, Status> {
        self.tenant.source.status()
    }

    /// A server's state.
    pub fn state(&self, server: &str) -> Result<State, Error> {
        self.tenant.source.state(server)
    }

    /// What is known of a server.
    pub fn info(&self, server: &str) -> Result<ServerInfo, Error> {
        self.tenant.source.info(server)
    }

    /// What is wrong in the configuration.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        self.tenant.source.problems()
    }

    /// The newest events after `sequence`, oldest first; 0 gives all that are kept.
    pub fn events(&self, sequence: u64) -> Vec<Event> {
        self.tenant.source.events(sequence)
    }

    /// Replaces the variables that servers started from now on see, in a source that was loaded with `environment`.
    pub fn set_environment(&self, variables: impl IntoIterator<Item = (String, String)>) {
        self.environment.replace(variables);
    }

    /// Connects a server. [`Outcome::Done`].
    pub fn start(&self, queue: &Arc<Queue>, server: &str) -> Result<OperationId, Error> {
        self.lifecycle(queue, server, |tenant, server, token| async move {
            tenant.source.start(&server, Some(&token)).await
        })
    }

    /// Disconnects a server. [`Outcome::Done`].
    pub fn stop(&self, queue: &Arc<Queue>, server: &str) -> Result<OperationId, Error> {
        self.lifecycle(queue, server, |tenant, server, _| async move {
            tenant.source.stop(&server).await
        })
    }

    /// Disconnects a server and connects it again. [`Outcome::Done`].
    pub fn restart(&self, queue: &Arc<Queue>, server: &str) -> Result<OperationId, Error> {
        self.lifecycle(queue, server, |tenant, server, token| async move {
            tenant.source.restart(&server, Some(&token)).await
        })
    }

    /// Lists a server's tools again, or those of all that are connected. [`Outcome::Done`].
    pub fn refresh(&self, queue: &Arc<Queue>, server: Option<&str>) -> Result<OperationId, Error> {
        let server = server.map(str::to_owned);
        self.operation(queue, move |tenant, token| async move {
            Outcome::Done(unless_cancelled(&token, tenant.source.refresh(server.as_deref())).await)
        })
    }

    /// Takes a new configuration in the place of the one that is there, or reads its file again. [`Outcome::Reloaded`].
    pub fn reload(
        &self,
        queue: &Arc<Queue>,
        config: Option<Configuration>,
    ) -> Result<OperationId, Error> {
        self.operation(queue, move |tenant, token| async move {
            let config = config.map(Configuration::into_input);
            Outcome::Reloaded(tenant.source.reload(config, Some(&token)).await)
        })
    }

    /// Waits until a server is in one of `states`. [`Outcome::Reached`].
    pub fn wait_for(
        &self,
        queue: &Arc<Queue>,
        server: &str,
        states: &[State],
        timeout: Duration,
    ) -> Result<OperationId, Error> {
        let (server, states) = (server.to_owned(), states.to_vec());
        self.operation(queue, move |tenant, token| async move {
            let reached = tenant.source.wait_for(&server, &states, timeout);
            Outcome::Reached(unless_cancelled(&token, reached).await)
        })
    }

    /// Disconnects every server and waits until nothing of them is left. [`Outcome::Done`], which for the last source
    /// of a process arrives when the I/O thread has ended too. Closing again is harmless.
    pub fn close(&self, queue: &Arc<Queue>) -> Result<OperationId, Error> {
        let lease = self.lease()?;
        // The operation's own lease is the last one, if nobody else has any.
        self.tenant.move_out();
        let tenant = Arc::clone(&self.tenant);
        let observers = mem::take(&mut *lock(&self.observers));
        Ok(start_last(queue, lease, async move {
            tenant.source.close().await;
            let last = tenant
                .source
                .events(0)
                .last()
                .map_or(0, |event| event.sequence);
            caught_up(&observers, last).await;
            Outcome::Done(Ok(()))
        }))
    }

    /// Tells `queue` of events from now on, until [`unsubscribe`](Self::unsubscribe) or the close.
    pub fn subscribe(
        &self,
        queue: &Arc<Queue>,
        interest: Interest,
    ) -> Result<SubscriptionId, Error> {
        let id = next_id();
        let lease = self.lease()?;
        let (queue, thread) = (Arc::clone(queue), Arc::downgrade(&lease));
        let reached = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&reached);
        let subscription = self.tenant.source.on_event(move |event| {
            seen.store(event.sequence, Ordering::Relaxed);
            if interest.includes(event)
                && let Some(thread) = thread.upgrade()
            {
                queue.event(&thread, id, event.clone());
            }
        });
        let observer = Observer {
            _subscription: subscription,
            reached,
        };
        lock(&self.observers).insert(id, observer);
        Ok(id)
    }

    /// Ends a subscription. What was delivered before may still wait in the queue.
    pub fn unsubscribe(&self, subscription: SubscriptionId) {
        lock(&self.observers).remove(&subscription);
    }

    /// The host's tool for one of the core's, the same as before where there was one.
    pub(crate) fn shelved(self: &Arc<Self>, tools: &[Arc<mcp_resident::Tool>]) -> Vec<Arc<Tool>> {
        let catalog = self.tenant.source.catalog();
        let mut shelf = lock(&self.tools);
        tools
            .iter()
            .map(|tool| shelf.hold(self, &catalog, tool))
            .collect()
    }

    pub(crate) fn lease(&self) -> Result<Lease, Error> {
        self.tenant.lease()
    }

    fn lifecycle<F>(
        &self,
        queue: &Arc<Queue>,
        server: &str,
        work: impl FnOnce(Arc<Tenant>, String, CancellationToken) -> F + Send + 'static,
    ) -> Result<OperationId, Error>
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let server = server.to_owned();
        self.operation(queue, move |tenant, token| {
            let work = work(tenant, server, token);
            async move { Outcome::Done(work.await) }
        })
    }

    pub(crate) fn operation<F>(
        &self,
        queue: &Arc<Queue>,
        work: impl FnOnce(Arc<Tenant>, CancellationToken) -> F + Send + 'static,
    ) -> Result<OperationId, Error>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let lease = self.lease()?;
        let token = CancellationToken::new();
        let work = work(Arc::clone(&self.tenant), token.clone());
        Ok(start(queue, lease, token, move |_, _| work))
    }
}

impl Interest {
    fn includes(self, event: &Event) -> bool {
        match self {
            Self::Everything => true,
            Self::States => matches!(event.kind, EventKind::State { .. }),
            Self::Tools => matches!(event.kind, EventKind::ToolsChanged { .. }),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let Some(lease) = self.tenant.move_out() else {
            return;
        };
        let tenant = Arc::clone(&self.tenant);
        if io_thread::refuse_forked().is_err() {
            // Everything of it belongs to the parent. Its own drop would ask a thread that is not here.
            mem::forget((tenant, lease));
            return;
        }
        let runtime = lease.runtime().clone();
        runtime.spawn(async move {
            tenant.source.close().await;
            drop::<Lease>(lease);
        });
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tenant.source.fmt(formatter)
    }
}

/// Lets observers come to the last event of a close. They run on the same thread, so they need turns and not time; one
/// that was subscribed after the last event gets none, which is why the turns are bounded.
async fn caught_up(observers: &HashMap<SubscriptionId, Observer>, last: u64) {
    for _ in 0..MAX_CLOSING_TURNS {
        let behind = |observer: &Observer| observer.reached.load(Ordering::Relaxed) < last;
        if !observers.values().any(behind) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Operations that the core has no token for end by being dropped.
async fn unless_cancelled<T>(
    token: &CancellationToken,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::select! {
        done = work => done,
        () = token.cancelled() => Err(cancelled()),
    }
}

pub(crate) fn cancelled() -> Error {
    Error::new(mcp_resident::ErrorKind::Cancelled, "the caller cancelled")
}
