//! Beginning attempts, and what their outcomes change.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Attempt, Current, Done, Purpose, Task, Waiter, answer};
use crate::connection::{DropReason, OpenError};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, State, Status};
use crate::server::attempt::{self, Connected};
use crate::server::snapshot::Snapshot;

impl Task {
    /// One attempt at a time, shared by all who wait.
    pub(super) fn join_or_begin(&mut self, waiter: Waiter, cause: &str) {
        match &mut self.attempt {
            Some(attempt) if attempt.purpose != Purpose::ReplaceSession => {
                if attempt.purpose == Purpose::ListOnce {
                    attempt.purpose = Purpose::Start;
                }
                attempt.waiters.push(waiter);
            }
            // Lost, of which this task has not been told yet: how it was lost comes first.
            _ if self.current.is_some() => self.after_loss.push(waiter),
            _ => {
                self.drop_session_attempt();
                self.begin_attempt(Purpose::Start, vec![waiter], cause);
            }
        }
    }

    pub(super) fn begin_attempt(&mut self, purpose: Purpose, waiters: Vec<Waiter>, cause: &str) {
        self.retry_at = None;
        self.generation += 1;
        let cancel = self.instance.closing().child_token();
        let is_first = self.generation == self.instance.generation_before() + 1;
        let work = attempt::connect(
            Arc::clone(&self.instance),
            Arc::clone(&self.spec),
            self.generation,
            is_first,
            Arc::clone(&self.slot),
            cancel.clone(),
        );
        let task = self.instance.tasks.spawn(work);
        let generation = self.generation;
        self.attempt = Some(Attempt {
            purpose,
            generation,
            task,
            cancel,
            waiters,
        });
        if purpose == Purpose::ReplaceSession {
            self.publish(|_| {});
        } else {
            self.transition(State::Starting, cause);
        }
    }

