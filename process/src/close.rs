//! What a caller asks of a close, and what it is told afterwards.

use std::time::Duration;

use crate::Exit;

/// How long a process and everything it started may take to end by itself.
///
/// The caller closes the process's standard input before the close begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// Time between the end of standard input and SIGTERM.
    pub eof: Duration,
    /// Time between SIGTERM and SIGKILL. With zero, SIGTERM is left out.
    pub term: Duration,
}

impl Grace {
    /// No grace: SIGKILL at once.
    pub const NONE: Self = Self {
        eof: Duration::ZERO,
        term: Duration::ZERO,
    };
}

impl Default for Grace {
    /// Two seconds for each step.
    fn default() -> Self {
        Self {
            eof: Duration::from_secs(2),
            term: Duration::from_secs(2),
        }
    }
}

/// What it took until the process and all its members were gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything ended by itself.
    Exited,
    /// SIGTERM was needed.
    Terminated,
    /// SIGKILL was needed.
    Killed,
}

/// The result of a close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// How the process itself ended; `None` when even SIGKILL has not ended it yet (it hangs in the
    /// kernel).
    pub exit: Option<Exit>,
    /// What it took to end it and everything in its session.
    pub ending: Ending,
    /// Members that outlived SIGKILL so far. Normally empty; they are killed and collected as soon
    /// as the kernel lets go.
    pub survivors: Vec<u32>,
    /// Descendants that had moved to a session of their own when the close began and still ran at
    /// its end. They were left alone.
    pub escaped: Vec<u32>,
}
