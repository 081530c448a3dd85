//! An event log as one connection writes to it.

use std::sync::Arc;

use super::{EventKind, EventLog};

/// Adds events under one server's name and one generation.
#[derive(Debug, Clone)]
pub(crate) struct EventSink {
    pub(crate) log: EventLog,
    pub(crate) server: Arc<str>,
    pub(crate) generation: u64,
}

impl EventSink {
    pub(crate) fn push(&self, kind: EventKind) {
        self.log.push(&self.server, self.generation, kind);
    }

    pub(crate) fn note(&self, message: impl Into<String>) {
        self.push(EventKind::Note {
            message: message.into(),
        });
    }
}
