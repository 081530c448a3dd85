//! Why a command ends early.

use std::io;

use mcp_resident::Error;
use mcp_resident::config::ConfigError;

use crate::exit::Exit;

/// Why a command ends early, in one line, and what to do about it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something to tell the user.
    Told {
        exit: Exit,
        message: String,
        hint: Option<String>,
    },
    /// Whoever reads the output no longer does, or the disk is full.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self::Told {
            exit,
            message: message.into(),
            hint: None,
        }
    }

    /// The same with what to do.
    pub(crate) fn with_hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Told { exit, message, .. } => Self::Told {
                exit,
                message,
                hint: Some(text.into()),
            },
            output @ Self::Output(_) => output,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Told { exit, .. } => *exit,
            // The reader had enough, as `head` does.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
            Self::Output(_) => Exit::Internal,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.kind().into(), error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(Exit::Configuration, error.to_string())
    }
}
