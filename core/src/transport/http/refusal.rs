//! What a response means whose status is no success.

use std::time::{Duration, SystemTime};

use http::{
    StatusCode,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use reqwest::Response;

use super::{
    super::{
        envelope::{Envelope, Kind},
        inbound::RequestId,
        preview::Previewer,
    },
    failure::RequestFailure,
};

/// JSON-RPC "method not found". It is an answer even when it comes with 404.
const METHOD_NOT_FOUND: i64 = -32601;
/// With "session" in the text, each of these says that the server does not know it.
const UNKNOWN_MARKS: [&str; 12] = [
    "no valid",
    "not found",
    "not valid",
    "unknown",
    "invalid",
    "expired",
    "terminated",
    "no such",
    "not exist",
    "no transport",
    "missing",
    "not initialized",
];
/// What a restarted server says without the word "session".
const SERVER_NOT_INITIALIZED: &str = "server not initialized";

/// What a refusal comes to.
pub(in crate::transport) enum Refusal {
    /// A JSON-RPC error that is the reply to the request, under the id of the request.
    Answer(bytes::Bytes),
    /// Anything else.
    Failure(RequestFailure),
}

/// The request that was refused.
pub(in crate::transport) struct Refused<'a> {
    /// The id of the request; none for a notification, which nothing can answer.
    pub(in crate::transport) id: Option<&'a RequestId>,
    /// Whether it named a session.
    pub(in crate::transport) had_session: bool,
}

/// Judges a refusal.
///
/// A session is unknown when the request named one and
/// - the status is 404, whatever the body says, except a JSON-RPC error of the request's own id that says "method not
///   found": such an error comes from behind the session; or
/// - the status is 400 and the text of the body, or of the JSON-RPC error in it, says "server not initialized", or speaks
///   of a session together with one of a few words such as "expired" or "not found". Servers disagree on code and id here,
///   so neither counts, except that an error of the request's own id comes from behind the session.
pub(in crate::transport) fn judge(
    response: &Response,
    body: &[u8],
    refused: Refused<'_>,
    previewer: &Previewer,
) -> Refusal {
    let status = response.status();
    let envelope = Envelope::parse(body).ok();
    let (error_id, error) = match envelope.as_ref().map(Envelope::kind) {
        Some(Kind::Error { id, code, message }) => (id, Some((code, message))),
        _ => (None, None),
    };
    let is_own = error.is_some() && refused.id.is_some() && error_id.as_ref() == refused.id;
    let text = error.as_ref().map_or_else(
        || String::from_utf8_lossy(body),
        |(_, message)| message.into(),
    );
    let session_unknown = refused.had_session
        && match status {
            StatusCode::NOT_FOUND => {
                !(is_own
                    && error
                        .as_ref()
                        .is_some_and(|(code, _)| *code == METHOD_NOT_FOUND))
            }
            StatusCode::BAD_REQUEST => !is_own && says_session_unknown(&text),
            _ => false,
        };
    if session_unknown {
        return Refusal::Failure(RequestFailure::SessionUnknown { status });
    }
    let challenge = || {
        let value = response.headers().get(WWW_AUTHENTICATE)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    match status {
        StatusCode::UNAUTHORIZED => {
            return Refusal::Failure(RequestFailure::Unauthorized {
                status,
                challenge: challenge(),
            });
        }
        StatusCode::FORBIDDEN => {
            return Refusal::Failure(RequestFailure::Forbidden {
                status,
                challenge: challenge(),
            });
        }
        _ => {}
    }
    // One POST, one reply: an error of any id can only answer the request it came for.
    if let (Some(id), Some(_), Some(envelope)) = (refused.id, &error, &envelope)
        && !asks_for_patience(status)
        && let Some(answer) = envelope.error_for(id)
    {
        return Refusal::Answer(answer);
    }
    Refusal::Failure(match status {
        StatusCode::NOT_FOUND => RequestFailure::NoEndpoint { status },
        _ => RequestFailure::Status {
            status,
            preview: previewer.of(body),
            retry_after: retry_after(response),
        },
    })
}

/// Whether the status says that the request was not run and may come again later.
pub(super) fn asks_for_patience(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// The `Retry-After` of a response, in seconds or as a date.
pub(super) fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

fn says_session_unknown(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains(SERVER_NOT_INITIALIZED)
        || (text.contains("session") && UNKNOWN_MARKS.iter().any(|mark| text.contains(mark)))
}
