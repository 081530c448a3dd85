//! JSON that stays as the server wrote it.
//!
//! Parsing a message into a tree loses what a tree cannot hold: the text of a number (`1e2`, `-0`,
//! 2^64), duplicate keys, the order of members. Models and provider caches see those differences,
//! so values travel as validated text and are parsed only as far as somebody reads them.

mod compact;
pub(crate) mod form;
mod object;
mod raw;

pub use raw::{InvalidJson, RawJson};

pub(crate) use compact::compact;
pub(crate) use object::Members;
