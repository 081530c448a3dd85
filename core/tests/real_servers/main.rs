//! Real servers, as people run them: installed from their registries by `scripts/real-servers`.
//!
//! Everything goes through the public API. What has to be provoked (odd replies, stubborn processes,
//! floods) is provoked with the fake in the other tests; here it only matters that servers which
//! nobody wrote for this library are listed, called, killed and called again.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "in a test, what is not as expected is a failure"
)]

mod each_server;
mod http_server;
mod installed;
mod launchers;
mod loaded;
mod processes;
mod transports;
