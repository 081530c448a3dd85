//! Moves raw JSON-RPC messages to and from one server.
//!
//! A transport frames, sends and receives bytes and reports what went wrong in between. It does not
//! know methods, results or the state of a server: what arrives goes to an [`Inbound`] in wire order.

mod envelope;
pub(crate) mod http;
mod inbound;
pub(crate) mod legacy_sse;
mod link;
mod preview;
mod sse_stream;
pub(crate) mod stdio;
#[cfg(test)]
mod testing;

use std::fmt;
use std::time::Duration;

pub(crate) use http::RequestFailure;
pub(crate) use inbound::{Arrival, Inbound, Origin, RequestId, TransportNote};
pub(crate) use link::Link;

/// Why a transport that is one stream ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// The server closed its standard output.
    OutputClosed,
    /// The server's process ended, and something that it had started holds its output open.
    ProcessEnded,
    /// Reading failed.
    ReadFailed(String),
    /// Writing failed.
    WriteFailed(String),
    /// The server took no byte for so long.
    WriteStalled(Duration),
    /// A message was longer than the limit, and nobody could say whose it was.
    MessageTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The event stream of the older HTTP transport ended.
    StreamEnded(String),
}

impl fmt::Display for DropCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DropCause::OutputClosed => formatter.write_str("the server closed its output"),
            DropCause::ProcessEnded => formatter.write_str("the server's process ended"),
            DropCause::ReadFailed(error) => {
                write!(formatter, "cannot read from the server: {error}")
            }
            DropCause::WriteFailed(error) => {
                write!(formatter, "cannot write to the server: {error}")
            }
            DropCause::WriteStalled(limit) => {
                write!(
                    formatter,
                    "the server read nothing for {} ms",
                    limit.as_millis()
                )
            }
            DropCause::MessageTooLong { limit } => {
                write!(
                    formatter,
                    "the server sent a message longer than the limit of {limit} bytes"
                )
            }
            DropCause::StreamEnded(reason) => write!(formatter, "the event stream ended: {reason}"),
        }
    }
}
