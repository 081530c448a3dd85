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
    pub(crate) offered: Option<Arc<HashSet<Arc<str>>>>,
    /// Why the newest attempt failed, or why the connection was lost.
    pub(crate) last_error: Option<Error>,
    /// Whether an attempt runs or will be made by itself: a call may wait for it.
    pub(crate) attempt_expected: bool,
    /// Whether an attempt was ever begun.
    pub(crate) attempted: bool,
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
            offered: None,
            last_error: None,
            attempt_expected: false,
            attempted: false,
            restarts: 0,
            closed: false,
        }
    }

    /// The connection, unless it is lost already.
    pub(crate) fn usable(&self) -> Option<&Arc<Connection>> {
        self.connection
            .as_ref()
            .filter(|connection| !connection.is_dropped())
    }

    /// Whether the server is known not to offer this tool.
    pub(crate) fn lacks(&self, tool: &str) -> bool {
        self.offered
            .as_ref()
            .is_some_and(|offered| !offered.contains(tool))
    }
}
