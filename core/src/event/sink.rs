//! The logs of an instance as one connection writes to them.

use std::sync::Arc;

use super::{Audience, EventKind};

/// Adds events under one server's name and one generation.
#[derive(Debug, Clone)]
pub(crate) struct EventSink {
    pub(crate) audience: Audience,
    pub(crate) server: Arc<str>,
    pub(crate) generation: u64,
}

impl EventSink {
    pub(crate) fn push(&self, kind: EventKind) {
        self.audience.push(&self.server, self.generation, kind);
    }

    pub(crate) fn note(&self, message: impl Into<String>) {
        self.push(EventKind::Note {
            message: message.into(),
        });
    }
}
