//! The program as its users run it: the built binary, its output and its exit codes.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod call;
mod check;
mod completions;
mod demo;
mod help;
mod interrupt;
mod run;
mod support;
mod terminal;
mod tools;
mod trust;
mod watch;
