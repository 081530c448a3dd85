//! `load_mcp`: every server of a configuration behind one list of tools (SPEC section 2).

mod for_session;
mod inventory;
mod load;
mod options;
pub(crate) mod options_form;
mod policy;
mod roster;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use self::roster::Roster;
use crate::catalog::Catalog;
use crate::config::{ConfigInput, ConfigProblem, Limits};
use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventKind, FileLog, State, Status, Subscription, observe};
use crate::server::{Server, Shared};
use crate::tool::Tool;

pub use inventory::{InventoryEntry, InventoryTool, list_mcp_tools};
pub use load::load_mcp;
pub(crate) use options::Purpose;
pub use options::{LoadOptions, Wait};
pub use roster::Reloaded;

/// The servers of a configuration, kept usable until [`close`](McpSource::close).
///
/// Dropping a source without closing it ends its servers in the background; `close` waits until
/// nothing of them is left.
pub struct McpSource {
    roster: Arc<Roster>,
    /// The file that it was loaded from, which a reload reads again.
    file: Option<PathBuf>,
    wait: Wait,
}

/// How one side of a connection introduces itself to the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Implementation {
    /// What it calls itself.
    pub name: String,
    /// Its version, in words of its own.
    pub version: String,
}

/// What is known of one server, for people and for logs. Its JSON form has the fields' names in
/// camelCase; what is not known is left out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerInfo {
    /// The server's name in the configuration.
    pub server: String,
    /// Its state.
    pub state: State,
    /// How its newest attempt ended.
    pub status: Status,
    /// The number of its newest connection; 0 before there was one.
    pub generation: u64,
    /// How often it was connected again by itself.
    pub restarts: u32,
    /// The id of its process, while it runs as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// How it introduced itself, while it is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introduced_as: Option<Implementation>,
    /// The revision of the protocol that both sides agreed on, while it is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Why its newest attempt failed, or why it was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Error>,
}

