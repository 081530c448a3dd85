//! The native half of the JVM binding: handles, texts, and nothing that decides.
//!
//! What programs see is written in Kotlin and Java. Values cross as JSON text; deliveries are taken by one thread of the
//! JVM, which completes futures and hands callbacks to executors of the host.

pub mod deliveries;
pub mod error;
pub mod queue;
pub mod session;
pub mod source;
pub mod tool;

use std::time::Duration;

uniffi::setup_scaffolding!("mcp_resident");

/// Closes every source of this process; returns whether nothing is left.
#[uniffi::export]
pub fn shut_down(limit_ms: u64) -> bool {
    mcp_resident_facade::shut_down(Duration::from_millis(limit_ms))
}

/// Every code of an error.
#[uniffi::export]
pub fn error_codes() -> Vec<String> {
    let codes = mcp_resident_facade::codes();
    codes.errors.into_iter().map(str::to_owned).collect()
}
