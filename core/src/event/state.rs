//! The states of a server, as everybody sees them.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Where a server stands. The names are the same in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing runs, and nothing is being started.
    Stopped,
    /// It is being started, connected and listed.
    Starting,
    /// It is connected, and its tools can be called.
    Running,
    /// It failed, or was lost.
    Error,
}

impl State {
    /// `stopped`, `starting`, `running` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Stopped => "stopped",
            State::Starting => "starting",
            State::Running => "running",
            State::Error => "error",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The text names no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no state {0:?}; there are: stopped, starting, running, error")]
pub struct UnknownState(String);

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(name: &str) -> Result<Self, UnknownState> {
        let all = [
            State::Stopped,
            State::Starting,
            State::Running,
            State::Error,
        ];
        let found = all.into_iter().find(|state| state.as_str() == name);
        found.ok_or_else(|| UnknownState(name.to_owned()))
    }
}

/// How the newest attempt to connect a server ended. The names are those of the older contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was connected and listed, or its tools are known without that. A server that was lost
    /// afterwards keeps this.
    Connected,
    /// It could not be connected, or its configuration cannot be used.
    Failed,
    /// Its configuration switches it off.
    Disabled,
}

impl Status {
    /// `connected`, `failed` or `disabled`.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Connected => "connected",
            Status::Failed => "failed",
            Status::Disabled => "disabled",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
