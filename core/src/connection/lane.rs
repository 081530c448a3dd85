//! The raw lane: requests of our own beside rmcp's conversation, on the same transport.
//!
//! A request is framed as text, its reply comes back as text, and one loop per call waits for
//! whatever ends it first. ADR 0001 has the reasons and the figures.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::DropReason;
use super::record::{CallEvent, CallTable, Ended, Outcome, Ticket};
use crate::error::Executed;
use crate::transport::{Link, RequestFailure, RequestId};

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadlines {
    /// Silence for so long ends the call; progress starts it anew.
    pub(crate) idle: Duration,
    /// The end of the call whatever it says.
    pub(crate) total: Duration,
    /// A person may be asked for so long, while the other two stand still.
    pub(crate) asking: Duration,
}

/// Who hears of a call's progress: the `params` of each notification, on the caller's own task.
pub(crate) type ProgressSink<'a> = &'a mut (dyn FnMut(Bytes) + Send);

/// What a caller brings to a request.
pub(crate) struct RequestOptions<'a> {
    pub(crate) deadlines: Deadlines,
    pub(crate) cancel: Option<&'a CancellationToken>,
    /// Cancelled when the caller's side of the connection is closed, whoever else goes on with it.
    pub(crate) ended: Option<&'a CancellationToken>,
    pub(crate) progress: Option<ProgressSink<'a>>,
}

/// Why a request has no reply.
#[derive(Debug, Clone)]
pub(crate) enum RequestError {
    /// The transport could not bring it there and back.
    Transport(RequestFailure),
    /// The connection ended by itself. Nothing when it had ended before the request was sent and
    /// the reason is still being found out.
    Dropped {
        reason: Option<Arc<DropReason>>,
        sent: bool,
    },
    /// A limit of time ran out.
    Timeout {
        limit: TimeLimit,
        after: Duration,
        sent: bool,
    },
    /// The caller cancelled.
    Cancelled { sent: bool },
    /// The connection was closed by its owner.
    Closed { sent: bool },
    /// The reply was longer than the limit, in bytes.
    TooLarge(usize),
}

/// Which limit of time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// Nothing was heard for too long.
    Idle,
    /// The whole call took too long.
    Total,
    /// A person did not answer.
    Asking,
}

impl RequestError {
    /// Whether the server may have run the request.
    pub(crate) fn executed(&self) -> Executed {
        let sent = match self {
            RequestError::Transport(failure) => return failure.executed(),
            RequestError::TooLarge(_) => return Executed::Yes,
            RequestError::Dropped { sent, .. }
            | RequestError::Timeout { sent, .. }
            | RequestError::Cancelled { sent }
            | RequestError::Closed { sent } => *sent,
        };
        if sent {
            Executed::Unknown
        } else {
            Executed::No
        }
    }
}

/// Sends requests over a link and waits for their replies.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) link: Arc<Link>,
    pub(super) calls: Arc<CallTable>,
    /// Fair: who waits first is sent first.
    pub(super) slots: Semaphore,
}

impl Lane {
    /// Sends one request and waits for its reply, which is returned as it was received.
    ///
    /// `write_params` writes the text of `params` and is told the request's id, which is its
    /// progress token too. Dropping the future cancels the request at the server.
    pub(super) async fn request(
        &self,
        method: &str,
        write_params: impl FnOnce(u64, &mut String),
        options: RequestOptions<'_>,
    ) -> Result<Bytes, RequestError> {
        let clock = Clock::start(options.deadlines);
        self.exchange(clock, method, write_params, options).await
    }

    /// The same for a request of which only so many run at once; its time counts while it waits for
    /// its turn, too.
    pub(super) async fn request_in_turn(
        &self,
        method: &str,
        write_params: impl FnOnce(u64, &mut String),
        options: RequestOptions<'_>,
    ) -> Result<Bytes, RequestError> {
        let clock = Clock::start(options.deadlines);
        let _slot = self.slot(&clock, options.cancel, options.ended).await?;
        self.exchange(clock, method, write_params, options).await
    }

