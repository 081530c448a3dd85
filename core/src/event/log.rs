//! The bounded history of a source.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::broadcast;

use super::{Event, EventKind, FileLog};

/// Keeps the newest events and tells observers of each.
#[derive(Debug, Clone)]
pub(crate) struct EventLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    history: Mutex<History>,
    capacity: usize,
    file: Option<FileLog>,
}

#[derive(Debug)]
struct History {
    /// What happened to servers.
    events: VecDeque<Event>,
    /// What servers said: apart, so that one that talks cannot push out what happened.
    logs: VecDeque<Event>,
    next: u64,
    /// Gone after [`EventLog::end`], so that observers see the end of the stream.
    sender: Option<broadcast::Sender<Event>>,
}

impl EventLog {
    /// A history of at most `capacity` events, and as many log messages of servers. An observer may
    /// be as far behind. With a file, everything is written there too.
    pub(crate) fn new(capacity: usize, file: Option<FileLog>) -> Self {
        let capacity = capacity.max(1);
        let history = History {
            events: VecDeque::new(),
            logs: VecDeque::new(),
            next: 1,
            sender: Some(broadcast::Sender::new(capacity)),
        };
        Self(Arc::new(Shared {
            history: Mutex::new(history),
            capacity,
            file,
        }))
    }

    /// Adds an event. The order of sequence numbers is the order in which observers are told.
    pub(crate) fn push(&self, server: &Arc<str>, generation: u64, kind: EventKind) {
        let mut history = self.lock();
        let event = Event {
            sequence: history.next,
            at: SystemTime::now(),
            server: Arc::clone(server),
            generation,
            kind,
        };
        history.next += 1;
        if let Some(file) = &self.0.file {
            file.event(&event);
        }
        let kept = match event.kind {
            EventKind::ServerLog { .. } => &mut history.logs,
            _ => &mut history.events,
        };
        if kept.len() == self.0.capacity {
            kept.pop_front();
        }
        kept.push_back(event.clone());
        if let Some(sender) = &history.sender {
            // Without observers there is nobody to tell.
            let _ = sender.send(event);
        }
    }

    /// The events after `sequence` that are still kept, oldest first. 0 gives all.
    pub(crate) fn after(&self, sequence: u64) -> Vec<Event> {
        let history = self.lock();
        let kept = history.events.iter().chain(&history.logs);
        let mut after: Vec<Event> = kept
            .filter(|event| event.sequence > sequence)
            .cloned()
            .collect();
        after.sort_unstable_by_key(|event| event.sequence);
        after
    }

    /// A stream of what happens from now on, or nothing after the end.
    pub(crate) fn subscribe(&self) -> Option<broadcast::Receiver<Event>> {
        self.lock()
            .sender
            .as_ref()
            .map(broadcast::Sender::subscribe)
    }

    /// Whether this and the other are one log.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The file that everything is written to, too.
    pub(crate) fn file(&self) -> Option<&FileLog> {
        self.0.file.as_ref()
    }

    /// No event follows: observers end when they have seen what there is.
    pub(crate) fn end(&self) {
        self.lock().sender = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, History> {
        // A panic cannot leave the history half changed in a way that matters.
        self.0
            .history
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_events_go_first_and_numbers_keep_growing() {
        let log = EventLog::new(3, None);
        let server: Arc<str> = "s".into();
        for _ in 0..5 {
            log.push(&server, 1, EventKind::SessionReplaced);
        }
        let kept: Vec<u64> = log.after(0).iter().map(|event| event.sequence).collect();
        assert_eq!(kept, [3, 4, 5]);
        assert_eq!(log.after(4).len(), 1);
    }

    #[test]
    fn a_server_that_talks_does_not_push_out_what_happened() {
        let log = EventLog::new(2, None);
        let server: Arc<str> = "s".into();
        log.push(&server, 1, EventKind::SessionReplaced);
        for _ in 0..5 {
            let data = crate::json::RawJson::null();
            log.push(
                &server,
                1,
                EventKind::ServerLog {
                    level: String::new(),
                    data,
                },
            );
        }
        let kept: Vec<u64> = log.after(0).iter().map(|event| event.sequence).collect();
        assert_eq!(kept, [1, 5, 6]);
    }
}
