//! Why a connection ended, with what its process left behind.

use std::fmt;
use std::time::Duration;

use mcp_resident_process::{Exit, Process};

use crate::transport::DropCause;

/// How long a process that closed its output is given to end, so that the reason can say how.
const EXIT_WAIT: Duration = Duration::from_millis(300);
/// How long its standard error may take to reach its end after that.
const STDERR_WAIT: Duration = Duration::from_millis(100);
/// How much of standard error errors and events keep, in bytes: there may be many of them.
const EXCERPT_BYTES: usize = 4 * 1024;
/// Lines of standard error that a one-line message quotes.
const QUOTED_LINES: usize = 5;
/// Characters of standard error that a one-line message quotes.
const QUOTED_CHARACTERS: usize = 500;

/// Why a connection ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DropReason {
    pub(crate) cause: DropCause,
    /// How the process ended; nothing when it has none, or still runs.
    pub(crate) exit: Option<Exit>,
    /// The end of its standard error, secrets masked.
    pub(crate) stderr_tail: String,
}

impl DropReason {
    /// Waits a moment for the process to say how it ended. Bounded, so that calls that were running
    /// learn of the drop within a second.
    pub(crate) async fn find(
        cause: DropCause,
        process: Option<&Process>,
        mask: impl Fn(&str) -> String,
    ) -> Self {
        let Some(process) = process else {
            return Self {
                cause,
                exit: None,
                stderr_tail: String::new(),
            };
        };
        let exit = tokio::time::timeout(EXIT_WAIT, process.exited()).await.ok();
        if exit.is_some() {
            let _ = tokio::time::timeout(STDERR_WAIT, process.stderr_drained()).await;
        }
        Self {
            cause,
            exit,
            stderr_tail: excerpt(&mask(&process.stderr_tail())),
        }
    }
}

impl DropReason {
    /// The reason with when it happened, and with what else is known; standard error comes last.
    pub(crate) fn told(&self, when: &str, more: &str) -> String {
        let cause = match (&self.exit, &self.cause) {
            (Some(exit), _) => format!("the server's process ended{when} ({exit})"),
            (None, cause) => format!("{cause}{when}"),
        };
        format!("{cause}{more}{}", quote_stderr(&self.stderr_tail))
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.told("", ""))
    }
}

/// The end of standard error as errors and events keep it.
pub(crate) fn excerpt(tail: &str) -> String {
    let from = tail.len().saturating_sub(EXCERPT_BYTES);
    let from = (from..=tail.len()).find(|at| tail.is_char_boundary(*at));
    tail[from.unwrap_or(tail.len())..].to_owned()
}

/// The last lines of standard error as a part of a one-line message; empty when there are none.
pub(crate) fn quote_stderr(tail: &str) -> String {
    let lines: Vec<&str> = tail
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let quoted = lines[lines.len().saturating_sub(QUOTED_LINES)..].join(" | ");
    let from = quoted.chars().count().saturating_sub(QUOTED_CHARACTERS);
    let quoted: String = quoted
        .chars()
        .skip(from)
        .filter(|letter| !letter.is_control())
        .collect();
    format!("; its stderr ends with: {quoted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_one_line_that_names_the_exit_and_quotes_stderr() {
        let reason = DropReason {
            cause: DropCause::OutputClosed,
            exit: Some(Exit::Code(3)),
            stderr_tail: "one\n\ntwo\r\n\u{1b}[31mthree\n".to_owned(),
        };
        assert_eq!(
            reason.to_string(),
            "the server's process ended (exit code 3); its stderr ends with: one | two | [31mthree"
        );
    }

    #[test]
    fn a_living_process_is_not_said_to_have_ended() {
        let reason = DropReason {
            cause: DropCause::OutputClosed,
            exit: None,
            stderr_tail: String::new(),
        };
        assert_eq!(reason.to_string(), "the server closed its output");
    }
}
