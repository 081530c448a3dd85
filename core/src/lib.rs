//! To be written.
#![forbid(unsafe_code)]

pub mod config;
#[allow(dead_code, unused_imports, reason = "nothing uses the transports yet")]
mod transport;
