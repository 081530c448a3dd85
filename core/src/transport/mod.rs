//! Moves raw JSON-RPC messages to and from one server.
//!
//! A transport frames, sends and receives bytes and reports what went wrong in between. It does not know methods, results
//! or the state of a server: what arrives goes to an [`inbound::Inbound`] in wire order.

mod envelope;
pub(crate) mod http;
pub(crate) mod inbound;
pub(crate) mod legacy_sse;
mod preview;
mod sse_stream;
#[cfg(test)]
mod testing;