impl McpSource {
    /// The tools of all servers, as they are now. A list once taken never changes.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.roster.catalog.catalog().tools().to_vec()
    }

    /// The same list with its version, shared instead of copied.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.roster.catalog.catalog()
    }

    /// The tool that a model knows by this name.
    pub fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        self.roster.catalog.catalog().tool(name).cloned()
    }

    /// The server, and the tool's own name on it, behind a name for models. Remembers names of tools
    /// that are gone.
    pub fn owner_of(&self, name: &str) -> Option<(String, String)> {
        self.roster.catalog.owner(name)
    }

    /// The name for models of a server's tool.
    pub fn name_of(&self, server: &str, tool: &str) -> Option<String> {
        self.roster.catalog.name(server, tool)
    }

    /// How the newest attempt of each server ended.
    pub fn status(&self) -> BTreeMap<String, Status> {
        let seating = self.roster.seating();
        let entries = seating.entries.iter();
        entries
            .map(|entry| (entry.name.to_string(), entry.status()))
            .collect()
    }

    /// The names of all servers, in the order of the configuration.
    pub fn servers(&self) -> Vec<String> {
        let seating = self.roster.seating();
        let entries = seating.entries.iter();
        entries.map(|entry| entry.name.to_string()).collect()
    }

    /// A server's state.
    pub fn state(&self, server: &str) -> Result<State, Error> {
        Ok(match self.roster.seating().entry(server)?.server() {
            Ok(server) => server.standing().0,
            Err(_) => State::Error,
        })
    }

    /// What is known of a server.
    pub fn info(&self, server: &str) -> Result<ServerInfo, Error> {
        let seating = self.roster.seating();
        let entry = seating.entry(server)?;
        let name = entry.name.to_string();
        Ok(match entry.server() {
            Ok(server) => {
                let snapshot = server.snapshot();
                let identity = snapshot.connection.as_ref().map(|c| c.identity().clone());
                ServerInfo {
                    server: name,
                    state: snapshot.state,
                    status: snapshot.status,
                    generation: snapshot.generation,
                    restarts: snapshot.restarts,
                    process_id: snapshot.connection.as_ref().and_then(|c| c.process_id()),
                    protocol_version: identity.map(|i| i.protocol_version),
                    introduced_as: snapshot.connection.as_ref().map(|c| Implementation {
                        name: c.mask(&c.identity().name),
                        version: c.mask(&c.identity().version),
                    }),
                    last_error: snapshot.last_error,
                }
            }
            Err(problem) => ServerInfo {
                server: name,
                state: State::Error,
                status: Status::Failed,
                generation: 0,
                restarts: 0,
                process_id: None,
                introduced_as: None,
                protocol_version: None,
                last_error: Some(config_error(problem)),
            },
        })
    }

    /// What is wrong in the configuration, entries that cannot be used included.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        self.roster.seating().problems.clone()
    }

    /// Takes a new configuration in the place of the one that is there; without one, reads the file again that the
    /// source was loaded from.
    ///
    /// A server that is started in the same way keeps its connection, whatever else changed of it; one that is not, or
    /// is new, is connected, and this waits for that as the load did. What is gone ends in the background. Tools that the
    /// host holds go on with the instance that serves now (SPEC 2.22). An entry that cannot be used leaves the server
    /// of its name as it was, and is in [`problems`](Self::problems).
    ///
    /// `cancel` ends the wait; the attempts go on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`], and then nothing has changed; [`ErrorKind::Cancelled`] and [`ErrorKind::Closed`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use mcp_resident::{LoadOptions, load_mcp};
    /// use serde_json::json;
    ///
    /// let one = json!({"mcpServers": {"a": {"url": "http://127.0.0.1:1/mcp", "enabled": false}}});
    /// let source = load_mcp(one, LoadOptions::default()).await?;
    /// let other = json!({"mcpServers": {"b": {"url": "http://127.0.0.1:1/mcp", "enabled": false}}});
    /// let changes = source.reload(Some(other.into()), None).await?;
    /// assert_eq!((changes.added, changes.removed), (vec!["b".to_owned()], vec!["a".to_owned()]));
    /// source.close().await;
    /// # Ok::<(), mcp_resident::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn reload(
        &self,
        config: Option<ConfigInput>,
        cancel: Option<&CancellationToken>,
    ) -> Result<Reloaded, Error> {
        let config = config.or_else(|| self.file.clone().map(ConfigInput::File));
        let config = config.ok_or_else(|| {
            let message = "the source was not loaded from a file: give the new configuration";
            Error::new(ErrorKind::Config, message)
        })?;
        let reconfigured = self.roster.reconfigure(load::read(config)?).await?;
        tokio::select! {
            biased;
            () = token(cancel).cancelled_owned() => Err(load::cancelled()),
            () = load::settle(&self.roster.shared, reconfigured.fresh, self.wait) => Ok(reconfigured.changes),
        }
    }

    /// Connects a server, unless that is done or under way, and waits for the outcome.
    ///
    /// `cancel` ends the wait; an attempt that nobody else waits for ends with it.
    pub async fn start(
        &self,
        server: &str,
        cancel: Option<&CancellationToken>,
    ) -> Result<(), Error> {
        self.server(server)?.start(&token(cancel)).await
    }

    /// Disconnects a server and waits until nothing of it is left. It stays stopped until it is
    /// started again, or, when it is lazy, called; its tools stay listed.
    pub async fn stop(&self, server: &str) -> Result<(), Error> {
        self.server(server)?.stop().await
    }

    /// Disconnects a server and connects it again. Calls that run fail at once.
    ///
    /// `cancel` ends the wait; an attempt that nobody else waits for ends with it and leaves no
    /// process.
    pub async fn restart(
        &self,
        server: &str,
        cancel: Option<&CancellationToken>,
    ) -> Result<(), Error> {
        self.server(server)?.restart(&token(cancel)).await
    }

    /// Lists a server's tools again, or those of all that are connected, and publishes what changed.
    /// Safe while calls run. A list that cannot be fetched leaves the last good one in place.
    pub async fn refresh(&self, server: Option<&str>) -> Result<(), Error> {
        match server {
            Some(server) => self.server(server)?.refresh().await,
            None => {
                let seating = self.roster.seating();
                let servers = seating.servers();
                let running = servers.filter(|server| server.standing().0 == State::Running);
                let results = join_all(running.map(|server| server.refresh())).await;
                results.into_iter().collect()
            }
        }
    }

    /// Waits until a server is in one of `states`, for at most `timeout`.
    pub async fn wait_for(
        &self,
        server: &str,
        states: &[State],
        timeout: Duration,
    ) -> Result<State, Error> {
        self.server(server)?.wait_for(states, timeout).await
    }

    /// Calls `observer` at each change of a server's state, in order, on a task of its own.
    pub fn on_state_change(&self, observer: impl Fn(&str, State) + Send + 'static) -> Subscription {
        self.on_event(move |event| {
            if let EventKind::State { to, .. } = event.kind {
                observer(&event.server, to);
            }
        })
    }

    /// Calls `observer` with the server's name when its part of the list changed, on a task of its
    /// own.
    pub fn on_tools_change(&self, observer: impl Fn(&str) + Send + 'static) -> Subscription {
        self.on_event(move |event| {
            if let EventKind::ToolsChanged { .. } = event.kind {
                observer(&event.server);
            }
        })
    }

    /// Calls `observer` at each event, in order, on a task of its own.
    pub fn on_event(&self, observer: impl Fn(&Event) + Send + 'static) -> Subscription {
        let shared = &self.roster.shared;
        let runtime = shared.runtime.get();
        observe(runtime.as_ref(), &shared.events, move |event: Event| {
            observer(&event);
        })
    }

    /// The newest events after `sequence`, oldest first; 0 gives all that are kept.
    pub fn events(&self, sequence: u64) -> Vec<Event> {
        self.roster.shared.events.after(sequence)
    }

    /// The limits that hold for servers without limits of their own.
    pub fn limits(&self) -> &Limits {
        &self.roster.policy.limits
    }

    /// Disconnects every server and waits until no process, task or connection of theirs is left,
    /// all at once and within the limit of a whole close. Calling it again is harmless.
    pub async fn close(&self) {
        self.close_within(self.roster.policy.limits.close_total)
            .await;
    }

    /// Closes in an orderly way for so long, and then without any grace.
    async fn close_within(&self, limit: Duration) {
        let shared = &self.roster.shared;
        shared.closing.cancel();
        shared.tasks.close();
        if tokio::time::timeout(limit, shared.tasks.wait())
            .await
            .is_err()
        {
            shared.overdue.cancel();
            shared.tasks.wait().await;
        }
        release(shared).await;
    }

    fn server(&self, name: &str) -> Result<Arc<Server>, Error> {
        let seating = self.roster.seating();
        let server = seating.entry(name)?.server();
        server.cloned().map_err(config_error)
    }
}

impl Drop for McpSource {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.roster.shared);
        let Some(runtime) = shared.runtime.get() else {
            return;
        };
        shared.closing.cancel();
        shared.tasks.close();
        // Tools that the host keeps hold what is shared; what has a thread or a task is let go anyway.
        runtime.spawn(async move {
            shared.tasks.wait().await;
            release(&shared).await;
        });
    }
}

impl fmt::Debug for McpSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpSource")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// Lets go of everything that is left of a source once no task of it is.
async fn release(shared: &Arc<Shared>) {
    let (spill, log) = (shared.spill.clone(), shared.events.file().cloned());
    if spill.is_some() || log.is_some() {
        let files = move || {
            spill.inspect(|spill| spill.remove());
            log.inspect(FileLog::finish);
        };
        // A runtime that ends has nobody who waits for it.
        let _ = tokio::task::spawn_blocking(files).await;
    }
    shared.release();
}

fn config_error(problem: &ConfigProblem) -> Error {
    Error::new(ErrorKind::Config, problem.to_string())
}

fn token(cancel: Option<&CancellationToken>) -> CancellationToken {
    cancel.cloned().unwrap_or_default()
}
