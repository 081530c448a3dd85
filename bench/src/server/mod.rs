//! A server that costs next to nothing, so that the client is what is measured.
//!
//! It knows the shape of the requests that the clients here send and finds what it needs by searching;
//! everything but calls is parsed properly. It is no example of how to write a server.

mod answer;
mod http;
mod stdio;

use std::time::Duration;

use clap::{Args, ValueEnum};

use self::answer::Answers;
use crate::Failure;

pub(crate) use self::answer::{LARGE_TEXT_BYTES, TOOLS_BESIDES};

/// How the server is reached, and what it offers.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerOptions {
    transport: Transport,
    /// How many tools are listed beside `echo` and `large`.
    #[arg(long, default_value_t = 0)]
    tools: usize,
    /// How long it takes to start, in milliseconds.
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Transport {
    Stdio,
    /// Streamable HTTP on a free port; the URL is the first line of the output.
    Http,
}

/// Serves until nobody is there any more: to the end of the input, or until it is killed.
pub(crate) fn serve(options: &ServerOptions) -> Result<(), Failure> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the slow start that a cell is about"
    )]
    std::thread::sleep(Duration::from_millis(options.delay_ms));
    let answers = Answers::new(options.tools);
    match options.transport {
        Transport::Stdio => stdio::serve(answers),
        Transport::Http => http::serve(answers),
    }
}
