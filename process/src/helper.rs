//! A short shell command run for its output, such as one that prints a secret.

use std::{ffi::OsString, fmt, path::PathBuf, time::Duration};

use thiserror::Error;

use crate::{Exit, SpawnError};

/// A shell command that is run for its output.
#[derive(Clone)]
pub struct Helper {
    /// The text for `/bin/sh -c`.
    pub command: OsString,
    /// The complete environment: nothing is inherited from the host.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory.
    pub directory: PathBuf,
    /// How long the command may run.
    pub timeout: Duration,
    /// How many bytes it may print.
    pub max_output_bytes: usize,
}

/// Command and environment may hold secrets, so neither is shown.
impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helper")
            .field("directory", &self.directory)
            .field("timeout", &self.timeout)
            .field("max_output_bytes", &self.max_output_bytes)
            .finish_non_exhaustive()
    }
}

/// What a successful helper printed.
#[derive(Clone, PartialEq, Eq)]
pub struct HelperOutput {
    /// Everything it wrote to standard output, unchanged.
    pub stdout: Vec<u8>,
}

/// The output may be a secret, so only its length is shown.
impl fmt::Debug for HelperOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HelperOutput")
            .field("bytes", &self.stdout.len())
            .finish()
    }
}

/// Why a helper gave no output. Neither the command nor anything it printed is part of any message.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HelperError {
    /// It ran longer than allowed, and was killed.
    #[error("the command timed out after {0:?}; it must not wait for input")]
    TimedOut(Duration),
    /// It did not end with exit code 0.
    #[error("the command ended with {0}; run it in a shell to see why")]
    Failed(Exit),
    /// It printed more than allowed, and was killed.
    #[error("the command printed more than {limit_bytes} bytes; print only the value")]
    TooLarge {
        /// The limit in bytes.
        limit_bytes: usize,
    },
    /// It was not started.
    #[error("the command could not be started: {0}")]
    NotStarted(#[from] SpawnError),
}

#[cfg(unix)]
mod run {
    use std::{
        io::{self, Read},
        sync::Arc,
    };

    use tokio::{io::AsyncReadExt, time};

    use super::{Duration, Exit, Helper, HelperError, HelperOutput, OsString, PathBuf, SpawnError};
    use crate::{
        ChildOutput, Engine, Grace, Process,
        exec::{Order, Stream},
    };

    const SHELL: &str = "/bin/sh";

    /// How long a helper that is stopped may take after SIGTERM.
    const TERM_GRACE: Grace = Grace {
        eof: Duration::ZERO,
        term: Duration::from_millis(500),
    };

    /// Read at once, in bytes.
    const CHUNK_BYTES: usize = 8 * 1024;

    impl Engine {
        /// Runs a shell command for its output, guarded, with no input and its standard error
        /// discarded.
        ///
        /// The run is over when the shell has ended: what it left in the background is killed, and
        /// neither that nor the background's hold on the output delays the result. Dropping the
        /// future kills everything at once.
        ///
        /// # Errors
        ///
        /// [`HelperError`] when the command cannot be started, fails, prints too much, or takes too
        /// long.
        pub async fn run(self: &Arc<Self>, helper: Helper) -> Result<HelperOutput, HelperError> {
            let order = Order {
                program: PathBuf::from(SHELL),
                args: vec![OsString::from("-c"), helper.command],
                environment: helper.environment,
                directory: helper.directory,
                stdin: Stream::Discarded,
                stdout: Stream::Piped,
                stderr: Stream::Discarded,
                dies_with_parent: true,
            };
            let spawned = self.start(order, true).await?;
            let process = Process::new(spawned.leader, None, Arc::clone(self));
            let pipe = spawned
                .stdout
                .ok_or_else(|| not_started(io::ErrorKind::BrokenPipe.into()))?;
            let stdout = ChildOutput::new(pipe).map_err(not_started)?;

            let collected = time::timeout(
                helper.timeout,
                collect(stdout, &process, helper.max_output_bytes),
            )
            .await;
            let outcome = match collected {
                Err(_) => Err(HelperError::TimedOut(helper.timeout)),
                Ok(None) => Err(HelperError::TooLarge {
                    limit_bytes: helper.max_output_bytes,
                }),
                Ok(Some(output)) => Ok(output),
            };
            let grace = if outcome.is_ok() {
                Grace::NONE
            } else {
                TERM_GRACE
            };
            process.close(grace).await;
            let stdout = outcome?;
            match process.exit().unwrap_or(Exit::Unknown) {
                exit if exit.is_success() => Ok(HelperOutput { stdout }),
                exit => Err(HelperError::Failed(exit)),
            }
        }
    }

    /// Reads until the shell has ended and everything it wrote is read; `None` when that is more
    /// than `limit` bytes.
    async fn collect(mut stdout: ChildOutput, process: &Process, limit: usize) -> Option<Vec<u8>> {
        let mut output = Vec::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let length = tokio::select! {
                read = stdout.read(&mut chunk) => read.unwrap_or(0),
                _ = process.exited() => break,
            };
            if length == 0 {
                process.exited().await;
                return Some(output);
            }
            output.extend_from_slice(&chunk[..length]);
            if output.len() > limit {
                return None;
            }
        }
        // All that the shell and the commands it waited for wrote is in the pipe now. The limit
        // bounds this loop also when something in the background goes on writing.
        let mut present = stdout.into_present().ok()?;
        while let Ok(length @ 1..) = present.read(&mut chunk) {
            output.extend_from_slice(&chunk[..length]);
            if output.len() > limit {
                return None;
            }
        }
        Some(output)
    }

    fn not_started(source: io::Error) -> HelperError {
        SpawnError::System {
            program: PathBuf::from(SHELL),
            source,
        }
        .into()
    }
}
