//! One process as its supervisor sees it: its exit, the progress of its close, and who belongs to
//! it.
//!
//! Members are the processes of its session. That is wider than its group: a shell with job control
//! moves its jobs to groups of their own, and they must not survive either.

use std::{
    collections::HashSet,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::{
    Closed, Ending, Exit, Grace,
    closing::{Closing, Step},
    guardian::Guardian,
    sys::{self, Running},
};

/// How often to look for exits on a system that cannot report them.
const UNREPORTED_EXIT_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) struct Supervised {
    id: u32,
    guarded: bool,
    /// `None` where the system cannot report an exit.
    exit_watch: Option<Arc<OwnedFd>>,
    exit: watch::Sender<Option<Exit>>,
    closed: watch::Sender<Option<Closed>>,
    closing: Option<Closing>,
    /// Descendants outside the session, seen when the close began.
    escaped: Option<Vec<Running>>,
}

type Reports = (
    watch::Receiver<Option<Exit>>,
    watch::Receiver<Option<Closed>>,
);

impl Supervised {
    pub(crate) fn new(id: u32, guarded: bool) -> Self {
        Self {
            id,
            guarded,
            exit_watch: sys::exit_watch(id).map(Arc::new),
            exit: watch::Sender::new(None),
            closed: watch::Sender::new(None),
            closing: None,
            escaped: None,
        }
    }

    /// As on a system that cannot report exits.
    #[cfg(test)]
    pub(crate) fn unreported(id: u32) -> Self {
        Self {
            exit_watch: None,
            ..Self::new(id, false)
        }
    }

    pub(crate) fn subscribe(&self) -> Reports {
        (self.exit.subscribe(), self.closed.subscribe())
    }

    /// What to wait on for the exit, as long as it is to come.
    pub(crate) fn exit_watch(&self) -> Option<Arc<OwnedFd>> {
        self.exit_watch
            .as_ref()
            .filter(|_| self.exit().is_none())
            .map(Arc::clone)
    }

    pub(crate) fn close(&mut self, grace: Grace, now: Instant) {
        match &mut self.closing {
            Some(closing) => closing.tighten(grace, now),
            None => self.closing = Some(Closing::begin(grace, now)),
        }
    }

    /// Kills the group now; members in other groups follow at the next look.
    pub(crate) fn kill(&mut self, now: Instant) {
        if self.owns_id() {
            sys::signal_group(self.id, libc::SIGKILL);
        }
        self.closing = Some(Closing::killing(now));
    }

    /// Publishes the exit when it has come. Returns whether an early look at the members is called
    /// for.
    pub(crate) fn note_changes(&mut self) -> bool {
        let exits = self.exit().is_none() && {
            let exit = sys::peek_exit(self.id);
            exit.is_some() && self.exit.send_replace(exit).is_none()
        };
        exits || self.is_closing_unseen()
    }

    /// When there is something to do, if nothing happens before.
    pub(crate) fn next_action(&self, pace: &Pace, now: Instant) -> Option<Instant> {
        let look = self.wants_looks().then_some(pace.next_look);
        let deadline = self.closing.as_ref().and_then(Closing::deadline);
        let unreported = (self.exit_watch.is_none() && self.exit().is_none())
            .then(|| now + UNREPORTED_EXIT_INTERVAL);
        [look, deadline, unreported].into_iter().flatten().min()
    }

    /// Whether a census taken after `now` is to be acted on. One that was under way when the close
    /// began is too old: it may miss what the process has started since.
    pub(crate) fn needs_census(&self, pace: &Pace, now: Instant) -> bool {
        self.closing.as_ref().is_some_and(|closing| {
            let look_is_due = self.wants_looks() && pace.next_look <= now;
            closing.had_begun(now) && (closing.is_due(now) || look_is_due)
        })
    }

    /// Takes the close as far as it can go now. Returns how it ended when nothing is left but the
    /// id.
    pub(crate) fn advance(&mut self, census: &[Running], now: Instant) -> Option<Ending> {
        let members: Vec<&Running> = census
            .iter()
            .filter(|process| process.session == self.id)
            .collect();
        let empty = self.exit().is_some() && members.is_empty();
        let closing = self.closing.as_mut()?;
        if self.escaped.is_none() {
            self.escaped = Some(escaped(self.id, census));
        }
        match closing.advance(empty, now) {
            Step::Wait => {}
            Step::Terminate => {
                self.signal(libc::SIGTERM, &members);
                // A stopped process acts on the signal only when it continues.
                self.signal(libc::SIGCONT, &members);
            }
            Step::Kill => self.signal(libc::SIGKILL, &members),
            Step::ReportSurvivors => {
                let survivors = members.iter().map(|member| member.id).collect();
                self.report_closed(Ending::Killed, census, survivors);
            }
            Step::Finish(ending) => return Some(ending),
        }
        None
    }

