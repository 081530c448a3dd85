//! Failures: what goes wrong outside of a call ([`Error`]), and how a call ended ([`CallError`]).

use std::fmt;

use mcp_resident_process::Exit;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::json::{RawJson, form};

/// What kind of failure an [`Error`] is. The codes are the same in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration cannot be read, or an entry of it cannot be used.
    Config,
    /// No server of this name is in the configuration.
    UnknownServer,
    /// The server is switched off by its configuration.
    Disabled,
    /// The program could not be started.
    Spawn,
    /// The server could not be reached, or refused the connection.
    Connect,
    /// The server asks for credentials that it was not given.
    NeedsAuth,
    /// The server broke the protocol.
    Protocol,
    /// The connection ended.
    Dropped,
    /// A limit of time ran out.
    Timeout,
    /// The caller cancelled.
    Cancelled,
    /// The source was closed.
    Closed,
    /// The process was forked after it had loaded servers, whose threads it does not have.
    Forked,
    /// A defect of this library.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of SPEC's table.
    pub const ALL: [ErrorKind; 13] = [
        ErrorKind::Config,
        ErrorKind::UnknownServer,
        ErrorKind::Disabled,
        ErrorKind::Spawn,
        ErrorKind::Connect,
        ErrorKind::NeedsAuth,
        ErrorKind::Protocol,
        ErrorKind::Dropped,
        ErrorKind::Timeout,
        ErrorKind::Cancelled,
        ErrorKind::Closed,
        ErrorKind::Forked,
        ErrorKind::Internal,
    ];

    /// The stable code of this kind.
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::Config => "config",
            ErrorKind::UnknownServer => "unknown_server",
            ErrorKind::Disabled => "disabled",
            ErrorKind::Spawn => "spawn",
            ErrorKind::Connect => "connect",
            ErrorKind::NeedsAuth => "needs_auth",
            ErrorKind::Protocol => "protocol",
            ErrorKind::Dropped => "dropped",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Closed => "closed",
            ErrorKind::Forked => "forked",
            ErrorKind::Internal => "internal",
        }
    }
}

/// A failure of loading, starting, restarting, listing or closing.
///
/// [`Display`](fmt::Display) is one line that names the server, says what happened and what to do.
/// It never holds a secret. Its JSON form is `{"kind", "server", "message"}` with that line as the
/// message; `server` is left out when no server failed.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    server: Option<String>,
    message: String,
}

impl Error {
    /// A failure of this kind. Bindings use it for what only they can find out.
    ///
    /// `message` is one line in lower case that says what happened and what to do, and holds no secret.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            server: None,
            message: message.into(),
        }
    }

    pub(crate) fn of_server(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The server that failed, when it was one.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// What happened, without the server's name.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(formatter, "server `{server}`: {}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self, self.kind.code())
    }
}

impl std::error::Error for Error {}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Error", 3)?;
        fields.serialize_field("kind", &self.kind)?;
        match &self.server {
            Some(server) => fields.serialize_field("server", server)?,
            None => fields.skip_field("server")?,
        }
        fields.serialize_field("message", &self.to_string())?;
        fields.end()
    }
}

/// Why a call has no result of the tool's own. The codes are the same in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The tool ran and reported a failure (`isError`).
    Tool,
    /// The server answered with a JSON-RPC error, or with something that is no answer.
    Protocol,
    /// The arguments are not an object, or do not fit the tool's schema.
    Arguments,
    /// The server is not connected, or could not be reached.
    Unavailable,
    /// The server asks for credentials that it was not given.
    NeedsAuth,
    /// The connection ended while the call was running.
    Dropped,
    /// A limit of time ran out.
    Timeout,
    /// The caller cancelled the call.
    Cancelled,
    /// The source was closed.
    Closed,
    /// The server no longer offers the tool.
    Withdrawn,
    /// The result is larger than the limit of a message.
    TooLarge,
    /// A defect of this library.
    Internal,
}

impl FailureKind {
    /// Every kind, in the order of SPEC's table.
    pub const ALL: [FailureKind; 12] = [
        FailureKind::Tool,
        FailureKind::Protocol,
        FailureKind::Arguments,
        FailureKind::Unavailable,
        FailureKind::NeedsAuth,
        FailureKind::Dropped,
        FailureKind::Timeout,
        FailureKind::Cancelled,
        FailureKind::Closed,
        FailureKind::Withdrawn,
        FailureKind::TooLarge,
        FailureKind::Internal,
    ];

    /// The stable code of this kind.
    pub fn code(self) -> &'static str {
        match self {
            FailureKind::Tool => "tool",
            FailureKind::Protocol => "protocol",
            FailureKind::Arguments => "arguments",
            FailureKind::Unavailable => "unavailable",
            FailureKind::NeedsAuth => "needs_auth",
            FailureKind::Dropped => "dropped",
            FailureKind::Timeout => "timeout",
            FailureKind::Cancelled => "cancelled",
            FailureKind::Closed => "closed",
            FailureKind::Withdrawn => "withdrawn",
            FailureKind::TooLarge => "too_large",
            FailureKind::Internal => "internal",
        }
    }
}

/// Whether the server ran a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Executed {
    /// It certainly did not: the request never reached it, or it refused it.
    No,
    /// It certainly did: it answered.
    Yes,
    /// It may have: the request was sent and no answer came.
    Unknown,
}

impl Executed {
    /// `no`, `yes` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Executed::No => "no",
            Executed::Yes => "yes",
            Executed::Unknown => "unknown",
        }
    }
}

/// Why a call failed: `metadata.error` of its result.
///
/// Its JSON form has the fields' names in camelCase; what does not apply is left out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallError {
    /// What kind of failure this is.
    pub kind: FailureKind,
    /// Whether the tool may have had its effect.
    pub executed: Executed,
    /// One line: what happened and what to do. Never a secret.
    pub message: String,
    /// The code of the server's JSON-RPC error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// The data of the server's JSON-RPC error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
    /// How the server's process ended, when that ended the call.
    #[serde(serialize_with = "form::exit", skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The end of what the server wrote to its standard error, when that ended the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<String>,
}

impl CallError {
    pub(crate) fn new(kind: FailureKind, executed: Executed, message: impl Into<String>) -> Self {
        Self {
            kind,
            executed,
            message: message.into(),
            code: None,
            data: None,
            exit: None,
            stderr_tail: None,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_what_serialization_gives() {
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
        }
        for kind in FailureKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
        }
    }

    #[test]
    fn the_json_forms_leave_out_what_does_not_apply() {
        let error = Error::new(ErrorKind::Spawn, "no such file").of_server("git");
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"kind":"spawn","server":"git","message":"server `git`: no such file"}"#
        );
        let error = CallError {
            exit: Some(Exit::Code(3)),
            ..CallError::new(FailureKind::Dropped, Executed::Unknown, "lost")
        };
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"kind":"dropped","executed":"unknown","message":"lost","exit":{"code":3}}"#
        );
    }
}
