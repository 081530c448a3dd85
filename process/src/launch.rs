//! What to start, and how its standard error is treated.

use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc};

/// Default size of the buffer that keeps the end of a process's standard error, in bytes.
pub const STDERR_RING_BYTES: usize = 64 * 1024;

/// Receives standard error in chunks of at most a few KiB, as it arrives. Called from a task of the
/// runtime, so it must not block.
pub type StderrSink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Everything that decides how a process is started.
#[derive(Clone)]
pub struct Launch {
    /// The file to run; see [`find_program`](crate::find_program). A relative path is taken from
    /// `directory`; a bare name is refused.
    pub program: PathBuf,
    /// Arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// The complete environment: nothing is inherited from the host.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory.
    pub directory: PathBuf,
    /// Whether the guardian kills the process when the host is killed.
    pub guarded: bool,
    /// Treatment of standard error.
    pub stderr: StderrOptions,
}

/// Arguments and environment values may be secrets, so only their number and the names are shown.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("environment", &names)
            .field("directory", &self.directory)
            .field("guarded", &self.guarded)
            .field("stderr", &self.stderr)
            .finish()
    }
}

/// Treatment of standard error, which is always read, from the start on.
#[derive(Clone)]
pub struct StderrOptions {
    /// How many of the last bytes are kept for
    /// [`Process::stderr_tail`](crate::Process::stderr_tail).
    pub ring_bytes: usize,
    /// Receives everything, until the last handle on the process is dropped. A sink that panics is
    /// not called again.
    pub sink: Option<StderrSink>,
}

impl Default for StderrOptions {
    fn default() -> Self {
        Self {
            ring_bytes: STDERR_RING_BYTES,
            sink: None,
        }
    }
}

impl fmt::Debug for StderrOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrOptions")
            .field("ring_bytes", &self.ring_bytes)
            .field("sink", &self.sink.is_some())
            .finish()
    }
}
