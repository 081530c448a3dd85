//! The listening stream: one GET that stays open for what the server says unasked.
//!
//! It is opened again as long as the server offers it, ever more slowly while that brings nothing. It has no time limit of
//! its own: a quiet stream is a healthy one, and TCP notices a peer that is gone.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use reqwest::Response;
use tokio::time::{Instant, sleep};

use super::{
    super::{inbound::TransportNote, sse_stream::SseParser},
    body::{MediaType, read_refusal},
    client::root_cause,
    connection::Connection,
    failure::RequestFailure,
    refusal::{Refusal, Refused, judge, retry_after},
    resume::may_pass,
};

/// A server that names a later time than this is asked again at this one.
const RETRY_AFTER_CAP: Duration = Duration::from_secs(300);

/// Listens until the server refuses, which is reported.
pub(super) async fn listen(connection: Arc<Connection>) {
    Listener::new(&connection).run().await;
}

struct Listener<'a> {
    connection: &'a Connection,
    parser: SseParser,
    schedule: Schedule,
    /// Whether the server has offered the stream in this session.
    was_open: bool,
    /// Whether the present outage was reported.
    reported: bool,
}

/// What came of asking for the stream.
enum Opened {
    Stream(Response),
    /// It may come later.
    Later {
        reason: String,
        not_before: Option<Duration>,
    },
    /// It does not come in this session.
    Never(TransportNote),
}

impl<'a> Listener<'a> {
    fn new(connection: &'a Connection) -> Self {
        let options = &connection.options;
        Self {
            connection,
            parser: SseParser::new(options.max_message_bytes),
            schedule: Schedule::new(options.listen_backoff_base, options.listen_backoff_cap),
            was_open: false,
            reported: false,
        }
    }

    async fn run(mut self) {
        loop {
            let (reason, not_before) = match self.open().await {
                Opened::Stream(response) => (self.read(response).await, self.parser.retry()),
                Opened::Later { reason, not_before } => {
                    (reason, not_before.max(self.parser.retry()))
                }
                Opened::Never(note) => return self.connection.inbound.note(note),
            };
            let retry_in = self.schedule.next_pause(not_before, fastrand::f64());
            if !std::mem::replace(&mut self.reported, true) {
                self.connection
                    .inbound
                    .note(TransportNote::ListeningLost { reason, retry_in });
            }
            sleep(retry_in).await;
        }
    }

    async fn open(&self) -> Opened {
        let later = |reason| Opened::Later {
            reason,
            not_before: None,
        };
        let mut response = match self
            .connection
            .open_stream(self.parser.last_event_id())
            .await
        {
            Ok(response) => response,
            Err(RequestFailure::NotSent { reason } | RequestFailure::Interrupted { reason }) => {
                return later(reason);
            }
            Err(failure) => {
                return Opened::Never(TransportNote::ListeningRefused {
                    reason: failure.to_string(),
                });
            }
        };
        let status = response.status();
        if status.is_success() && MediaType::of(&response) == MediaType::EventStream {
            return Opened::Stream(response);
        }
        let reason = format!("HTTP {}", status.as_u16());
        if may_pass(status) {
            let not_before = retry_after(&response).map(|pause| pause.min(RETRY_AFTER_CAP));
            self.connection.client.drain(response);
            return Opened::Later { reason, not_before };
        }
        if status.is_success() {
            self.connection.client.drain(response);
            return Opened::Never(TransportNote::ListeningRefused {
                reason: format!("{reason} without an event stream"),
            });
        }
        // Directly after `initialize` the session is known for certain: then a refusal is about listening.
        let body = read_refusal(&mut response).await;
        let session = self.was_open && self.connection.headers.current().session.is_some();
        let refused = Refused {
            id: None,
            had_session: session,
        };
        match judge(&response, &body, refused, &self.connection.previewer) {
            Refusal::Failure(RequestFailure::SessionUnknown { status }) => {
                Opened::Never(TransportNote::SessionUnknown {
                    status: status.as_u16(),
                })
            }
            _ if status == StatusCode::BAD_REQUEST && self.parser.last_event_id().is_some() => {
                later(reason)
            }
            _ => Opened::Never(TransportNote::ListeningRefused { reason }),
        }
    }