    async fn exchange(
        &self,
        mut clock: Clock,
        method: &str,
        write_params: impl FnOnce(u64, &mut String),
        mut options: RequestOptions<'_>,
    ) -> Result<Bytes, RequestError> {
        if options.cancel.is_some_and(CancellationToken::is_cancelled) {
            return Err(RequestError::Cancelled { sent: false });
        }
        let ticket = self.calls.open().map_err(|ended| match ended {
            Ended::Dropping => RequestError::Dropped {
                reason: None,
                sent: false,
            },
            Ended::Dropped(reason) => RequestError::Dropped {
                reason: Some(reason),
                sent: false,
            },
            Ended::Closed => RequestError::Closed { sent: false },
        })?;
        let mut call = RunningCall {
            ticket,
            link: &self.link,
            // Over HTTP the server may have the request as soon as it is begun.
            sent: !self.link.queues_requests(),
            settled: false,
        };

        let id = call.ticket.id();
        let mut frame = String::with_capacity(256);
        // Writing to a string cannot fail.
        let _ = write!(
            frame,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":"#
        );
        write_params(id, &mut frame);
        frame.push('}');

        let request_id = RequestId::from(id);
        let sending = self.link.request(&request_id, Bytes::from(frame));
        tokio::pin!(sending);
        let mut answered = false;
        let alarm = tokio::time::sleep_until(clock.next());
        tokio::pin!(alarm);
        loop {
            tokio::select! {
                biased;
                event = call.ticket.next() => match event {
                    CallEvent::Progress(params) => {
                        clock.heard();
                        if let Some(progress) = options.progress.as_mut() {
                            progress(params);
                        }
                    }
                    CallEvent::Asking => clock.stop(),
                    CallEvent::Answered => clock.go_on(),
                    CallEvent::Settled(outcome) => {
                        call.settled = true;
                        if !answered && matches!(outcome, Outcome::Reply(_)) {
                            // What follows the reply on its stream is read now, or left to a task.
                            let _ = sending.as_mut().now_or_never();
                        }
                        return finish(outcome, call.sent);
                    }
                },
                result = &mut sending, if !answered => match result {
                    // The reply, if it came with the response, stands in the record already.
                    Ok(()) => {
                        call.sent = true;
                        answered = true;
                    }
                    // Ended before it took the request; why is being found out.
                    Err(RequestFailure::Closed) => {
                        let error = RequestError::Dropped { reason: None, sent: false };
                        return call.give_up(None, error);
                    }
                    Err(failure) => return call.give_up(None, RequestError::Transport(failure)),
                },
                () = cancelled(options.cancel) => {
                    let error = RequestError::Cancelled { sent: call.sent };
                    return call.give_up(Some("cancelled by the caller"), error);
                }
                () = cancelled(options.ended) => {
                    let error = RequestError::Closed { sent: call.sent };
                    return call.give_up(Some("the caller was closed"), error);
                }
                () = &mut alarm => {
                    if let Some(limit) = clock.expired() {
                        let error = RequestError::Timeout { limit, after: clock.elapsed(), sent: call.sent };
                        return call.give_up(Some("timed out"), error);
                    }
                    alarm.as_mut().reset(clock.next());
                    continue;
                }
            }
            // The alarm may only be too early: moving it at each event would cost more.
            if clock.next() < alarm.deadline() {
                alarm.as_mut().reset(clock.next());
            }
        }
    }

    /// Waits for one of the places of this connection.
    async fn slot(
        &self,
        clock: &Clock,
        cancel: Option<&CancellationToken>,
        ended: Option<&CancellationToken>,
    ) -> Result<SemaphorePermit<'_>, RequestError> {
        if let Ok(slot) = self.slots.try_acquire() {
            return Ok(slot);
        }
        tokio::select! {
            biased;
            () = cancelled(cancel) => Err(RequestError::Cancelled { sent: false }),
            () = cancelled(ended) => Err(RequestError::Closed { sent: false }),
            slot = self.slots.acquire() => slot.map_err(|_| RequestError::Closed { sent: false }),
            () = tokio::time::sleep_until(clock.next()) => Err(RequestError::Timeout {
                limit: TimeLimit::Idle,
                after: clock.elapsed(),
                sent: false,
            }),
        }
    }
}

fn finish(outcome: Outcome, sent: bool) -> Result<Bytes, RequestError> {
    match outcome {
        Outcome::Reply(reply) => Ok(reply),
        Outcome::TooLarge(limit) => Err(RequestError::TooLarge(limit)),
        Outcome::Dropped(reason) => Err(RequestError::Dropped {
            reason: Some(reason),
            sent,
        }),
        Outcome::Closed => Err(RequestError::Closed { sent }),
    }
}

