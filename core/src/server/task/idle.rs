//! Closing what nobody uses: after a while, or when its place is needed (SPEC 7.10).
//!
//! The tools stay listed. The next call connects the server again.

use tokio::time::Instant;

use super::Task;
use crate::config::is_endless;
use crate::event::State;

impl Task {
    /// When the server will have been idle for too long, unless it is used until then.
    pub(super) fn idle_until(&self) -> Option<Instant> {
        let limit = self.spec.limits.idle_close;
        let current = self.current.as_ref().filter(|_| !is_endless(limit))?;
        let since = self.instance.activity.idle_since();
        let idle = since.filter(|_| !self.is_occupied());
        // While it is in use, the earliest time at which it may not have been for so long.
        Some(idle.map_or_else(Instant::now, |since| since.max(current.since)) + limit)
    }

    pub(super) fn close_when_idle(&mut self) {
        if self
            .idle_until()
            .is_some_and(|until| until <= Instant::now())
        {
            let limit = self.spec.limits.idle_close;
            self.rest(&format!("idle for {} ms", limit.as_millis()));
        }
    }

    /// Ends the process, when no call is running, because another one needs its place.
    pub(super) fn make_room(&mut self) {
        if self.instance.activity.idle_since().is_some() && !self.is_occupied() {
            self.rest("idle, and another server needs its place");
        }
    }

    /// Whether something of the task's own runs on the connection.
    fn is_occupied(&self) -> bool {
        self.attempt.is_some() || self.refresh.is_some()
    }

    /// Disconnects until the next call, unless one has begun just now.
    fn rest(&mut self, cause: &str) {
        let rests = |connection: &crate::connection::Connection| {
            !connection.is_dropped() && connection.refuse_calls_when_unused()
        };
        if let Some(current) = self.current.take_if(|now| rests(&now.connection)) {
            self.discard(current.connection);
            self.transition_with(State::Stopped, cause, |snapshot| snapshot.dormant = true);
        }
    }
}
