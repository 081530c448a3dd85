//! What instances run with: the process engine, the HTTP clients, and who may start when.
//!
//! A source has its own; sources that share instances have them together. What has threads or sockets is made when it is
//! first needed, and let go when the last source has closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_resident_process::Engine;

use super::process_budget::ProcessBudget;
use super::startup_gates::StartupGates;
use crate::config::{Environment, EnvironmentProvider, Limits};
use crate::error::{Error, ErrorKind};
use crate::transport::http::HttpClient;

/// What the instances of one source, or of several, run with.
#[derive(Default)]
pub(crate) struct Facilities {
    pub(crate) engine: EngineCell,
    pub(crate) http: HttpCell,
    /// Where connects to one address wait for each other.
    pub(crate) startup_gates: Option<StartupGates>,
    /// How many processes may run.
    pub(crate) processes: Arc<ProcessBudget>,
    /// Sources that are not closed.
    sources: AtomicUsize,
}

impl Facilities {
    /// With `serialized`, startups at one address wait for each other.
    pub(crate) fn new(serialized: bool) -> Arc<Self> {
        Arc::new(Self {
            startup_gates: serialized.then(StartupGates::default),
            ..Self::default()
        })
    }

    /// A source begins to use them.
    pub(crate) fn enter(self: &Arc<Self>) -> Arc<Self> {
        self.sources.fetch_add(1, Ordering::AcqRel);
        Arc::clone(self)
    }

    /// A source has closed, and no instance of its own is left.
    pub(crate) fn leave(&self) {
        if self.sources.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.engine.release();
            self.http.release();
        }
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
