//! To be written.
#![forbid(unsafe_code)]

#[allow(dead_code, unused_imports, reason = "nothing uses the transports yet")]
mod transport;
