//! What a hostile or unlucky world does to a source: servers that lie, hosts that misuse it, callers that go away at
//! the worst moment. Scenarios show what a host is to see; these tests look for what it must never see.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod callbacks;
mod census;
mod lifetimes;
mod odd_server;
mod secrets;
mod sessions;
mod storm;
#[path = "../support/storm.rs"]
mod storm_support;
#[path = "../support/mod.rs"]
mod support;
mod wire;
