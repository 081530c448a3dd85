//! What a call waits for before it is sent: a connection, or a newer one.

use std::future::Future;
use std::sync::Arc;

use tokio::time::Instant;

use super::Call;
use super::failure::{cancelled, closed};
use crate::config::Lazy;
use crate::connection::Connection;
use crate::error::{CallError, Error, ErrorKind, Executed, FailureKind};
use crate::event::State;

impl Call<'_> {
    /// A connection on which the tool is still offered.
    pub(super) async fn ready(&self, since: Instant) -> Result<Arc<Connection>, CallError> {
        let connection = self.connection(since).await?;
        let name = self.tool.server_tool();
        if self.server.lacks(name) {
            return Err(CallError::new(
                FailureKind::Withdrawn,
                Executed::No,
                format!("the server no longer offers `{name}`"),
            ));
        }
        Ok(connection)
    }

    /// The connection to call on: the current one, or the next one when an attempt is under way,
    /// due, or this call may cause it.
    pub(in crate::server) async fn connection(
        &self,
        since: Instant,
    ) -> Result<Arc<Connection>, CallError> {
        if self.server.is_released() {
            return Err(closed(Executed::No));
        }
        if let Some(connection) = self.server.look(|now| now.usable().cloned()) {
            return Ok(connection);
        }
        self.within(
            since,
            "the server was not connected",
            self.next_connection(),
        )
        .await
    }

    async fn next_connection(&self) -> Result<Arc<Connection>, CallError> {
        let mut snapshot = self.server.watch();
        let mut woken = false;
        loop {
            let (is_closed, expected, lost) = {
                let now = snapshot.borrow_and_update();
                if let Some(connection) = now.usable() {
                    return Ok(Arc::clone(connection));
                }
                (now.closed, now.attempt_expected, now.connection.is_some())
            };
            if is_closed {
                return Err(closed(Executed::No));
            }
            if self.may_connect() && !woken {
                woken = true;
                match self.server.wake().await {
                    Err(error) if error.kind() == ErrorKind::Closed || !self.spec.auto_restart => {
                        return Err(self.not_to_be_had(&error, &error.to_string()));
                    }
                    Ok(()) | Err(_) => continue,
                }
            }
            // Lost, and its task has not said so yet: what it says next decides.
            if !expected && !lost {
                return Err(self.not_connected());
            }
            if snapshot.changed().await.is_err() {
                return Err(closed(Executed::No));
            }
        }
    }

    /// Whether a call may start the server. One that the host stopped stays so, unless it is lazy or others use it too.
    fn may_connect(&self) -> bool {
        let (state, dormant) = self.server.look(|now| (now.state, now.dormant));
        let reconnects = self.spec.shared.calls_reconnect && state != State::Stopped;
        self.spec.lazy != Lazy::No || dormant || reconnects
    }

    pub(super) fn may_repeat(&self) -> bool {
        let spec = &self.spec;
        spec.shared.replay_repeatable_calls
            && (spec.auto_restart || self.may_connect())
            && self.tool.claims_to_be_repeatable()
    }

    /// Waits until the task knows that this connection is gone, so that the next look at the
    /// snapshot does not find it again.
    pub(super) async fn leave_behind(
        &self,
        connection: &Connection,
        since: Instant,
    ) -> Result<(), CallError> {
        let generation = connection.generation();
        let gone = async {
            let mut snapshot = self.server.watch();
            let gone = snapshot.wait_for(|now| {
                now.closed
                    || now.generation != generation
                    || now.connection.is_none()
                    || now.state != State::Running
            });
            gone.await.map(drop).map_err(|_| closed(Executed::No))
        };
        self.within(since, "the server was not connected again", gone)
            .await
    }

    /// Has the connection of this generation replaced, unless that is done already.
    pub(super) async fn replace_connection(
        &self,
        generation: u64,
        why: &str,
    ) -> Result<(), CallError> {
        let replacing = async {
            let replaced = self.server.replace_session(generation).await;
            replaced.map_err(|error| {
                let message = format!(
                    "{why}, and no new session could be opened: {}",
                    error.message()
                );
                self.not_to_be_had(&error, &message)
            })
        };
        let late = format!("{why}, and no new session was opened");
        self.within(Instant::now(), &late, replacing).await
    }

    /// Runs a wait that begins at `since` within the call's own timeout, until the caller cancels.
    async fn within<T>(
        &self,
        since: Instant,
        what: &str,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let idle = self.deadlines.idle;
        tokio::select! {
            biased;
            () = cancelled(self.context.cancel.as_ref()) => Err(CallError::new(
                FailureKind::Cancelled,
                Executed::No,
                "cancelled by the caller",
            )),
            () = self.server.released().cancelled() => Err(closed(Executed::No)),
            result = tokio::time::timeout_at(since + idle, work) => result.unwrap_or_else(|_| {
                let message = format!("{what} within {} ms", idle.as_millis());
                Err(CallError::new(FailureKind::Timeout, Executed::No, message))
            }),
        }
    }

    /// Why there is no connection, by how the attempt to get one failed.
    fn not_to_be_had(&self, error: &Error, message: &str) -> CallError {
        let kind = match error.kind() {
            ErrorKind::Closed => return closed(Executed::No),
            ErrorKind::NeedsAuth => FailureKind::NeedsAuth,
            _ => FailureKind::Unavailable,
        };
        CallError::new(kind, Executed::No, message)
    }

    pub(super) fn not_connected(&self) -> CallError {
        if !self.spec.definition.enabled {
            let message = "not connected: the server is switched off by its configuration";
            return CallError::new(FailureKind::Unavailable, Executed::No, message);
        }
        let snapshot = self.server.snapshot();
        match (&snapshot.last_error, snapshot.state) {
            (Some(error), _) => self.not_to_be_had(
                error,
                &format!(
                    "not connected: {}; restart it to use its tools again",
                    error.message()
                ),
            ),
            (None, state) => CallError::new(
                FailureKind::Unavailable,
                Executed::No,
                format!("not connected: the server is {state}; start it to use its tools again"),
            ),
        }
    }
}
