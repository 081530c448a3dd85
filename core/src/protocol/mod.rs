//! The protocol's conversation: the handshake, what servers ask for, and questions to a person.
//!
//! rmcp is used in `conversation` and `wire` only, and none of its types leaves this room. It keeps
//! the handshake and answers a server's own requests; calls and listings never pass through it (see
//! ADR 0001). Questions to a person are answered here from raw text, because typed parsing refuses
//! schemas that a host can still show.

mod conversation;
mod elicitation;
mod envelope;
mod version;
mod wire;

pub(crate) use conversation::{ClientIdentity, Conversation, HandshakeError, ServerIdentity};
pub use elicitation::{Answer, Reason, Request, RequestKind, WaitFor};
pub(crate) use elicitation::{AskLimits, ElicitationDesk};
pub(crate) use envelope::{Envelope, leading_id, numeric, quick_reply_id, quick_result};
