//! Child processes that never outlive their host.
//!
//! This crate starts the programs that speak over standard streams and guarantees their end: each
//! runs in a session of its own, is closed by ordered escalation that is judged on everything it
//! started, and is killed when its handle is dropped, when the [`Engine`] ends, or when the host
//! itself is killed.
//!
//! It installs no signal handler, reaps no process but its own, and knows nothing of what is said
//! over the streams. A process that moves to a session of its own (`setsid`) has left on purpose:
//! it is reported by [`Closed::escaped`] and not killed.
//!
//! Asynchronous calls need a Tokio runtime with I/O and time enabled; closing and killing do not
//! depend on it.

mod close;
mod exit;
mod helper;
mod host_thread;
mod launch;
mod program;
mod spawn_error;

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod closing;
#[cfg(unix)]
mod engine;
#[cfg(unix)]
mod exec;
#[cfg(unix)]
mod guardian;
#[cfg(unix)]
mod interpreter;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod spawner;
#[cfg(unix)]
mod stderr;
#[cfg(unix)]
mod supervised;
#[cfg(unix)]
mod supervisor;
#[cfg(unix)]
mod sys;
#[cfg(not(unix))]
mod unsupported;

pub use close::{Closed, Ending, Grace};
pub use exit::Exit;
pub use helper::{Helper, HelperError, HelperOutput};
pub use host_thread::{block_signals_on_this_thread, fork_generation};
pub use launch::{Launch, STDERR_RING_BYTES, StderrOptions, StderrSink};
pub use program::{ProgramError, find_program};
pub use spawn_error::SpawnError;

#[cfg(not(unix))]
pub use unsupported::{Child, ChildInput, ChildOutput, Engine, Process};
#[cfg(unix)]
pub use {
    child::{Child, ChildInput, ChildOutput},
    engine::Engine,
    process::Process,
};
