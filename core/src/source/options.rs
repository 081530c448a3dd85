//! What a host chooses when it loads a configuration.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Implementation;
use crate::config::{
    AutoRestart, CommandRunner, EnvironmentProvider, ExpandMode, HostEnvironment, LimitOverrides,
};
use crate::protocol::WaitFor;

/// For how many servers a load waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// For all of them: connected or failed.
    #[default]
    All,
    /// Until all are connected or failed, or until one is connected and no other has followed for
    /// half a second: a slow server does not delay the others, and joins them later.
    Ready,
    /// For none.
    None,
    /// For all of them, but no longer than this.
    For(Duration),
}

/// What servers are loaded for, which decides what is offered of them and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Purpose {
    /// A host lists their tools and calls them.
    #[default]
    Source,
    /// They are connected once, unfiltered, to be listed.
    Inventory,
    /// They serve a session.
    Session,
}

/// What a host chooses. [`Default`] is the older contract: nothing restarts, nothing is followed, the
/// whole environment is inherited, and the load waits for all servers.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct LoadOptions {
    /// Asks a person on behalf of a server. Only with it servers are told that they may ask.
    pub wait_for: Option<Arc<dyn WaitFor>>,
    /// Ends the load: nothing that it started is left.
    pub cancel: Option<CancellationToken>,
    /// Whether a lost server is started again by itself.
    pub auto_restart: Option<AutoRestart>,
    /// Whether a list that a server says it changed is fetched again.
    pub live_tool_list: Option<bool>,
    /// One switch for hosts that run for days: `auto_restart`, `live_tool_list`, the safe base
    /// environment and expansion in all fields. What is set beside it wins.
    pub resident: bool,
    /// The variables that servers without their own `inheritEnv` inherit.
    pub default_inherit_env: Option<Vec<String>>,
    /// Which fields are expanded.
    pub expand: Option<ExpandMode>,
    /// For how many servers the load waits.
    pub wait: Wait,
    /// What relative paths are relative to, and where processes run. Unset: the working directory.
    pub base_dir: Option<PathBuf>,
    /// Where variables come from. Unset: this process.
    pub environment: Option<Arc<dyn EnvironmentProvider>>,
    /// Runs values that begin with `!`. Unset: they are not run, but passed on as they are.
    pub secret_commands: Option<Arc<dyn CommandRunner>>,
    /// Limits for servers without their own.
    pub limits: LimitOverrides,
    /// Where listings of lazy servers are kept. Unset: they are not kept.
    pub cache_dir: Option<PathBuf>,
    /// Where `mcp.log` is written: what happens to servers, what they log, and their standard error. Unset: nowhere.
    pub log_dir: Option<PathBuf>,
    /// Where results are saved that are longer than `limits.max_output_bytes`, or hold bytes instead of text, until the
    /// source is closed. Unset: they are not saved.
    pub spill_dir: Option<PathBuf>,
    /// Whether a host that is killed takes its servers with it. On unless this says no.
    pub guardian: Option<bool>,
    /// How many server processes may run at once. One more takes the place of the one that was not called for longest,
    /// whose next call starts it again. Unset: as many as there are servers.
    pub max_processes: Option<usize>,
    /// Sends a call again that was running when the connection was lost, when its tool says that
    /// this does no harm (`readOnlyHint`, `idempotentHint`).
    pub replay_repeatable_calls: bool,
    /// Checks the arguments of each call with its tool's own schema before anything is sent, and leaves out nulls of
    /// optional properties that the schema refuses.
    pub validate_arguments: bool,
    /// What the servers are loaded for.
    pub(crate) purpose: Purpose,
    /// How this host introduces itself to servers.
    pub client_info: Option<Implementation>,
}

impl LoadOptions {
    pub(super) fn environment(&self) -> Arc<dyn EnvironmentProvider> {
        self.environment
            .clone()
            .unwrap_or_else(|| Arc::new(HostEnvironment))
    }
}

impl fmt::Debug for LoadOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LoadOptions")
            .field("auto_restart", &self.auto_restart)
            .field("live_tool_list", &self.live_tool_list)
            .field("resident", &self.resident)
            .field("default_inherit_env", &self.default_inherit_env)
            .field("expand", &self.expand)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
