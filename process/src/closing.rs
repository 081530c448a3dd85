//! The escalation of one close, without clock and system calls: time and observations are passed
//! in.

use std::time::{Duration, Instant};

use crate::{Ending, Grace};

/// How long a close waits after SIGKILL before it reports survivors.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(2);

/// Stands in for a deadline too far away to be represented.
const FAR_AWAY: Duration = Duration::from_secs(365 * 24 * 3600);

/// Where a close has arrived.
pub(crate) struct Closing {
    begun: Instant,
    stage: Stage,
    deadline: Instant,
    term: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Eof,
    Term,
    Kill,
    GivenUp,
}

/// What has to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Wait,
    Terminate,
    Kill,
    /// Everything is gone.
    Finish(Ending),
    /// SIGKILL has not worked in time: report, and keep trying.
    ReportSurvivors,
}

impl Closing {
    pub(crate) fn begin(grace: Grace, now: Instant) -> Self {
        Self {
            begun: now,
            stage: Stage::Eof,
            deadline: after(now, grace.eof),
            term: grace.term,
        }
    }

    /// A close that starts with SIGKILL, which the caller has sent.
    pub(crate) fn killing(now: Instant) -> Self {
        Self {
            begun: now,
            stage: Stage::Kill,
            deadline: after(now, KILL_WAIT),
            term: Duration::ZERO,
        }
    }

    /// Joins a second request: it can shorten what is left, never extend it.
    pub(crate) fn tighten(&mut self, grace: Grace, now: Instant) {
        self.term = self.term.min(grace.term);
        match self.stage {
            Stage::Eof => self.deadline = self.deadline.min(after(now, grace.eof)),
            Stage::Term => self.deadline = self.deadline.min(after(now, grace.term)),
            Stage::Kill | Stage::GivenUp => {}
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        (self.stage != Stage::GivenUp).then_some(self.deadline)
    }

    /// Whether an observation made after `instant` was made after the close began.
    pub(crate) fn had_begun(&self, instant: Instant) -> bool {
        self.begun <= instant
    }

    pub(crate) fn is_killing(&self) -> bool {
        matches!(self.stage, Stage::Kill | Stage::GivenUp)
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    pub(crate) fn advance(&mut self, empty: bool, now: Instant) -> Step {
        if empty {
            return Step::Finish(match self.stage {
                Stage::Eof => Ending::Exited,
                Stage::Term => Ending::Terminated,
                Stage::Kill | Stage::GivenUp => Ending::Killed,
            });
        }
        let due = self.is_due(now);
        match self.stage {
            Stage::Eof if due && !self.term.is_zero() => {
                self.stage = Stage::Term;
                self.deadline = after(now, self.term);
                Step::Terminate
            }
            Stage::Eof | Stage::Term if due => {
                *self = Self::killing(now);
                Step::Kill
            }
            Stage::Eof | Stage::Term => Step::Wait,
            Stage::Kill if due => {
                self.stage = Stage::GivenUp;
                Step::ReportSurvivors
            }
            // A member may have been created while the previous signal was sent.
            Stage::Kill | Stage::GivenUp => Step::Kill,
        }
    }
}

fn after(now: Instant, wait: Duration) -> Instant {
    now.checked_add(wait).unwrap_or(now + FAR_AWAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const GRACE: Grace = Grace {
        eof: Duration::from_secs(2),
        term: Duration::from_secs(3),
    };

    #[test]
    fn escalates_step_by_step() {
        let start = Instant::now();
        let mut closing = Closing::begin(GRACE, start);
        assert_eq!(closing.advance(false, start + SECOND), Step::Wait);
        assert_eq!(closing.advance(false, start + 2 * SECOND), Step::Terminate);
        assert_eq!(closing.advance(false, start + 4 * SECOND), Step::Wait);
        assert_eq!(closing.advance(false, start + 5 * SECOND), Step::Kill);
        assert_eq!(closing.advance(false, start + 5 * SECOND), Step::Kill);
        assert_eq!(
            closing.advance(false, start + 5 * SECOND + KILL_WAIT),
            Step::ReportSurvivors
        );
        assert_eq!(closing.advance(false, start + 9 * SECOND), Step::Kill);
        assert_eq!(
            closing.advance(true, start + 9 * SECOND),
            Step::Finish(Ending::Killed)
        );
    }

    #[test]
    fn names_what_was_needed() {
        let start = Instant::now();
        assert_eq!(
            Closing::begin(GRACE, start).advance(true, start),
            Step::Finish(Ending::Exited)
        );
        let mut closing = Closing::begin(GRACE, start);
        closing.advance(false, start + 2 * SECOND);
        assert_eq!(
            closing.advance(true, start + 3 * SECOND),
            Step::Finish(Ending::Terminated)
        );
    }

    #[test]
    fn without_grace_kills_at_once() {
        let start = Instant::now();
        assert_eq!(
            Closing::begin(Grace::NONE, start).advance(false, start),
            Step::Kill
        );
    }

    #[test]
    fn a_second_request_only_shortens() {
        let start = Instant::now();
        let mut closing = Closing::begin(GRACE, start);
        closing.tighten(
            Grace {
                eof: 9 * SECOND,
                term: 9 * SECOND,
            },
            start,
        );
        assert_eq!(closing.deadline(), Some(start + 2 * SECOND));
        closing.tighten(Grace::NONE, start + SECOND);
        assert_eq!(closing.advance(false, start + SECOND), Step::Kill);
    }

    #[test]
    fn an_endless_grace_is_no_overflow() {
        let start = Instant::now();
        let grace = Grace {
            eof: Duration::MAX,
            term: Duration::MAX,
        };
        assert_eq!(
            Closing::begin(grace, start).advance(false, start + SECOND),
            Step::Wait
        );
    }
}
