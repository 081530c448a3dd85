//! A short shell command run for its output, such as one that prints a secret.

#[cfg(unix)]
mod run;

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
