//! What a server's task works from.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_resident_process::Engine;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::spill::Spill;
use super::startup_gates::StartupGates;
use crate::catalog::ListingCache;
use crate::config::{
    Environment, EnvironmentProvider, ExpandMode, Lazy, Limits, SecretCommands, ServerDefinition,
    fingerprint,
};
use crate::error::{Error, ErrorKind};
use crate::event::EventLog;
use crate::protocol::{ClientIdentity, WaitFor};
use crate::transport::http::HttpClient;

/// What all servers of a source share.
pub(crate) struct Shared {
    pub(crate) events: EventLog,
    pub(crate) runtime: RuntimeCell,
    pub(crate) environment: Arc<dyn EnvironmentProvider>,
    pub(crate) client: ClientIdentity,
    pub(crate) wait_for: Option<Arc<dyn WaitFor>>,
    pub(crate) base_dir: PathBuf,
    pub(crate) expand: Option<ExpandMode>,
    pub(crate) default_inherit_env: Option<Vec<String>>,
    pub(crate) resident: bool,
    pub(crate) secret_commands: Option<SecretCommands>,
    pub(crate) cache: Option<ListingCache>,
    /// Where results are saved that are too large, or no text.
    pub(crate) spill: Option<Arc<Spill>>,
    pub(crate) guardian: bool,
    pub(crate) replay_repeatable_calls: bool,
    pub(crate) validate_arguments: bool,
    /// Whether a call makes a lost connection anew, and not only a lazy server's.
    pub(crate) calls_reconnect: bool,
    /// Where connects to one address wait for each other.
    pub(crate) startup_gates: Option<StartupGates>,
    /// Cancelled by close: ends attempts and waits at once.
    pub(crate) closing: CancellationToken,
    /// Cancelled when a close takes too long: what is left is let go, and so killed.
    pub(crate) overdue: CancellationToken,
    /// Everything that runs for the source; a close waits for it.
    pub(crate) tasks: TaskTracker,
    pub(crate) engine: EngineCell,
    pub(crate) http: HttpCell,
}

impl Shared {
    /// Runs something for the source on the runtime that it was loaded on, whoever asks for it, and counts it among what a
    /// close waits for. Nothing runs any more once the source is closed.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        let runtime = self.runtime.get()?;
        Some(self.tasks.spawn_on(work, &runtime))
    }

    /// Lets go of what has threads, sockets or tasks of its own, once no task of the source is left.
    pub(crate) fn release(&self) {
        self.engine.release();
        self.http.release();
        self.events.end();
        self.runtime.release();
    }
}

/// What the source was loaded on, until it is closed: a handle keeps the descriptors of its runtime open.
pub(crate) struct RuntimeCell(Mutex<Option<Handle>>);

impl RuntimeCell {
    /// The runtime that this is called on.
    pub(crate) fn current() -> Self {
        Self(Mutex::new(Some(Handle::current())))
    }

    /// None once the source is closed.
    pub(crate) fn get(&self) -> Option<Handle> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("base_dir", &self.base_dir)
            .finish_non_exhaustive()
    }
}

/// The process engine, started when the first process is, and let go at close.
#[derive(Default)]
pub(crate) struct EngineCell(Mutex<Option<Arc<Engine>>>);

impl EngineCell {
    pub(crate) fn get(&self) -> Result<Arc<Engine>, Error> {
        let mut engine = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = &*engine {
            return Ok(Arc::clone(engine));
        }
        let started = Engine::shared().map_err(|error| {
            Error::new(
                ErrorKind::Spawn,
                format!("cannot prepare to start processes: {error}"),
            )
        })?;
        Ok(Arc::clone(engine.insert(started)))
    }

    pub(crate) fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// One server of a source.
#[derive(Debug)]
pub(crate) struct ServerSpec {
    pub(crate) name: Arc<str>,
    pub(crate) definition: ServerDefinition,
    pub(crate) limits: Limits,
    pub(crate) lazy: Lazy,
    /// Whether the definition's choice of tools counts.
    pub(crate) filtered: bool,
    /// Whether a lost server is started again by itself.
    pub(crate) auto_restart: bool,
    /// Whether a changed list is followed.
    pub(crate) live_tool_list: bool,
    /// The name of its listing in the cache.
    pub(crate) listing_key: String,
    pub(crate) shared: Arc<Shared>,
}

impl ServerSpec {
    /// Whether a connection of `other` can serve for this: it is started in the same way.
    pub(crate) fn starts_as(&self, other: &Self) -> bool {
        let started = |spec: &Self| {
            let definition = &spec.definition;
            (
                definition.enabled,
                definition.protocol,
                definition.base_dir.clone(),
                fingerprint(definition),
            )
        };
        started(self) == started(other)
    }

    /// Whether nothing else differs that a server looks at while it serves.
    pub(crate) fn serves_as(&self, other: &Self) -> bool {
        self.limits == other.limits
            && self.lazy == other.lazy
            && self.auto_restart == other.auto_restart
            && self.live_tool_list == other.live_tool_list
            && self.definition.tools == other.definition.tools
            && self.definition.exposure == other.definition.exposure
            && self.definition.tool_exposure == other.definition.tool_exposure
    }

    /// Has the secret commands of this server run again at its next connect. False when it has none.
    pub(crate) fn forget_secrets(&self) -> bool {
        if let Some(secrets) = &self.shared.secret_commands {
            secrets.forget_those_of(&self.definition);
        }
        self.has_secret_commands()
    }

    pub(crate) fn has_secret_commands(&self) -> bool {
        self.shared.secret_commands.is_some() && self.definition.secret_commands().next().is_some()
    }
}

/// The pooled clients of the remote servers, one for each connect timeout: a client has only one, and
/// each reads the system's certificates. Made when they are first needed.
#[derive(Default)]
pub(crate) struct HttpCell(Mutex<HashMap<Duration, HttpClient>>);

impl HttpCell {
    pub(crate) fn get(
        &self,
        limits: &Limits,
        environment: &dyn EnvironmentProvider,
    ) -> Result<HttpClient, Error> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&limits.connect) {
            return Ok(client.clone());
        }
        let made = HttpClient::new(&Environment::read(environment), limits.connect)
            .map_err(|error| Error::new(ErrorKind::Connect, error.to_string()))?;
        Ok(clients.entry(limits.connect).or_insert(made).clone())
    }

    /// Ends what reads in the background and lets go of the idle sockets.
    pub(crate) fn release(&self) {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, client) in clients.drain() {
            client.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HostEnvironment;

    #[tokio::test]
    async fn each_connect_timeout_has_a_client_of_its_own() {
        let cell = HttpCell::default();
        let [short, long] = [1, 2].map(|seconds| Limits {
            connect: Duration::from_secs(seconds),
            ..Limits::default()
        });
        for limits in [&short, &long, &short] {
            cell.get(limits, &HostEnvironment).unwrap();
        }
        let timeouts = |cell: &HttpCell| {
            let clients = cell.0.lock().unwrap();
            let mut timeouts: Vec<Duration> = clients.keys().copied().collect();
            timeouts.sort();
            timeouts
        };
        assert_eq!(timeouts(&cell), [short.connect, long.connect]);
        cell.release();
        assert!(timeouts(&cell).is_empty());
    }
}
