//! Carries out the scenarios of `fixtures/scenarios` against this library.
//!
//! `cargo test -p mcp-resident --test scenarios -- [PART OF A NAME] [--repeat N] [--jobs N] [--report FILE]`
//!
//! The driver is a part of the fixtures, and the same for all languages. This program starts it, and is the host
//! program for Rust that the driver starts in turn. What a host does is in the README of the fixtures.

mod asked;
mod host;

use std::{ffi::OsString, process::ExitCode};

use mcp_resident_fixtures::play;

/// Makes this program the host.
const HOST: &str = "--host";

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.iter().any(|argument| argument == HOST) {
        return host::run();
    }
    // `cargo test` hands these to every test program.
    arguments.retain(|argument| {
        !["--nocapture", "--no-capture", "--quiet", "-q"].contains(&&*argument.to_string_lossy())
    });
    match std::env::current_exe() {
        Ok(program) => {
            arguments.extend(["--language", "Rust", "--"].map(OsString::from));
            arguments.extend([program.into(), HOST.into()]);
            play::main(arguments)
        }
        Err(_) => ExitCode::FAILURE,
    }
}
