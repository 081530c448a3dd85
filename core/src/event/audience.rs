//! The histories of all who use one instance of a server: what happens to it is told to each of them.

use std::sync::{Arc, PoisonError, RwLock};

use super::{EventKind, EventLog};

/// A set of event logs. Whoever joins hears of what happens from then on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audience(Arc<RwLock<Arc<[EventLog]>>>);

impl Audience {
    pub(crate) fn join(&self, log: EventLog) {
        self.change(|logs| logs.push(log));
    }

    pub(crate) fn leave(&self, log: &EventLog) {
        self.change(|logs| {
            let place = logs.iter().position(|joined| joined.is(log));
            place.map(|place| logs.remove(place));
        });
    }

    /// Adds an event to each log.
    pub(crate) fn push(&self, server: &Arc<str>, generation: u64, kind: EventKind) {
        let logs = self.logs();
        let Some((last, others)) = logs.split_last() else {
            return;
        };
        for log in others {
            log.push(server, generation, kind.clone());
        }
        last.push(server, generation, kind);
    }

    /// The logs as they are now.
    pub(crate) fn logs(&self) -> Arc<[EventLog]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<EventLog>)) {
        let mut logs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = logs.to_vec();
        change(&mut changed);
        *logs = changed.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hears_what_happens_while_it_is_there() {
        let audience = Audience::default();
        let [one, other] = [(); 2].map(|()| EventLog::new(10, None));
        let server: Arc<str> = "s".into();
        let say = || audience.push(&server, 1, EventKind::SessionReplaced);
        say();
        audience.join(one.clone());
        say();
        audience.join(other.clone());
        say();
        audience.leave(&one);
        say();
        assert_eq!((one.after(0).len(), other.after(0).len()), (2, 2));
    }
}
