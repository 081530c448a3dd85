//! How often a changed list is fetched (SPEC 2.14). No clock: time comes in as an argument.

use std::time::Duration;

use tokio::time::Instant;

/// From a notice to the fetch: a burst of notices becomes one.
const SETTLE: Duration = Duration::from_millis(50);
/// The longest pause between two fetches that changed nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Paces the fetches that notices cause, so that a server that says "changed" with each listing is
/// not listed for ever. The last notice always leads to a fetch.
#[derive(Debug)]
pub(crate) struct RefreshPace {
    pause: Duration,
    earliest: Option<Instant>,
}

impl RefreshPace {
    pub(crate) fn new() -> Self {
        Self {
            pause: SETTLE,
            earliest: None,
        }
    }

    /// When a notice that came `now` leads to a fetch.
    pub(crate) fn due(&self, now: Instant) -> Instant {
        let settled = now + SETTLE;
        self.earliest
            .map_or(settled, |earliest| earliest.max(settled))
    }

    /// A fetch ended.
    pub(crate) fn fetched(&mut self, now: Instant, changed: bool) {
        self.pause = if changed {
            SETTLE
        } else {
            (self.pause * 2).min(LONGEST_PAUSE)
        };
        self.earliest = Some(now + self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_never_changes_is_fetched_ever_more_rarely() {
        let mut pace = RefreshPace::new();
        let start = Instant::now();
        let mut now = start;
        let mut fetches = 0;
        // The server says "changed" all the time.
        while now < start + Duration::from_secs(180) {
            now = pace.due(now);
            pace.fetched(now, false);
            fetches += 1;
        }
        assert!((10..30).contains(&fetches), "{fetches}");
    }

    #[test]
    fn a_change_makes_the_next_fetch_prompt_again() {
        let mut pace = RefreshPace::new();
        let now = Instant::now();
        for _ in 0..20 {
            pace.fetched(now, false);
        }
        assert_eq!(pace.due(now), now + LONGEST_PAUSE);
        pace.fetched(now, true);
        assert_eq!(pace.due(now), now + SETTLE);
    }
}
