//! Beginning attempts, and what their outcomes change.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Attempt, Current, Done, Purpose, Task, Waiter, answer};
use crate::connection::{DropReason, OpenError};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, State, Status};
use crate::server::attempt::{self, Connected};

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
            _ => {
                // A connection that is lost, of which this task has not been told yet.
                if let Some(current) = self.current.take() {
                    self.discard(current.connection);
                }
                self.drop_session_attempt();
                self.begin_attempt(Purpose::Start, vec![waiter], cause);
            }
        }
    }

    pub(super) fn begin_attempt(&mut self, purpose: Purpose, waiters: Vec<Waiter>, cause: &str) {
        self.retry_at = None;
        self.generation += 1;
        let cancel = self.spec.shared.closing.child_token();
        let work = attempt::connect(
            Arc::clone(&self.spec),
            self.generation,
            Arc::clone(&self.slot),
            cancel.clone(),
        );
        let task = self.spec.shared.tasks.spawn(work);
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
        let offered = self.publish_tools(tools, diagnostics, attempt.generation);
        if attempt.purpose == Purpose::ListOnce {
            self.snapshot.send_modify(|snapshot| {
                snapshot.status = Status::Connected;
                snapshot.generation = attempt.generation;
                snapshot.offered = Some(offered);
                snapshot.last_error = None;
            });
            self.discard(connection);
            self.transition(State::Stopped, "its tools are known");
        } else {
            let old = self.current.replace(Current {
                connection: Arc::clone(&connection),
                since: Instant::now(),
            });
            self.snapshot.send_modify(|snapshot| {
                snapshot.status = Status::Connected;
                snapshot.generation = attempt.generation;
                snapshot.connection = Some(connection);
                snapshot.offered = Some(offered);
                snapshot.last_error = None;
                snapshot.restarts += u32::from(attempt.purpose == Purpose::Retry);
            });
            if attempt.purpose == Purpose::ReplaceSession {
                self.event(EventKind::SessionReplaced);
                self.publish(|_| {});
                if let Some(old) = old {
                    self.retire(old.connection);
                }
            } else {
                self.transition(State::Running, "connected and listed");
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
            self.snapshot.send_modify(|snapshot| {
                snapshot.status = Status::Failed;
                snapshot.last_error = Some(error.clone());
            });
            self.schedule_retry();
            self.transition(State::Error, error.message());
            self.report_retry();
        }
        for waiter in attempt.waiters {
            answer(waiter.done, Err(error.clone()));
        }
    }

    pub(super) fn lost(&mut self, reason: &DropReason) {
        let Some(current) = self.current.take() else {
            return;
        };
        self.event(EventKind::Dropped {
            reason: reason.to_string(),
            exit: reason.exit,
            stderr_tail: reason.stderr_tail.clone(),
        });
        self.restart.lost_after(current.since.elapsed());
        self.discard(current.connection);
        let error = Error::new(ErrorKind::Dropped, reason.to_string()).of_server(&self.spec.name);
        self.snapshot
            .send_modify(|snapshot| snapshot.last_error = Some(error));
        self.drop_session_attempt();
        self.schedule_retry();
        self.transition(State::Error, &reason.to_string());
        self.report_retry();
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

    pub(super) fn report_retry(&mut self) {
        if !self.spec.auto_restart {
            return;
        }
        let kind = match self.retry_at {
            Some(at) => EventKind::RetryScheduled {
                retry: self.restart.retries(),
                max_retries: self.spec.limits.restart_retries,
                delay: at.saturating_duration_since(Instant::now()),
            },
            None => EventKind::GaveUp {
                retries: self.restart.retries(),
            },
        };
        self.event(kind);
    }

    pub(super) fn abandon(&mut self, id: u64) {
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
        if let Some(current) = self.current.take() {
            self.discard(current.connection);
        }
        self.transition(State::Stopped, "stopped by the host");
        // The slot is free when no process is left.
        let slot = Arc::clone(&self.slot);
        let closing = self.spec.shared.closing.clone();
        self.spec.shared.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                _ = slot.acquire() => {}
            }
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
