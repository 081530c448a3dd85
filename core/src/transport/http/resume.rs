//! Getting the rest of a reply stream that broke.

use std::time::Duration;

use http::StatusCode;
use reqwest::Response;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{
    super::sse_stream::SseParser, body::MediaType, connection::Connection, failure::RequestFailure,
};

/// The pause before a resume when the server asked for none.
const DEFAULT_PAUSE: Duration = Duration::from_millis(250);
/// The shortest pause, whatever the server asks for.
const PAUSE_FLOOR: Duration = Duration::from_millis(50);
/// The longest pause that a server can ask for.
const PAUSE_CAP: Duration = Duration::from_secs(30);
/// An attempt gets at least this long, even at the end of the window.
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(1);

/// Resumes one reply stream, as often as it breaks.
pub(super) struct Resumption<'a> {
    connection: &'a Connection,
    /// When the gap ends that the stream is in, resumed or not. A stream that brings nothing does not end a gap.
    give_up_at: Option<Instant>,
}

impl<'a> Resumption<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self {
            connection,
            give_up_at: None,
        }
    }

    /// The stream brought something: the next break begins a new gap.
    pub(super) fn progressed(&mut self) {
        self.give_up_at = None;
    }

    /// Waits as the server asked, and opens the continuation. `broken` says how the stream ended.
    pub(super) async fn next_stream(
        &mut self,
        parser: &SseParser,
        broken: String,
    ) -> Result<Response, RequestFailure> {
        let ended = |why: &str| RequestFailure::StreamEnded {
            reason: format!("{broken}{why}"),
        };
        let Some(last_event_id) = parser.last_event_id() else {
            return Err(ended(""));
        };
        let pause = parser
            .retry()
            .unwrap_or(DEFAULT_PAUSE)
            .clamp(PAUSE_FLOOR, PAUSE_CAP);
        let window = self.connection.options.resume_window.max(pause);
        let now = Instant::now();
        let give_up_at = *self.give_up_at.get_or_insert(now + window);
        let mut attempt_at = now + pause;
        let mut last_try = "no answer".to_owned();
        loop {
            if attempt_at > give_up_at {
                return Err(ended(&format!("; not resumed in time: {last_try}")));
            }
            sleep_until(attempt_at).await;
            let attempt_ends = give_up_at.max(attempt_at + SHORTEST_ATTEMPT);
            let Ok(opened) = timeout_at(
                attempt_ends,
                self.connection.open_stream(Some(last_event_id)),
            )
            .await
            else {
                return Err(ended("; not resumed in time: no answer"));
            };
            match opened {
                Ok(response)
                    if response.status().is_success()
                        && MediaType::of(&response) == MediaType::EventStream =>
                {
                    return Ok(response);
                }
                Ok(response) => {
                    let status = response.status();
                    self.connection.client.drain(response);
                    last_try = format!("HTTP {}", status.as_u16());
                    if !may_pass(status) {
                        return Err(ended(&format!("; resume refused with {last_try}")));
                    }
                }
                Err(
                    RequestFailure::NotSent { reason } | RequestFailure::Interrupted { reason },
                ) => last_try = reason,
                Err(failure) => return Err(ended(&format!("; not resumed: {failure}"))),
            }
            attempt_at = Instant::now() + pause;
        }
    }
}

/// Whether a refusal may be over at the next try.
pub(super) fn may_pass(status: StatusCode) -> bool {
    match status {
        StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => false,
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::CONFLICT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => true,
        status => status.is_server_error(),
    }
}