    /// Reads one stream to its end. Returns how it ended.
    async fn read(&mut self, mut response: Response) -> String {
        self.was_open = true;
        self.reported = false;
        self.parser.restart();
        self.connection.inbound.listening();
        let opened = Instant::now();
        let reason = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => self.parser.push(chunk),
                Ok(None) => break "end of the stream".to_owned(),
                Err(error) => break root_cause(&error),
            }
            if let Err(reason) = self.hand_over() {
                // To resume behind the last id would only bring the same event again.
                self.parser = SseParser::new(self.connection.options.max_message_bytes);
                break reason;
            }
        };
        if opened.elapsed() >= self.schedule.cap {
            self.schedule.succeeded();
        }
        reason
    }

    fn hand_over(&mut self) -> Result<(), String> {
        loop {
            match self.parser.next_event() {
                Ok(Some(event)) if event.is_message() => {
                    self.schedule.succeeded();
                    self.connection.hand_over_shared(event.data);
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(too_large) => {
                    return Err(format!(
                        "a message exceeds the limit of {} bytes",
                        too_large.limit
                    ));
                }
            }
        }
    }
}

/// When to ask again: at once would be hot, for the ended stream as for the refused one.
struct Schedule {
    base: Duration,
    cap: Duration,
    /// Tries since the stream last brought something.
    fruitless: u32,
}

impl Schedule {
    fn new(base: Duration, cap: Duration) -> Self {
        Self {
            base,
            cap,
            fruitless: 0,
        }
    }

    /// The stream was worth opening.
    fn succeeded(&mut self) {
        self.fruitless = 0;
    }

    /// The next pause: doubling, the upper half of it by chance, and not before the server wants. `chance` is in 0..1.
    fn next_pause(&mut self, not_before: Option<Duration>, chance: f64) -> Duration {
        let doubled = self
            .base
            .saturating_mul(1 << self.fruitless.min(16))
            .min(self.cap);
        self.fruitless = self.fruitless.saturating_add(1);
        let jittered = doubled / 2 + (doubled / 2).mul_f64(chance);
        jittered.max(not_before.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        Schedule::new(Duration::from_secs(1), Duration::from_secs(30))
    }

    #[test]
    fn fruitless_tries_slow_down_to_the_cap() {
        let mut schedule = schedule();
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                schedule
                    .next_pause(None, 0.0)
                    .as_secs_f64()
                    .mul_add(2.0, 0.5) as u64
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
        let in_ten_seconds = {
            let mut schedule = self::schedule();
            let mut clock = Duration::ZERO;
            std::iter::from_fn(|| {
                clock += schedule.next_pause(None, 0.0);
                (clock < Duration::from_secs(10)).then_some(())
            })
            .count()
        };
        assert!(
            in_ten_seconds <= 4,
            "even without luck a stream that ends at once is asked for rarely: {in_ten_seconds}"
        );
    }

    #[test]
    fn chance_spreads_the_upper_half() {
        let pause = |chance| schedule().next_pause(None, chance);
        assert_eq!(
            (pause(0.0), pause(0.5)),
            (Duration::from_millis(500), Duration::from_millis(750))
        );
    }

    #[test]
    fn a_wish_of_the_server_is_kept_but_never_hot() {
        let mut schedule = schedule();
        assert_eq!(
            schedule.next_pause(Some(Duration::ZERO), 0.0),
            Duration::from_millis(500)
        );
        schedule.succeeded();
        assert_eq!(
            schedule.next_pause(Some(Duration::from_secs(90)), 0.0),
            Duration::from_secs(90)
        );
    }
}
