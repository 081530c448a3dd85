//! Why a request got no reply.

use std::time::Duration;

use http::StatusCode;
use thiserror::Error;

use crate::error::Executed;

/// Why a message could not be delivered, or a request got no reply. Holds no header value of the host.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum RequestFailure {
    /// No connection came about: refused, name not found, TLS, connect timeout.
    #[error("cannot connect: {reason}")]
    NotSent {
        /// The root cause.
        reason: String,
    },
    /// The connection broke before the response began.
    #[error("connection lost before the response: {reason}")]
    Interrupted {
        /// The root cause.
        reason: String,
    },
    /// A redirect that is not followed.
    #[error("redirected to {target} with HTTP {}, which is not followed: {reason}", .status.as_u16())]
    Redirected {
        /// Which redirect.
        status: StatusCode,
        /// Scheme, host and port of the target.
        target: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// The server does not know the session that the request named.
    #[error("the server no longer knows the session (HTTP {})", .status.as_u16())]
    SessionUnknown {
        /// The status that said so.
        status: StatusCode,
    },
    /// There is nothing at this URL.
    #[error("no MCP endpoint at this URL (HTTP {})", .status.as_u16())]
    NoEndpoint {
        /// The status that said so.
        status: StatusCode,
    },
    /// The stream of the older HTTP+SSE does not say where to send messages.
    #[error("the event stream names no usable endpoint: {reason}")]
    NoEndpointEvent {
        /// What it said instead.
        reason: String,
    },
    /// The server wants other credentials.
    #[error("the server rejects the credentials (HTTP {}): check the configured headers", .status.as_u16())]
    Unauthorized {
        /// 401.
        status: StatusCode,
        /// The `WWW-Authenticate` header.
        challenge: Option<String>,
    },
    /// The credentials are known and do not suffice.
    #[error("the server denies access with these credentials (HTTP {})", .status.as_u16())]
    Forbidden {
        /// 403.
        status: StatusCode,
        /// The `WWW-Authenticate` header.
        challenge: Option<String>,
    },
    /// Any other status that is no success.
    #[error("the server answered HTTP {}{}", .status.as_u16(), quoted(.preview))]
    Status {
        /// The status.
        status: StatusCode,
        /// The beginning of the body.
        preview: String,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The response has no body, and so no reply.
    #[error("the server answered HTTP {} without a reply", .status.as_u16())]
    NoReply {
        /// The status.
        status: StatusCode,
    },
    /// The response holds a message that does not answer the request.
    #[error("the server answered with {found} instead of the reply")]
    Unmatched {
        /// What came instead.
        found: String,
    },
    /// The response is neither JSON nor an event stream.
    #[error("the server answered HTTP {} with content type {media_type:?}{}", .status.as_u16(), quoted(.preview))]
    ContentType {
        /// The status.
        status: StatusCode,
        /// The media type; empty when there was none.
        media_type: String,
        /// The beginning of the body.
        preview: String,
    },
    /// The response is not JSON although it says so.
    #[error("the server answered with malformed JSON ({reason}){}", quoted(.preview))]
    Malformed {
        /// Where it goes wrong.
        reason: String,
        /// The beginning of the body.
        preview: String,
    },
    /// The response broke off before the reply, and could not be resumed.
    #[error("the response ended before the reply: {reason}")]
    StreamEnded {
        /// How it ended, and why it was not resumed.
        reason: String,
    },
    /// The transport has ended, or was closed.
    #[error("the connection has ended")]
    Closed,
    /// A defect of this library.
    #[error("internal error: {reason}")]
    Internal {
        /// What should not have happened.
        reason: String,
    },
    /// The reply is longer than allowed.
    #[error("the reply exceeds the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

impl RequestFailure {
    /// Whether the server may have run the request.
    pub(crate) fn executed(&self) -> Executed {
        match self {
            Self::NotSent { .. }
            | Self::Redirected { .. }
            | Self::SessionUnknown { .. }
            | Self::NoEndpoint { .. }
            | Self::NoEndpointEvent { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::Closed
            | Self::Internal { .. } => Executed::No,
            Self::Status {
                status,
                retry_after,
                ..
            } => match *status {
                StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::NOT_ACCEPTABLE
                | StatusCode::LENGTH_REQUIRED
                | StatusCode::PAYLOAD_TOO_LARGE
                | StatusCode::UNSUPPORTED_MEDIA_TYPE
                | StatusCode::TOO_MANY_REQUESTS => Executed::No,
                // A proxy may say 503 about a server that has begun; one that names a time is its own.
                StatusCode::SERVICE_UNAVAILABLE if retry_after.is_some() => Executed::No,
                _ => Executed::Unknown,
            },
            Self::Interrupted { .. }
            | Self::NoReply { .. }
            | Self::Unmatched { .. }
            | Self::ContentType { .. }
            | Self::Malformed { .. }
            | Self::StreamEnded { .. }
            | Self::TooLarge { .. } => Executed::Unknown,
        }
    }

    /// The HTTP status, when the server answered.
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Redirected { status, .. }
            | Self::SessionUnknown { status }
            | Self::NoEndpoint { status }
            | Self::Unauthorized { status, .. }
            | Self::Forbidden { status, .. }
            | Self::Status { status, .. }
            | Self::NoReply { status }
            | Self::ContentType { status, .. } => Some(*status),
            Self::NotSent { .. }
            | Self::Interrupted { .. }
            | Self::NoEndpointEvent { .. }
            | Self::Unmatched { .. }
            | Self::Malformed { .. }
            | Self::StreamEnded { .. }
            | Self::Closed
            | Self::Internal { .. }
            | Self::TooLarge { .. } => None,
        }
    }
}

/// Whether a first request that was answered like this may have met a server that speaks only the older HTTP+SSE.
pub(crate) fn suggests_legacy_sse(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    )
}

fn quoted(preview: &str) -> String {
    if preview.is_empty() {
        String::new()
    } else {
        format!(": {preview:?}")
    }
}
