//! Whether an instance is in use, and since when it is not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::process_budget::ProcessBudget;

/// The calls of an instance, from before they wait for a connection to their end.
#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<State>,
    /// Told when the last call has ended: somebody may wait for the place of its process.
    budget: Arc<ProcessBudget>,
}

#[derive(Debug)]
struct State {
    calls: usize,
    last_used: Instant,
}

impl Activity {
    pub(super) fn new(budget: Arc<ProcessBudget>) -> Self {
        Self {
            state: Mutex::new(State {
                calls: 0,
                last_used: Instant::now(),
            }),
            budget,
        }
    }

    /// A call begins. It ends when what this returns is dropped.
    pub(super) fn begin(&self) -> InUse<'_> {
        let mut state = self.lock();
        state.calls += 1;
        state.last_used = Instant::now();
        drop(state);
        InUse(self)
    }

    /// Since when no call has been running; nothing while one is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.lock();
        (state.calls == 0).then_some(state.last_used)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call that runs.
#[derive(Debug)]
pub(super) struct InUse<'a>(&'a Activity);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.calls -= 1;
        state.last_used = Instant::now();
        let is_last = state.calls == 0;
        drop(state);
        if is_last {
            self.0.budget.look_again();
        }
    }
}
