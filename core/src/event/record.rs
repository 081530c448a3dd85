//! The events themselves.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_resident_process::Exit;

use serde::Serialize;

use super::State;
use crate::json::{RawJson, form};

/// One thing that happened to a server.
///
/// Its JSON form is one object: the fields below, `event` with the [code](EventKind::code), and the
/// fields of that kind, in camelCase. What does not apply is left out.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Grows by one with each event of a source, from 1.
    pub sequence: u64,
    /// When it happened; in JSON `atMs`, milliseconds since 1970.
    #[serde(rename = "atMs", serialize_with = "form::epoch_milliseconds")]
    pub at: SystemTime,
    /// The server's name in the configuration.
    pub server: Arc<str>,
    /// The connection it belongs to: 1 for the first one, 0 before any was tried.
    pub generation: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened to a server.
#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "event",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum EventKind {
    /// Its state changed.
    State {
        /// The state before.
        from: State,
        /// The state now.
        to: State,
        /// Why, in one line.
        cause: String,
    },
    /// An attempt to connect failed.
    AttemptFailed {
        /// Why, in one line.
        reason: String,
        /// How the process ended, when it did.
        #[serde(serialize_with = "form::exit", skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
        /// The end of what the process wrote to its standard error.
        stderr_tail: String,
    },
    /// A running connection ended by itself.
    Dropped {
        /// Why, in one line.
        reason: String,
        /// How the process ended, when it did.
        #[serde(serialize_with = "form::exit", skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
        /// The end of what the process wrote to its standard error.
        stderr_tail: String,
    },
    /// Another attempt will be made by itself.
    RetryScheduled {
        /// Which one this is, from 1.
        retry: u32,
        /// How many there may be in a row.
        max_retries: u32,
        /// How long until then; in JSON `delayMs`.
        #[serde(rename = "delayMs", serialize_with = "form::milliseconds")]
        delay: Duration,
    },
    /// No further attempt will be made by itself.
    GaveUp {
        /// How many were made.
        retries: u32,
    },
    /// An expired HTTP session was replaced.
    SessionReplaced,
    /// The list of tools was published again, changed.
    ToolsChanged {
        /// Names that a model may now call.
        added: Vec<String>,
        /// Names that are gone.
        removed: Vec<String>,
        /// Names whose description or schema changed.
        changed: Vec<String>,
    },
    /// A tool of the server's list was left out or adapted.
    ToolDiagnostic {
        /// The tool's own name, or its place in the list when it has none.
        tool: String,
        /// Why, in one line.
        reason: String,
    },
    /// Something worth knowing that is no failure, such as a listening stream that was lost.
    Note {
        /// What, in one line.
        message: String,
    },
    /// A log message that the server sent.
    ServerLog {
        /// The level, as sent.
        level: String,
        /// The data, as sent.
        data: RawJson,
    },
    /// The server's resources are gone for good.
    Closed {
        /// How the process ended, when there was one.
        #[serde(serialize_with = "form::exit", skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
        /// Whether it had to be killed.
        killed: bool,
    },
}

impl EventKind {
    /// The stable code of this kind of event.
    pub fn code(&self) -> &'static str {
        match self {
            EventKind::State { .. } => "state",
            EventKind::AttemptFailed { .. } => "attempt_failed",
            EventKind::Dropped { .. } => "dropped",
            EventKind::RetryScheduled { .. } => "retry_scheduled",
            EventKind::GaveUp { .. } => "gave_up",
            EventKind::SessionReplaced => "session_replaced",
            EventKind::ToolsChanged { .. } => "tools_changed",
            EventKind::ToolDiagnostic { .. } => "tool_diagnostic",
            EventKind::Note { .. } => "note",
            EventKind::ServerLog { .. } => "server_log",
            EventKind::Closed { .. } => "closed",
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventKind::State { from, to, cause } => write!(formatter, "{from} -> {to}: {cause}"),
            EventKind::AttemptFailed { reason, .. } => {
                write!(formatter, "attempt failed: {reason}")
            }
            EventKind::Dropped { reason, .. } => write!(formatter, "dropped: {reason}"),
            EventKind::RetryScheduled {
                retry,
                max_retries,
                delay,
            } => {
                write!(
                    formatter,
                    "retry {retry} of {max_retries} in {} ms",
                    delay.as_millis()
                )
            }
            EventKind::GaveUp { retries } => write!(formatter, "gave up after {retries} retries"),
            EventKind::SessionReplaced => formatter.write_str("expired session replaced"),
            EventKind::ToolsChanged {
                added,
                removed,
                changed,
            } => write!(
                formatter,
                "tools changed: {} added, {} removed, {} changed",
                added.len(),
                removed.len(),
                changed.len()
            ),
            EventKind::ToolDiagnostic { tool, reason } => {
                write!(formatter, "tool `{tool}`: {reason}")
            }
            EventKind::Note { message } => formatter.write_str(message),
            EventKind::ServerLog { level, data } => write!(formatter, "log ({level}): {data}"),
            EventKind::Closed { killed: true, .. } => {
                formatter.write_str("closed: had to be killed")
            }
            EventKind::Closed {
                exit: Some(exit), ..
            } => write!(formatter, "closed: {exit}"),
            EventKind::Closed { exit: None, .. } => formatter.write_str("closed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(kind: EventKind) -> String {
        let event = Event {
            sequence: 3,
            at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_500),
            server: Arc::from("s"),
            generation: 2,
            kind,
        };
        serde_json::to_string(&event).unwrap()
    }

    #[test]
    fn the_json_form_is_one_flat_object() {
        let common = r#"{"sequence":3,"atMs":1500,"server":"s","generation":2,"event":"#;
        let dropped = EventKind::Dropped {
            reason: "lost".to_owned(),
            exit: Some(Exit::Signal(9)),
            stderr_tail: String::new(),
        };
        let retry = EventKind::RetryScheduled {
            retry: 1,
            max_retries: 5,
            delay: Duration::from_millis(250),
        };
        let log = EventKind::ServerLog {
            level: "info".to_owned(),
            data: r#"{"n":1e2}"#.parse().unwrap(),
        };
        let closed = EventKind::Closed {
            exit: None,
            killed: true,
        };
        for (kind, rest) in [
            (
                dropped,
                r#""dropped","reason":"lost","exit":{"signal":9},"stderrTail":""}"#,
            ),
            (
                retry,
                r#""retry_scheduled","retry":1,"maxRetries":5,"delayMs":250}"#,
            ),
            (EventKind::SessionReplaced, r#""session_replaced"}"#),
            (log, r#""server_log","level":"info","data":{"n":1e2}}"#),
            (closed, r#""closed","killed":true}"#),
        ] {
            assert_eq!(kind.code(), rest.split('"').nth(1).unwrap());
            assert_eq!(json(kind), format!("{common}{rest}"));
        }
    }
}
