//! What a host chooses for a session.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::config::{
    ExpandMode, Exposure, LimitOverrides, ServerDefinition, fingerprint, launch_line,
};
use crate::server::ShellCommandRunner;
use crate::source::{LoadOptions, Purpose, Wait};

/// How long an exchange waits for servers that are new or changed, unless the host says otherwise.
pub const DEFAULT_EXCHANGE_WAIT: Duration = Duration::from_secs(10);

/// The longest text for a model that a call of a session gives, unless the host or a server says otherwise, in bytes.
pub const DEFAULT_SESSION_OUTPUT_BYTES: usize = 100_000;

/// Whether what a project's own file would start may be started. There is no default: a folder that somebody else made can
/// name any program.
#[derive(Clone)]
pub enum ProjectTrust {
    /// Everything.
    All,
    /// Nothing. What the file says of how tools are shown, and what it switches off, counts all the same.
    Nothing,
    /// What has one of these [fingerprints](ProjectServer::fingerprint): what a person allowed before.
    Only(BTreeSet<String>),
    /// What the host allows when it is asked, while configuration is read.
    Ask(Arc<dyn Fn(&ProjectServer) -> bool + Send + Sync>),
}

/// What an entry of a project's file would start. Its JSON form has the same names in camelCase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProjectServer {
    /// The entry's key.
    pub name: String,
    /// What would be started, in one line without secrets.
    pub launch_line: String,
    /// Changes with everything that changes what would be started: what to remember a decision by.
    pub fingerprint: String,
}

/// What a host chooses for a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The user's file. One that is not there has no servers.
    pub user_config: Option<PathBuf>,
    /// The project's file, laid over the user's.
    pub project_config: Option<PathBuf>,
    /// What of the project's file may be started.
    pub project_trust: ProjectTrust,
    /// How tools are shown whose server says nothing about it.
    pub exposure: Exposure,
    /// How long an exchange waits for servers with direct tools that are new or changed.
    pub exchange_wait: Duration,
    /// Everything else. What is left as it is here is what sessions want: the safe base environment, expansion in all
    /// fields, secret commands, checked arguments and a live tool list. `wait` and `cancel` mean nothing.
    pub load: LoadOptions,
}

impl SessionOptions {
    /// A session in a directory, which is what relative paths of both files are relative to.
    pub fn new(base_dir: impl Into<PathBuf>, project_trust: ProjectTrust) -> Self {
        Self {
            user_config: None,
            project_config: None,
            project_trust,
            exposure: Exposure::Direct,
            exchange_wait: DEFAULT_EXCHANGE_WAIT,
            load: LoadOptions {
                base_dir: Some(base_dir.into()),
                live_tool_list: Some(true),
                default_inherit_env: Some(Vec::new()),
                expand: Some(ExpandMode::All),
                secret_commands: Some(Arc::new(ShellCommandRunner)),
                validate_arguments: true,
                limits: output_limit(),
                ..LoadOptions::default()
            },
        }
    }

    /// What the servers are loaded with. The session itself decides what is waited for.
    pub(super) fn load_options(&self) -> LoadOptions {
        LoadOptions {
            purpose: Purpose::Session,
            wait: Wait::None,
            cancel: None,
            ..self.load.clone()
        }
    }
}

fn output_limit() -> LimitOverrides {
    LimitOverrides {
        max_output_bytes: Some(DEFAULT_SESSION_OUTPUT_BYTES),
        ..LimitOverrides::default()
    }
}

impl ProjectTrust {
    pub(super) fn allows(&self, definition: &ServerDefinition) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Only(fingerprints) => fingerprints.contains(&fingerprint(definition)),
            Self::Ask(ask) => ask(&ProjectServer::of(definition)),
        }
    }
}

impl ProjectServer {
    pub(super) fn of(definition: &ServerDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            launch_line: launch_line(definition),
            fingerprint: fingerprint(definition),
        }
    }
}

impl fmt::Debug for ProjectTrust {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::All => "All",
            Self::Nothing => "Nothing",
            Self::Only(_) => "Only",
            Self::Ask(_) => "Ask",
        })
    }
}
