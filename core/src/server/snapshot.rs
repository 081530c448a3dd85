//! What a server's task publishes.

use std::collections::HashSet;
use std::sync::Arc;

use crate::connection::Connection;
use crate::error::Error;
use crate::event::{State, Status};

/// A server at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) state: State,
    pub(crate) status: Status,
    /// The newest connection's number, or that of the instance before; 0 before there was any.
    pub(crate) generation: u64,
    /// What calls are sent on. Only a running server has one.
    pub(crate) connection: Option<Arc<Connection>>,
    /// The tools' own names as they were listed last; nothing before that.
    pub(crate) listed: Option<Arc<HashSet<Arc<str>>>>,
    /// Why the newest attempt failed, or why the connection was lost.
    pub(crate) last_error: Option<Error>,
    /// Whether an attempt runs or will be made by itself: a call may wait for it.
    pub(crate) attempt_expected: bool,
    /// Whether an attempt was ever begun.
    pub(crate) attempted: bool,
    /// Whether it was disconnected because it was idle: the next call connects it.
    pub(crate) dormant: bool,
    /// How often the server was connected again.
    pub(crate) restarts: u32,
    /// Whether the instance is closed, or closing.
    pub(crate) closed: bool,
}

impl Snapshot {
    /// Before the first attempt, after connections up to `generation` that another instance had.
    pub(crate) fn initial(status: Status, generation: u64) -> Self {
        Self {
            state: State::Stopped,
            status,
            generation,
            connection: None,
            listed: None,
            last_error: None,
            attempt_expected: false,
            attempted: false,
            dormant: false,
            restarts: 0,
            closed: false,
        }
    }

    /// As whoever gave the server up sees it while it goes on for others.
    pub(super) fn left(self) -> Self {
        Self {
            state: State::Stopped,
            connection: None,
            attempt_expected: false,
            closed: true,
            ..self
        }
    }

    /// The connection, unless it is lost already.
    pub(crate) fn usable(&self) -> Option<&Arc<Connection>> {
        self.connection
            .as_ref()
            .filter(|connection| !connection.is_dropped())
    }

    /// Whether the server is known not to have this tool.
    pub(crate) fn lacks(&self, tool: &str) -> bool {
        self.listed
            .as_ref()
            .is_some_and(|listed| !listed.contains(tool))
    }
}
