//! Why an attempt to open a connection failed, in words.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use mcp_resident_process::{Exit, Process};

use super::drop_reason::{DropReason, excerpt, quote_stderr};
use super::opening::Opening;
use super::router::Signals;
use crate::error::{Error, ErrorKind};
use crate::protocol::HandshakeError;
use crate::transport::{DropCause, RequestFailure};

/// Why an attempt failed, with what its process left behind.
#[derive(Debug)]
pub(crate) struct OpenError {
    pub(crate) error: Error,
    pub(crate) exit: Option<Exit>,
    pub(crate) stderr_tail: String,
}

impl OpenError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            error: Error::new(kind, message),
            exit: None,
            stderr_tail: String::new(),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.error.message())
    }
}

/// What ended a handshake.
pub(super) enum Interruption {
    Cancelled,
    Dropped(DropCause),
    Timeout(Duration),
    Handshake(HandshakeError),
}

pub(super) fn cancelled() -> OpenError {
    OpenError::new(ErrorKind::Cancelled, "cancelled by the caller")
}

impl Opening {
    pub(super) async fn explain(
        &self,
        interruption: Interruption,
        signals: &Signals,
        process: Option<&Process>,
    ) -> (OpenError, Option<StatusCode>) {
        let noise = self.mask(&signals.noise());
        let error = match interruption {
            Interruption::Cancelled => return (cancelled(), None),
            Interruption::Dropped(cause) => {
                let mask = |text: &str| self.redactor.mask_cut_start(text);
                let reason = DropReason::find(cause, process, mask).await;
                let message = reason.told(" before the handshake was done", &noise);
                return (
                    OpenError {
                        error: Error::new(ErrorKind::Dropped, message),
                        exit: reason.exit,
                        stderr_tail: reason.stderr_tail,
                    },
                    None,
                );
            }
            Interruption::Timeout(after) => Error::new(
                ErrorKind::Timeout,
                format!("no answer to `initialize` within {} ms{noise}", after.as_millis()),
            ),
            Interruption::Handshake(HandshakeError::Transport(failure)) => {
                let status = failure.status();
                return (self.transport_error(&failure), status);
            }
            Interruption::Handshake(HandshakeError::Refused { code, message, .. }) => Error::new(
                ErrorKind::Protocol,
                self.mask(&format!("the server refused `initialize`: {message} ({code}){noise}")),
            ),
            Interruption::Handshake(HandshakeError::NoAnswer(reason)) => {
                Error::new(ErrorKind::Protocol, self.mask(&format!("{reason}{noise}")))
            }
            Interruption::Handshake(HandshakeError::Version { theirs }) => Error::new(
                ErrorKind::Protocol,
                self.mask(&format!(
                    "the server speaks protocol version `{theirs}`, this host 2024-11-05 to 2025-11-25"
                )),
            ),
            Interruption::Handshake(HandshakeError::Closed) => {
                Error::new(ErrorKind::Dropped, "the connection ended during the handshake")
            }
        };
        let tail = process.map_or_else(String::new, |process| {
            excerpt(&self.redactor.mask_cut_start(&process.stderr_tail()))
        });
        let message = format!("{}{}", error.message(), quote_stderr(&tail));
        let error = Error::new(error.kind(), message);
        (
            OpenError {
                error,
                exit: process.and_then(Process::exit),
                stderr_tail: tail,
            },
            None,
        )
    }

    pub(super) fn transport_error(&self, failure: &RequestFailure) -> OpenError {
        let kind = match failure {
            RequestFailure::Unauthorized { .. } | RequestFailure::Forbidden { .. } => {
                ErrorKind::NeedsAuth
            }
            RequestFailure::NotSent { .. }
            | RequestFailure::NoEndpointEvent { .. }
            | RequestFailure::Interrupted { .. }
            | RequestFailure::NoEndpoint { .. }
            | RequestFailure::Redirected { .. }
            | RequestFailure::Status { .. } => ErrorKind::Connect,
            _ => ErrorKind::Protocol,
        };
        OpenError::new(kind, self.mask(&failure.to_string()))
    }

    pub(super) fn mask(&self, text: &str) -> String {
        self.redactor.mask(text).into_owned()
    }
}