    /// Frees the id of a process whose members are gone.
    pub(crate) fn collect(&self, guardian: &Guardian) {
        // Between the look at the members and now one of them may have left a child behind.
        if self.owns_id() {
            sys::signal_group(self.id, libc::SIGKILL);
        }
        if self.guarded {
            guardian.forget(self.id);
        }
        sys::reap(self.id);
    }

    pub(crate) fn report_closed(&self, ending: Ending, census: &[Running], survivors: Vec<u32>) {
        let still_runs = |process: &&Running| {
            census
                .iter()
                .any(|seen| seen.id == process.id && seen.started == process.started)
        };
        let escaped = self
            .escaped
            .iter()
            .flatten()
            .filter(still_runs)
            .map(|process| process.id)
            .collect();
        self.closed.send_replace(Some(Closed {
            exit: self.exit(),
            ending,
            survivors,
            escaped,
        }));
    }

    fn signal(&self, signal: i32, members: &[&Running]) {
        if self.owns_id() {
            sys::signal_group(self.id, signal);
        }
        for member in members {
            if member.group != self.id || !self.owns_id() {
                sys::send_to_member(member.id, self.id, signal);
            }
        }
    }

    fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Not when something else collected the child: then the id may be given away as soon as the
    /// last member ends.
    fn owns_id(&self) -> bool {
        self.exit() != Some(Exit::Unknown)
    }

    /// While the leader runs, its group is not empty, and there is nothing to look for.
    fn wants_looks(&self) -> bool {
        self.closing.as_ref().is_some_and(Closing::is_killing)
            || self.closing.is_some() && self.exit().is_some()
            || self.is_closing_unseen()
    }

    fn is_closing_unseen(&self) -> bool {
        self.closing.is_some() && self.escaped.is_none()
    }
}

/// Descendants of `leader` that are outside its session.
fn escaped(leader: u32, census: &[Running]) -> Vec<Running> {
    let mut family: HashSet<u32> = census
        .iter()
        .filter(|process| process.session == leader)
        .map(|process| process.id)
        .collect();
    family.insert(leader);
    let mut escaped = Vec::new();
    // The census has no order, so a child may be listed before its parent.
    loop {
        let known = family.len();
        for process in census {
            if family.contains(&process.parent) && family.insert(process.id) {
                escaped.push(*process);
            }
        }
        if family.len() == known {
            return escaped;
        }
    }
}

/// When to look at the system's processes next: soon after something happened, then less often, and
/// never so often that looking costs more than a fifth of one processor.
pub(crate) struct Pace {
    next_look: Instant,
    interval: Duration,
}

impl Pace {
    const SHORTEST: Duration = Duration::from_millis(1);
    const LONGEST: Duration = Duration::from_millis(50);
    const COST_FACTOR: u32 = 4;

    pub(crate) fn new() -> Self {
        Self {
            next_look: Instant::now(),
            interval: Self::SHORTEST,
        }
    }

    pub(crate) fn reset(&mut self, now: Instant) {
        *self = Self {
            next_look: now,
            interval: Self::SHORTEST,
        };
    }

    pub(crate) fn looked(&mut self, started: Instant, ended: Instant) {
        let cost = ended.saturating_duration_since(started);
        self.next_look = ended + self.interval.max(cost * Self::COST_FACTOR);
        self.interval = (self.interval * 2).min(Self::LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(id: u32, parent: u32, session: u32) -> Running {
        Running {
            id,
            parent,
            session,
            group: session,
            started: 0,
        }
    }

    #[test]
    fn finds_who_left_the_session_in_any_order() {
        let census = [
            running(14, 13, 13),
            running(13, 11, 13),
            running(11, 10, 10),
            running(10, 1, 10),
            running(20, 1, 20),
        ];
        let mut ids: Vec<u32> = escaped(10, &census)
            .iter()
            .map(|process| process.id)
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, [13, 14]);
    }

    #[test]
    fn looks_less_and_less_often() {
        let now = Instant::now();
        let mut pace = Pace::new();
        pace.looked(now, now);
        assert_eq!(pace.next_look, now + Duration::from_millis(1));
        for _ in 0..10 {
            pace.looked(now, now);
        }
        assert_eq!(pace.next_look, now + Pace::LONGEST);
        pace.reset(now);
        pace.looked(now, now + Duration::from_millis(30));
        assert_eq!(pace.next_look, now + Duration::from_millis(150));
    }
}
