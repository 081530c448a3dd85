//! Reply streams that have brought their reply and are about to end.
//!
//! The reply is handed over before the stream ends, so the next request of a sequence would often start a moment before the
//! connection is free, and open another one. It waits that moment instead.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};

/// How long the end of a stream is worth waiting for. Servers end it together with the reply, or long after.
const WORTH_WAITING: Duration = Duration::from_millis(1);

#[derive(Default)]
pub(super) struct Tails {
    fresh: AtomicUsize,
    one_less: Notify,
}

impl Tails {
    /// Waits until a connection that is about to be free is free, or for a moment.
    pub(super) async fn connection_soon_free(&self) {
        // Created before the check, or the wake-up in between would be lost.
        let one_less = self.one_less.notified();
        if self.fresh.load(Ordering::Acquire) > 0 {
            let _out_of_time = timeout(WORTH_WAITING, one_less).await;
        }
    }

    /// Runs to the end of `tail`; for its first moment it counts as about to end. Call it in the step that found the reply.
    pub(super) fn follow(
        self: Arc<Self>,
        tail: impl Future<Output = ()>,
    ) -> impl Future<Output = ()> {
        let fresh = Fresh::new(self);
        async move {
            tokio::pin!(tail);
            let ended = timeout(WORTH_WAITING, &mut tail).await.is_ok();
            drop(fresh);
            if !ended {
                tail.await;
            }
        }
    }
}

struct Fresh(Arc<Tails>);

impl Fresh {
    fn new(tails: Arc<Tails>) -> Self {
        tails.fresh.fetch_add(1, Ordering::AcqRel);
        Self(tails)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        self.0.fresh.fetch_sub(1, Ordering::AcqRel);
        self.0.one_less.notify_waiters();
    }
}
