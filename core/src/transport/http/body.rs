//! Reading bodies within bounds, and giving connections back to the pool.

use std::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use reqwest::Response;
use tokio::time::timeout;

use super::{client::root_cause, failure::RequestFailure};

/// A body that nobody needs, and the tail behind a reply, are read for this long before the connection is given up.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// A body that nobody needs is read up to this size.
pub(super) const DRAIN_LIMIT_BYTES: usize = 256 * 1024;
/// The body of a refusal is read up to this size, to look for a JSON-RPC error in it.
const REFUSAL_LIMIT_BYTES: usize = 64 * 1024;

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
/// What servers name that did not think about it.
const UNCLEAR: [&str; 3] = ["", "text/plain", "application/octet-stream"];

/// What a body is, by its media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::transport) enum MediaType {
    Json,
    EventStream,
    /// Missing, or too vague to tell: the first bytes decide.
    Unclear,
    /// Something else, by name.
    Other(String),
}

impl MediaType {
    pub(in crate::transport) fn of(response: &Response) -> Self {
        let Some(value) = response.headers().get(CONTENT_TYPE) else {
            return Self::Unclear;
        };
        let value = String::from_utf8_lossy(value.as_bytes());
        let essence = value.split(';').next().unwrap_or_default().trim();
        let is = |name: &str| essence.eq_ignore_ascii_case(name);
        if is(JSON) {
            Self::Json
        } else if is(EVENT_STREAM) {
            Self::EventStream
        } else if UNCLEAR.into_iter().any(is) {
            Self::Unclear
        } else {
            Self::Other(essence.to_ascii_lowercase())
        }
    }

    /// Decides an unclear type by the first bytes of the body.
    pub(super) fn sniff(first: &[u8]) -> Option<Self> {
        let text = first
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(first)
            .trim_ascii_start();
        let event_stream = [&b":"[..], b"data", b"event:", b"id:", b"retry:"];
        if matches!(text.first(), Some(b'{' | b'[')) {
            Some(Self::Json)
        } else if event_stream.iter().any(|start| text.starts_with(start)) {
            Some(Self::EventStream)
        } else {
            None
        }
    }
}

/// The name, for an error; empty when it is missing or says nothing.
impl fmt::Display for MediaType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Json => JSON,
            Self::EventStream => EVENT_STREAM,
            Self::Unclear => "",
            Self::Other(name) => name,
        })
    }
}

/// Reads a whole body that begins with `first`. A body of one chunk is not copied.
pub(super) async fn read_whole(
    response: &mut Response,
    first: Bytes,
    limit: usize,
) -> Result<Bytes, RequestFailure> {
    let declared = response
        .content_length()
        .and_then(|length| usize::try_from(length).ok())
        .unwrap_or(0);
    let too_large = RequestFailure::TooLarge { limit };
    if declared > limit || first.len() > limit {
        return Err(too_large);
    }
    let Some(second) = next_chunk(response).await? else {
        return Ok(first);
    };
    let mut whole = BytesMut::with_capacity(declared.max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    let mut chunk = Some(second);
    while let Some(bytes) = chunk {
        if whole.len() + bytes.len() > limit {
            return Err(too_large);
        }
        whole.extend_from_slice(&bytes);
        chunk = next_chunk(response).await?;
    }
    Ok(whole.freeze())
}

/// The next chunk of a body; a connection that breaks here broke before the reply was complete.
pub(super) async fn next_chunk(response: &mut Response) -> Result<Option<Bytes>, RequestFailure> {
    response
        .chunk()
        .await
        .map_err(|error| RequestFailure::StreamEnded {
            reason: root_cause(&error),
        })
}

/// Reads what a refusal says, as far as it comes soon and is short.
pub(in crate::transport) async fn read_refusal(response: &mut Response) -> Bytes {
    let mut text = BytesMut::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = REFUSAL_LIMIT_BYTES - text.len();
            text.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if text.len() == REFUSAL_LIMIT_BYTES {
                break;
            }
        }
    };
    // A body that never ends must not hold up what its status already says.
    let _out_of_time = timeout(DRAIN_TIMEOUT, reading).await;
    text.freeze()
}
