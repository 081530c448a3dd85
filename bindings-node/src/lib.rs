//! The native half of the npm package: handles, conversions, and nothing that decides.
//!
//! What programs see is written in JavaScript (`lib`). Values cross as text and numbers, a batch of deliveries as one
//! array: each call between the two costs more than the text.

mod deliveries;
mod error;
mod queue;
mod session;
mod source;
mod tool;

use std::time::Duration;

use napi_derive::napi;

/// Closes every source of this process; returns whether nothing is left.
#[napi]
pub fn shut_down(limit_ms: u32) -> bool {
    mcp_resident_facade::shut_down(Duration::from_millis(limit_ms.into()))
}

/// Every code of an error, and every kind of a failed call.
#[napi]
pub fn error_codes() -> Vec<Vec<&'static str>> {
    let codes = mcp_resident_facade::codes();
    vec![codes.errors, codes.failures]
}
