//! The one door through which every transport hands over what it received.

use std::{fmt, time::Duration};

use bytes::Bytes;
use bytestring::ByteString;

use super::DropCause;

/// Where a transport hands what it received, in wire order. Never blocks, runs no user code.
pub(crate) trait Inbound: Send + Sync + 'static {
    /// One whole JSON-RPC message. `origin` says on which path it came.
    ///
    /// A reply without a usable id that came with [`Origin::Request`] is [`Arrival::Other`] and needs no report: the
    /// transport knows which request it answers, and hands it over again with that id.
    fn message(&self, message: Bytes, origin: Origin) -> Arrival;

    /// The beginning of a message that is longer than the limit; the rest was skipped. Says whether its owner was found:
    /// if not, the transport cannot go on, since somebody would wait for ever.
    fn too_long(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }

    /// The transport has ended by itself. Nothing follows.
    fn dropped(&self, cause: &DropCause) {
        let _ = cause;
    }

    /// The listening path came up again after a gap, or came up for the first time: notifications may have been missed.
    fn listening(&self) {}

    /// Something worth reporting that is not a failure of a request (stream lost, refused, skipped noise).
    fn note(&self, note: TransportNote);
}

/// The path on which a message came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The path that all messages share: standard output, or the listening stream of HTTP.
    Shared,
    /// The reply stream of this one request.
    Request(RequestId),
}

/// What the receiver found a message to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The reply to the request of this id.
    Reply(RequestId),
    /// A notification, a request of the server, or something that is none of these.
    Other,
}

/// The id of a JSON-RPC request, equal exactly when the JSON texts are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RequestId {
    /// How every id of our own looks.
    Integer(u64),
    /// The JSON text of any other id, as it came: quotes, escapes and number spelling included.
    Json(ByteString),
}

impl RequestId {
    /// Takes the JSON text of an id. Only the canonical spelling of an integer becomes [`RequestId::Integer`].
    pub(crate) fn from_json(text: &str) -> Self {
        match text.parse::<u64>() {
            Ok(number) if !text.starts_with('+') && (text == "0" || !text.starts_with('0')) => {
                Self::Integer(number)
            }
            _ => Self::Json(text.into()),
        }
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

/// The JSON text of the id, as it stands in a message.
impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(formatter),
            Self::Json(text) => formatter.write_str(text),
        }
    }
}

/// Something worth reporting that fails no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransportNote {
    /// The server offers no listening stream; it is not asked again in this session.
    ListeningRefused {
        /// What the server answered.
        reason: String,
    },
    /// The listening stream ended or could not be opened. Reported once until it is up again.
    ListeningLost {
        /// How it ended.
        reason: String,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// The server no longer knows the session that it had listened on.
    SessionUnknown {
        /// The HTTP status that said so.
        status: u16,
    },
    /// The session could not be ended at close; the server will let it expire.
    SessionNotEnded {
        /// What went wrong.
        reason: String,
    },
    /// Something that is no JSON-RPC message was skipped.
    Skipped {
        /// What was skipped and why, with a preview where one helps.
        what: String,
    },
}

impl fmt::Display for TransportNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ListeningRefused { reason } => {
                write!(formatter, "the server offers no listening stream: {reason}")
            }
            Self::ListeningLost { reason, retry_in } => {
                write!(
                    formatter,
                    "listening stream lost: {reason}; next try in {} ms",
                    retry_in.as_millis()
                )
            }
            Self::SessionUnknown { status } => {
                write!(
                    formatter,
                    "listening stream lost: the server no longer knows the session (HTTP {status})"
                )
            }
            Self::SessionNotEnded { reason } => {
                write!(formatter, "session not ended at close: {reason}")
            }
            Self::Skipped { what } => write!(formatter, "skipped {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_keeps_its_json_text() {
        for text in [
            "0",
            "7",
            "18446744073709551615",
            "18446744073709551616",
            "-1",
            "1.0",
            "01",
            "+1",
            "\"7\"",
            "\"a\\u0041\"",
        ] {
            assert_eq!(RequestId::from_json(text).to_string(), text);
        }
        assert_eq!(RequestId::from_json("7"), RequestId::Integer(7));
        assert_ne!(RequestId::from_json("\"7\""), RequestId::Integer(7));
    }
}
