//! What every binding calls, and the only thing a binding calls.
//!
//! A host language has threads, event loops and callbacks of its own. This crate stands between them and the core with
//! three things that every language can hold: numbers, values and one [`Queue`].
//!
//! - An *operation* ([`load`], [`Tool::execute`], [`Source::close`], ...) is started by a call that returns at once with
//!   an [`OperationId`]. It runs on the [I/O thread](io_thread), and its [`Outcome`] arrives in the queue. It is
//!   cancelled by its id.
//! - Whatever the host is told or asked arrives in the same queue: progress, events, questions of servers. So the order
//!   is one: a call's last progress comes before its outcome, events come in the order in which they happened.
//! - The host takes deliveries in batches. The I/O thread wakes it once for all that are ready, and runs none of its
//!   code.
//!
//! ```
//! use std::time::Duration;
//!
//! use mcp_resident_facade::{Configuration, Delivery, LoadRequest, Outcome, Queue, load};
//!
//! let queue = Queue::blocking();
//! let request = LoadRequest::new(Configuration::from_json(r#"{"mcpServers": {}}"#)?, "{}")?;
//! let operation = load(&queue, request)?;
//! assert!(queue.wait(Duration::from_secs(30)));
//! let [Delivery::Completed { operation: of, outcome: Outcome::Loaded(source) }] = &queue.take(64)[..] else {
//!     panic!("a load has one outcome");
//! };
//! assert_eq!(*of, operation);
//! assert!(source.as_ref().unwrap().tools().is_empty());
//! # Ok::<(), mcp_resident::Error>(())
//! ```
//!
//! Nothing here decides how a server is treated: that is the core's.

#![forbid(unsafe_code)]

mod answer;
mod codes;
mod configuration;
mod environment;
mod handles;
pub mod io_thread;
mod operation;
mod question;
mod queue;
mod request;
mod session;
mod source;
mod time;
mod tool;

pub use mcp_resident;

pub use answer::answer_from_json;
pub use codes::{Codes, codes};
pub use configuration::Configuration;
pub use handles::Handles;
pub use io_thread::shut_down;
pub use operation::{OperationId, Outcome};
pub use queue::{Delivery, MAX_WAITING_EVENTS, QuestionId, Queue, SubscriptionId};
pub use request::{LoadRequest, SessionRequest};
pub use session::{Exchange, Session, session};
pub use source::{Interest, Source, inventory, load};
pub use time::milliseconds;
pub use tool::{CallOptions, Tool};
