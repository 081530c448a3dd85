//! How many processes run at once: one more than that takes the place of the one that was least recently used.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::instance::Instance;
use crate::event::State;

/// Whoever was asked to make room is asked again after so long: it was in use by then.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The places for processes, and who has one.
#[derive(Debug)]
pub(crate) struct ProcessBudget {
    most: AtomicUsize,
    holders: Mutex<Vec<Holder>>,
    /// Told when a place becomes free, or may become so.
    changed: Notify,
}

#[derive(Debug)]
struct Holder {
    instance: Weak<Instance>,
    asked: Option<Instant>,
}

impl Default for ProcessBudget {
    fn default() -> Self {
        Self {
            most: AtomicUsize::new(usize::MAX),
            holders: Mutex::default(),
            changed: Notify::new(),
        }
    }
}

impl ProcessBudget {
    /// From now on so many may run. Those that are too many by then end when their places are needed.
    pub(crate) fn allow(&self, most: usize) {
        self.most.store(most.max(1), Ordering::Release);
        self.look_again();
    }

    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Acquire)
    }

    /// Whoever waits looks again: an instance may have become idle.
    pub(super) fn look_again(&self) {
        self.changed.notify_waiters();
    }

    /// Waits for a place, for which idle instances make room, the least recently used one first.
    pub(super) async fn place(self: &Arc<Self>, instance: &Arc<Instance>) -> Place {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(place) = self.take(instance) {
                return place;
            }
            if let Some(idle) = self.least_recently_used() {
                idle.ask_to_make_room();
            }
            // Whether there was a change or not, looking again harms nobody.
            let _ = tokio::time::timeout(ASK_AGAIN, changed).await;
        }
    }

    fn take(self: &Arc<Self>, instance: &Arc<Instance>) -> Option<Place> {
        let mut holders = self.lock();
        if holders.len() >= self.most() {
            return None;
        }
        let instance = Arc::downgrade(instance);
        holders.push(Holder {
            instance: Weak::clone(&instance),
            asked: None,
        });
        Some(Place {
            budget: Arc::clone(self),
            instance,
        })
    }

    /// The instance that has been idle for longest and was not asked already.
    fn least_recently_used(&self) -> Option<Arc<Instance>> {
        let mut holders = self.lock();
        let was_asked = |holder: &Holder| holder.asked.is_some_and(|at| at.elapsed() < ASK_AGAIN);
        let idle = holders
            .iter_mut()
            .filter(|holder| !was_asked(holder))
            .filter_map(|holder| {
                let instance = holder.instance.upgrade()?;
                let runs = instance.snapshot().borrow().state == State::Running;
                let since = instance.activity.idle_since().filter(|_| runs)?;
                Some((since, holder, instance))
            });
        let (_, holder, instance) = idle.min_by_key(|(since, ..)| *since)?;
        holder.asked = Some(Instant::now());
        Some(instance)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Holder>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run one process, until this is dropped.
pub(super) struct Place {
    budget: Arc<ProcessBudget>,
    instance: Weak<Instance>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut holders = self.budget.lock();
        let place = holders
            .iter()
            .position(|holder| Weak::ptr_eq(&holder.instance, &self.instance));
        place.map(|place| holders.swap_remove(place));
        drop(holders);
        self.budget.look_again();
    }
}
