//! Exit codes: what a script may rely on.

use std::fmt::Write;
use std::process::ExitCode;

use mcp_resident::{ErrorKind, FailureKind};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success = 0,
    ToolFailed = 1,
    Usage = 2,
    Configuration = 3,
    Unavailable = 4,
    Timeout = 5,
    Cancelled = 6,
    Internal = 7,
}

impl Exit {
    pub(crate) const ALL: [Exit; 8] = [
        Exit::Success,
        Exit::ToolFailed,
        Exit::Usage,
        Exit::Configuration,
        Exit::Unavailable,
        Exit::Timeout,
        Exit::Cancelled,
        Exit::Internal,
    ];

    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The word for it in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::ToolFailed => "tool_failed",
            Exit::Usage => "usage",
            Exit::Configuration => "configuration",
            Exit::Unavailable => "unavailable",
            Exit::Timeout => "timeout",
            Exit::Cancelled => "cancelled",
            Exit::Internal => "internal",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "everything went well",
            Exit::ToolFailed => "the tool, or the demo, reported a failure",
            Exit::Usage => "the command line or the arguments of the call are wrong",
            Exit::Configuration => "the configuration is missing, wrong or not trusted",
            Exit::Unavailable => "a server could not be started, reached or understood",
            Exit::Timeout => "a limit of time ran out",
            Exit::Cancelled => "cancelled, by Ctrl-C or by an answer",
            Exit::Internal => "a defect of this program",
        }
    }
}

/// The part of `--help` that documents the codes.
pub(crate) fn help() -> String {
    let mut help = String::from("Exit codes:");
    for exit in Exit::ALL {
        // Writing to a text cannot fail.
        let _ = write!(help, "\n  {}  {}", exit.code(), exit.meaning());
    }
    help
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Config | ErrorKind::UnknownServer | ErrorKind::Disabled => {
                Exit::Configuration
            }
            ErrorKind::Timeout => Exit::Timeout,
            ErrorKind::Cancelled => Exit::Cancelled,
            ErrorKind::Internal => Exit::Internal,
            _ => Exit::Unavailable,
        }
    }
}

impl From<FailureKind> for Exit {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Tool => Exit::ToolFailed,
            FailureKind::Arguments => Exit::Usage,
            FailureKind::Timeout => Exit::Timeout,
            FailureKind::Cancelled => Exit::Cancelled,
            FailureKind::Internal => Exit::Internal,
            _ => Exit::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_documented_and_has_its_own_number() {
        let help = help();
        for (number, exit) in Exit::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(exit.code()), number);
            assert!(help.contains(&format!("\n  {number}  {}", exit.meaning())));
        }
    }
}