async fn cancelled(cancel: Option<&CancellationToken>) {
    match cancel {
        Some(cancel) => cancel.cancelled().await,
        None => std::future::pending().await,
    }
}

/// A call that has a record; dropped before its end, it tells the server so.
struct RunningCall<'a> {
    ticket: Ticket,
    link: &'a Arc<Link>,
    /// Whether the server may have the request.
    sent: bool,
    settled: bool,
}

impl RunningCall<'_> {
    /// Ends the call from our side, unless another side already has: then its outcome counts.
    fn give_up(mut self, tell: Option<&str>, error: RequestError) -> Result<Bytes, RequestError> {
        self.settled = true;
        match self.ticket.withdraw() {
            Err(outcome) => finish(outcome, self.sent),
            Ok(()) => {
                if let Some(reason) = tell {
                    self.tell_server(reason);
                }
                Err(error)
            }
        }
    }

    /// Sends the one cancel of an abandoned call, without waiting for it to be sent.
    fn tell_server(&self, reason: &str) {
        if !self.sent {
            return;
        }
        let id = self.ticket.id();
        self.link.notify_soon(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"{reason}"}}}}"#
        ));
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        if !self.settled && self.ticket.withdraw().is_ok() {
            self.tell_server("abandoned by the caller");
        }
    }
}

/// The clock of one call: stands still while a person is asked.
#[derive(Debug)]
struct Clock {
    deadlines: Deadlines,
    started: Instant,
    idle_from: Instant,
    total_until: Instant,
    /// How many questions are open, and since when.
    asking: usize,
    asking_since: Instant,
}

impl Clock {
    fn start(deadlines: Deadlines) -> Self {
        let now = Instant::now();
        Self {
            deadlines,
            started: now,
            idle_from: now,
            total_until: now + deadlines.total,
            asking: 0,
            asking_since: now,
        }
    }

    fn heard(&mut self) {
        self.idle_from = Instant::now();
    }

    fn stop(&mut self) {
        if self.asking == 0 {
            self.asking_since = Instant::now();
        }
        self.asking += 1;
    }

    fn go_on(&mut self) {
        self.asking = self.asking.saturating_sub(1);
        if self.asking == 0 {
            let now = Instant::now();
            self.total_until += now - self.asking_since;
            self.idle_from = now;
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the next limit runs out.
    fn next(&self) -> Instant {
        if self.asking > 0 {
            // Who asks answers for a person who is late, and the call goes on. This comes after that, for a question
            // that does not end.
            self.asking_since + self.deadlines.asking + self.deadlines.idle
        } else {
            (self.idle_from + self.deadlines.idle).min(self.total_until)
        }
    }

    /// The limit that has run out.
    fn expired(&self) -> Option<TimeLimit> {
        if Instant::now() < self.next() {
            None
        } else if self.asking > 0 {
            Some(TimeLimit::Asking)
        } else if self.next() == self.total_until {
            Some(TimeLimit::Total)
        } else {
            Some(TimeLimit::Idle)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINES: Deadlines = Deadlines {
        idle: Duration::from_secs(30),
        total: Duration::from_secs(100),
        asking: Duration::from_secs(1000),
    };

    #[tokio::test(start_paused = true)]
    async fn progress_moves_the_idle_limit_but_not_the_total() {
        let mut clock = Clock::start(DEADLINES);
        for _ in 0..4 {
            tokio::time::advance(Duration::from_secs(20)).await;
            assert_eq!(clock.expired(), None);
            clock.heard();
        }
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(clock.expired(), Some(TimeLimit::Total));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_call() {
        let clock = Clock::start(DEADLINES);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(clock.expired(), Some(TimeLimit::Idle));
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_stands_still_while_a_person_is_asked() {
        let mut clock = Clock::start(DEADLINES);
        tokio::time::advance(Duration::from_secs(20)).await;
        clock.stop();
        tokio::time::advance(Duration::from_secs(900)).await;
        assert_eq!(clock.expired(), None);
        clock.go_on();
        tokio::time::advance(Duration::from_secs(29)).await;
        assert_eq!(clock.expired(), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.expired(), Some(TimeLimit::Idle));

        clock.stop();
        tokio::time::advance(Duration::from_secs(1031)).await;
        assert_eq!(clock.expired(), Some(TimeLimit::Asking));
    }
}
