//! The events of a source, one after the other and none twice.

use std::sync::Arc;

use mcp_resident::{Event, McpSource, Subscription};
use tokio::sync::Notify;

/// Reads a source's history as it grows, from its beginning.
///
/// The history is what is read; the subscription only says that there is more. So a slow reader
/// loses nothing but what the bounded history itself has let go.
#[derive(Debug)]
pub(crate) struct Feed {
    news: Arc<Notify>,
    seen: u64,
    _subscription: Subscription,
}

impl Feed {
    pub(crate) fn new(source: &McpSource) -> Self {
        let news = Arc::new(Notify::new());
        let more = Arc::clone(&news);
        Self {
            news,
            seen: 0,
            _subscription: source.on_event(move |_| more.notify_one()),
        }
    }

    /// What has happened since the last time; waits until something has.
    pub(crate) async fn next(&mut self, source: &McpSource) -> Vec<Event> {
        loop {
            let events = self.take(source);
            if !events.is_empty() {
                return events;
            }
            self.news.notified().await;
        }
    }

    /// What has happened since the last time, if anything.
    pub(crate) fn take(&mut self, source: &McpSource) -> Vec<Event> {
        let events = source.events(self.seen);
        self.seen = events.last().map_or(self.seen, |event| event.sequence);
        events
    }
}
