//! What a server's task works from.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::facilities::Facilities;
use super::spill::Spill;
use crate::catalog::ListingCache;
use crate::config::{
    EnvironmentProvider, ExpandMode, Lazy, Limits, SecretCommands, ServerDefinition, fingerprint,
};
use crate::event::EventLog;
use crate::protocol::{ClientIdentity, WaitFor};

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
    /// Cancelled by close: ends attempts and waits at once.
    pub(crate) closing: CancellationToken,
    /// Cancelled when a close takes too long: what is left is let go, and so killed.
    pub(crate) overdue: CancellationToken,
    /// What runs for the source itself, and what waits for its instances to end; a close waits for it.
    pub(crate) tasks: TaskTracker,
    /// What its instances run with, which may be more than its own.
    pub(crate) facilities: Arc<Facilities>,
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
        self.facilities.leave();
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
