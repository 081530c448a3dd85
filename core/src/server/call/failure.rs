//! What is said of a call that has no result.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Call;
use crate::connection::{Connection, RequestError, TimeLimit};
use crate::error::{CallError, Executed, FailureKind};
use crate::transport::RequestFailure;

impl Call<'_> {
    pub(super) fn failed(&self, error: &RequestError, connection: &Connection) -> CallError {
        let executed = error.executed();
        match error {
            RequestError::Transport(failure) => {
                let (kind, message) = transport_failure(failure);
                CallError::new(kind, executed, connection.mask(&message))
            }
            RequestError::Dropped {
                reason: Some(reason),
                sent: true,
            } => {
                let error = CallError::new(FailureKind::Dropped, executed, reason.to_string());
                let tail = Some(reason.stderr_tail.clone()).filter(|tail| !tail.is_empty());
                CallError {
                    exit: reason.exit,
                    stderr_tail: tail,
                    ..error
                }
            }
            RequestError::Dropped {
                reason: None,
                sent: true,
            } => CallError::new(FailureKind::Dropped, executed, "the connection was lost"),
            RequestError::Dropped {
                sent: false,
                reason,
            } => match reason {
                Some(reason) => CallError::new(
                    FailureKind::Unavailable,
                    executed,
                    format!("not connected: {reason}"),
                ),
                None => self.not_connected(),
            },
            RequestError::Timeout {
                sent: false, after, ..
            } => CallError::new(
                FailureKind::Timeout,
                executed,
                format!(
                    "timed out after {} ms before it could be sent: the server is busy with other calls",
                    after.as_millis()
                ),
            ),
            RequestError::Timeout { limit, after, .. } => CallError::new(
                FailureKind::Timeout,
                executed,
                self.timed_out(*limit, *after),
            ),
            RequestError::Cancelled { .. } => {
                CallError::new(FailureKind::Cancelled, executed, "cancelled by the caller")
            }
            RequestError::Closed { .. } => {
                // One that was not sent may go to the instance that comes next.
                if self.server.is_source_closing()
                    || (executed == Executed::No && self.server.is_over())
                {
                    return closed(executed);
                }
                let message = "the server was stopped or restarted while the call was running";
                CallError::new(FailureKind::Dropped, executed, message)
            }
            RequestError::TooLarge(limit) => too_large(*limit),
        }
    }

    fn timed_out(&self, limit: TimeLimit, after: Duration) -> String {
        let after = after.as_millis();
        match limit {
            TimeLimit::Idle => format!(
                "timed out after {after} ms: no answer and no progress for {} ms",
                self.deadlines.idle.as_millis()
            ),
            TimeLimit::Total => format!(
                "timed out after {after} ms: the limit of a whole call is {} ms",
                self.deadlines.total.as_millis()
            ),
            TimeLimit::Asking => format!(
                "timed out after {after} ms: nobody answered the server's question within {} ms",
                self.deadlines.asking.as_millis()
            ),
        }
    }
}

fn transport_failure(failure: &RequestFailure) -> (FailureKind, String) {
    let kind = match failure {
        RequestFailure::NotSent { .. }
        | RequestFailure::Redirected { .. }
        | RequestFailure::NoEndpoint { .. }
        | RequestFailure::SessionUnknown { .. } => FailureKind::Unavailable,
        RequestFailure::Unauthorized { .. } | RequestFailure::Forbidden { .. } => {
            FailureKind::NeedsAuth
        }
        RequestFailure::Interrupted { .. }
        | RequestFailure::StreamEnded { .. }
        | RequestFailure::Closed => FailureKind::Dropped,
        RequestFailure::TooLarge { limit } => {
            return (FailureKind::TooLarge, too_large(*limit).message);
        }
        // Whoever answered speaks for a server that it could not reach, or that takes no calls now.
        RequestFailure::Status { status, .. } if matches!(status.as_u16(), 502..=504) => {
            FailureKind::Unavailable
        }
        RequestFailure::Internal { .. } => FailureKind::Internal,
        _ => FailureKind::Protocol,
    };
    (kind, failure.to_string())
}

fn too_large(limit: usize) -> CallError {
    CallError::new(
        FailureKind::TooLarge,
        Executed::Yes,
        format!("the result is larger than the limit of {limit} bytes (`maxMessageBytes`)"),
    )
}

pub(in crate::server) fn closed(executed: Executed) -> CallError {
    CallError::new(FailureKind::Closed, executed, "the source was closed")
}

pub(super) async fn cancelled(cancel: Option<&CancellationToken>) {
    match cancel {
        Some(cancel) => cancel.cancelled().await,
        None => std::future::pending().await,
    }
}
