//! Observers: user code that is told of events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Handle;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;

use super::{Event, EventLog};

/// Keeps an observer subscribed. Dropping it, or calling [`unsubscribe`](Self::unsubscribe), ends
/// that; [`forever`](Self::forever) leaves the observer in place until the source is closed.
#[derive(Debug)]
#[must_use = "dropping a subscription ends it"]
pub struct Subscription {
    task: Option<AbortHandle>,
    missed: Arc<AtomicU64>,
}

impl Subscription {
    /// How many events the observer never saw because it was too far behind.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Ends the subscription. A call of the observer that is running finishes.
    pub fn unsubscribe(self) {}

    /// Keeps the observer until the source is closed.
    pub fn forever(mut self) {
        self.task = None;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// Calls `observer` for each event that happens from now on, in order, on a task of its own. A panic
/// of the observer ends this call of it and nothing else.
///
/// `runtime` is that of the source, so that this works from any thread; a closed source has none, and no events.
pub(crate) fn observe(
    runtime: Option<&Handle>,
    log: &EventLog,
    mut observer: impl FnMut(Event) + Send + 'static,
) -> Subscription {
    let missed = Arc::new(AtomicU64::new(0));
    let (Some(runtime), Some(events)) = (runtime, log.subscribe()) else {
        return Subscription { task: None, missed };
    };
    let task = runtime.spawn(deliver(events, Arc::clone(&missed), move |event| {
        let _ = catch_unwind(AssertUnwindSafe(|| observer(event)));
    }));
    Subscription {
        task: Some(task.abort_handle()),
        missed,
    }
}

async fn deliver(
    mut events: Receiver<Event>,
    missed: Arc<AtomicU64>,
    mut observer: impl FnMut(Event),
) {
    loop {
        match events.recv().await {
            Ok(event) => observer(event),
            // The history holds what was missed, as far as anything does.
            Err(RecvError::Lagged(count)) => {
                missed.fetch_add(count, Ordering::Relaxed);
            }
            Err(RecvError::Closed) => return,
        }
    }
}