    pub(super) fn attempt_ended(&mut self, result: Result<Connected, OpenError>) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        match result {
            Ok(connected) => self.connected(attempt, connected),
            Err(error) => self.not_connected(attempt, error),
        }
    }

    pub(super) fn connected(&mut self, attempt: Attempt, connected: Connected) {
        let Connected {
            connection,
            tools,
            diagnostics,
        } = connected;
        self.remember_listing(&tools, &connection);
        // First of all: whoever finds the tools finds them of a connected server.
        self.snapshot.send_modify(|snapshot| {
            snapshot.status = Status::Connected;
            snapshot.last_error = None;
        });
        let generation = attempt.generation;
        self.publish_tools(tools, diagnostics, generation);
        if attempt.purpose == Purpose::ListOnce {
            self.discard(connection);
            self.transition_with(State::Stopped, "its tools are known", |snapshot| {
                snapshot.generation = generation;
            });
        } else {
            let old = self.current.replace(Current {
                connection: Arc::clone(&connection),
                since: Instant::now(),
            });
            let is_retry = attempt.purpose == Purpose::Retry;
            let serve = |snapshot: &mut Snapshot| {
                snapshot.generation = generation;
                snapshot.connection = Some(connection);
                snapshot.restarts += u32::from(is_retry);
            };
            if attempt.purpose == Purpose::ReplaceSession {
                self.event(EventKind::SessionReplaced);
                self.publish(serve);
                if let Some(old) = old {
                    self.retire(old.connection);
                }
            } else {
                self.transition_with(State::Running, "connected and listed", serve);
                self.instance.facilities.processes.look_again();
            }
        }
        for waiter in attempt.waiters {
            answer(waiter.done, Ok(()));
        }
    }

    pub(super) fn not_connected(&mut self, attempt: Attempt, failed: OpenError) {
        let error = failed.error.of_server(&self.spec.name);
        self.event(EventKind::AttemptFailed {
            reason: error.message().to_owned(),
            exit: failed.exit,
            stderr_tail: failed.stderr_tail,
        });
        if attempt.purpose == Purpose::ReplaceSession {
            // The old connection stays: the next call finds out whether the server is back.
            self.publish(|_| {});
        } else {
            self.retry_lists_only = attempt.purpose == Purpose::ListOnce;
            self.schedule_retry();
            self.transition_with(State::Error, error.message(), |snapshot| {
                snapshot.status = Status::Failed;
                snapshot.last_error = Some(error.clone());
            });
        }
        for waiter in attempt.waiters {
            answer(waiter.done, Err(error.clone()));
        }
    }

    pub(super) fn lost(&mut self, reason: &DropReason) {
        let Some(current) = self.current.take() else {
            return;
        };
        // With the number of the connection: a newer one may be on its way already.
        self.event_of(
            current.connection.generation(),
            EventKind::Dropped {
                reason: reason.to_string(),
                exit: reason.exit,
                stderr_tail: reason.stderr_tail.clone(),
            },
        );
        self.retry_lists_only = false;
        self.restart.lost_after(current.since.elapsed());
        self.discard(current.connection);
        let error = Error::new(ErrorKind::Dropped, reason.to_string()).of_server(&self.spec.name);
        self.drop_session_attempt();
        self.schedule_retry();
        self.transition_with(State::Error, &reason.to_string(), |snapshot| {
            snapshot.last_error = Some(error);
        });
        let waiters = std::mem::take(&mut self.after_loss);
        if !waiters.is_empty() {
            self.begin_attempt(Purpose::Start, waiters, "asked for while it was being lost");
        }
    }

    /// Decides before the state is published whether an attempt follows, so that a caller who sees
    /// the state knows whether to wait.
    pub(super) fn schedule_retry(&mut self) {
        if !self.spec.auto_restart {
            return;
        }
        if let Some(retry) = self.restart.next(fastrand::f64()) {
            self.retry_at = Some(Instant::now() + retry.delay);
        }
    }

    /// What is said of the retry that was scheduled, or was not.
    pub(super) fn retry_report(&self) -> Option<EventKind> {
        let retries = self.restart.retries();
        let report = match self.retry_at {
            Some(at) => EventKind::RetryScheduled {
                retry: retries,
                max_retries: self.spec.limits.restart_retries,
                delay: at.saturating_duration_since(Instant::now()),
            },
            None => EventKind::GaveUp { retries },
        };
        self.spec.auto_restart.then_some(report)
    }

    pub(super) fn abandon(&mut self, id: u64) {
        self.after_loss.retain(|waiter| waiter.id != id);
        let Some(attempt) = &mut self.attempt else {
            return;
        };
        let before = attempt.waiters.len();
        attempt.waiters.retain(|waiter| waiter.id != id);
        let was_last = before > 0 && attempt.waiters.is_empty();
        if was_last
            && matches!(attempt.purpose, Purpose::Start | Purpose::ListOnce)
            && let Some(attempt) = self.attempt.take()
        {
            self.give_up(attempt);
            self.transition(State::Stopped, "cancelled by the caller");
        }
    }

    pub(super) fn stop(&mut self, done: oneshot::Sender<()>) {
        self.retry_at = None;
        if let Some(attempt) = self.attempt.take() {
            for waiter in self.give_up(attempt) {
                let error = Error::new(ErrorKind::Cancelled, "stopped by the host");
                answer(waiter.done, Err(error.of_server(&self.spec.name)));
            }
        }
        for waiter in std::mem::take(&mut self.after_loss) {
            let error = Error::new(ErrorKind::Cancelled, "stopped by the host");
            answer(waiter.done, Err(error.of_server(&self.spec.name)));
        }
        if let Some(current) = self.current.take() {
            self.discard(current.connection);
        }
        // Others who use it did not want that: their next call connects it again.
        let dormant = self.instance.is_shared();
        self.transition_with(State::Stopped, "stopped by the host", |snapshot| {
            snapshot.dormant = dormant;
        });
        // Not for the slot: whoever starts the server again meanwhile has that for as long as it runs.
        let ended = self.ended();
        let closing = self.instance.closing().clone();
        self.instance.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = ended => {}
            }
            // The one who waited may have gone.
            let _ = done.send(());
        });
    }

    pub(super) fn replace_session(&mut self, generation: u64, done: Done) {
        let waiter = Waiter { id: 0, done };
        match (&mut self.attempt, &self.current) {
            (_, Some(current)) if current.connection.generation() > generation => {
                answer(waiter.done, Ok(()));
            }
            (Some(attempt), _) => attempt.waiters.push(waiter),
            (None, Some(_)) => {
                self.begin_attempt(Purpose::ReplaceSession, vec![waiter], "session expired");
            }
            (None, None) => {
                let error = self.snapshot.borrow().last_error.clone();
                answer(
                    waiter.done,
                    Err(error.unwrap_or_else(|| self.not_running())),
                );
            }
        }
    }

    pub(super) fn drop_session_attempt(&mut self) {
        if let Some(attempt) = self
            .attempt
            .take_if(|a| a.purpose == Purpose::ReplaceSession)
        {
            for waiter in self.give_up(attempt) {
                answer(waiter.done, Err(self.not_running()));
            }
        }
    }
}
