//! What happened, in order: a bounded history, and observers that are told as it grows.
//!
//! Observers are user code, so they run on a task of their own and never on a reader, a server's
//! task or a caller. A slow observer delays itself only; what it missed is counted.

mod audience;
mod file_log;
mod log;
mod observer;
mod record;
mod sink;
mod state;

pub(crate) use audience::Audience;
pub(crate) use file_log::{FileLog, Lines};
pub(crate) use log::EventLog;
pub use observer::Subscription;
pub(crate) use observer::observe;
pub use record::{Event, EventKind};
pub(crate) use sink::EventSink;
pub use state::{State, Status, UnknownState};
