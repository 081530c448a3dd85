//! Calls of a server's tools: which connection, how long, and what is said when it fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::handle::Server;
use crate::config::{Lazy, addable};
use crate::connection::{
    Connection, Deadlines, ReplyError, RequestError, RequestOptions, TimeLimit, read_result,
};
use crate::error::{CallError, ErrorKind, Executed, FailureKind};
use crate::event::State;
use crate::json::RawJson;
use crate::tool::{Arguments, Backend, CallContext, Tool, ToolResult, render};
use crate::transport::RequestFailure;

#[async_trait]
impl Backend for Server {
    async fn call(&self, tool: &Tool, arguments: RawJson, context: CallContext) -> ToolResult {
        if tool.definition().is_placeholder {
            return self.call_placeholder(tool, &arguments, context).await;
        }
        let call = Call::new(self, tool, context);
        match call.run(&arguments).await {
            Ok(result) => result,
            Err(error) => tool.failed(error),
        }
    }
}

impl Server {
    /// Connects, and then runs the tool that the arguments name, or answers with the list.
    async fn call_placeholder(
        &self,
        placeholder: &Tool,
        arguments: &RawJson,
        context: CallContext,
    ) -> ToolResult {
        let call = Call::new(self, placeholder, context.clone());
        if let Err(error) = call.connection().await {
            return placeholder.failed(error);
        }
        let Some(catalog) = self.catalog().map(|store| store.catalog()) else {
            return placeholder.failed(closed(Executed::No));
        };
        let server = &*self.spec().name;
        let tools = || {
            catalog
                .tools()
                .iter()
                .filter(|tool| tool.server() == server)
        };
        let Some(wanted) = arguments.member("tool").filter(|wanted| !wanted.is_null()) else {
            let lines: Vec<String> = tools()
                .map(|tool| format!("{}: {}", tool.name(), first_line(tool.description())))
                .collect();
            let output = format!("connected; its tools are:\n{}", lines.join("\n"));
            let name: Arc<str> = placeholder.server_tool().into();
            return ToolResult::told(&self.spec().name, &name, output);
        };
        let wanted: String = wanted.parse_as().unwrap_or_default();
        let found = tools().find(|tool| tool.name() == wanted || tool.server_tool() == wanted);
        let Some(tool) = found else {
            let names: Vec<&str> = tools().map(|tool| tool.name()).collect();
            return placeholder.failed(CallError::new(
                FailureKind::Withdrawn,
                Executed::No,
                format!(
                    "the server has no tool `{wanted}`; it has: {}",
                    names.join(", ")
                ),
            ));
        };
        let given = arguments
            .member("arguments")
            .map_or_else(Arguments::none, Arguments::from);
        match given.to_object() {
            Ok(object) => match Call::new(self, tool, context).run(&object).await {
                Ok(result) => result,
                Err(error) => tool.failed(error),
            },
            Err(reason) => {
                tool.failed(CallError::new(FailureKind::Arguments, Executed::No, reason))
            }
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// One call of one tool.
struct Call<'a> {
    server: &'a Server,
    tool: &'a Tool,
    context: CallContext,
    deadlines: Deadlines,
    started: Instant,
}

impl<'a> Call<'a> {
    fn new(server: &'a Server, tool: &'a Tool, context: CallContext) -> Self {
        let limits = &server.spec().limits;
        let idle = context.timeout.map_or(limits.call_idle, addable);
        let deadlines = Deadlines {
            idle,
            total: limits.call_total.max(idle),
            asking: limits.person_wait,
        };
        Self {
            server,
            tool,
            context,
            deadlines,
            started: Instant::now(),
        }
    }

    /// Runs the call. It is sent once; again only when the server refused it unrun because it did
    /// not know the session or a secret that can be fetched anew, or when the host allowed repeating it and the server said that it can
    /// be.
    async fn run(&self, arguments: &RawJson) -> Result<ToolResult, CallError> {
        let mut session_replaced = false;
        let mut repeated = false;
        loop {
            let connection = self.connection().await?;
            if self.server.look(|now| now.lacks(self.tool.server_tool())) {
                return Err(self.withdrawn());
            }
            let mut tell = |params: Bytes| self.tell_progress(&params);
            let options = RequestOptions {
                deadlines: self.deadlines,
                cancel: self.context.cancel.as_ref(),
                progress: self.context.progress.is_some().then_some(&mut tell as _),
            };
            let name = self.tool.server_tool();
            match connection.call_tool(name, arguments, options).await {
                Ok(reply) => return self.answered(&connection, reply),
                Err(RequestError::Transport(RequestFailure::SessionUnknown { .. }))
                    if !session_replaced =>
                {
                    session_replaced = true;
                    self.replace_session(connection.generation()).await?;
                }
                // Refused unrun; what a secret command printed may have expired.
                Err(RequestError::Transport(RequestFailure::Unauthorized { .. }))
                    if !session_replaced && self.server.spec().forget_secrets() =>
                {
                    session_replaced = true;
                    self.replace_session(connection.generation()).await?;
                }
                // Lost before it was sent: as if it had come a moment later. Where there is no other
                // connection by then, looking for one says why.
                Err(
                    RequestError::Dropped { sent: false, .. }
                    | RequestError::Closed { sent: false },
                ) if !self.server.look(|now| now.closed) => {
                    self.leave_behind(&connection).await?;
                }
                Err(RequestError::Dropped { sent: true, .. }) if !repeated && self.may_repeat() => {
                    repeated = true;
                    self.leave_behind(&connection).await?;
                }
                Err(error) => return Err(self.failed(&error, &connection)),
            }
        }
    }

    fn tell_progress(&self, params: &Bytes) {
        let Some(observer) = &self.context.progress else {
            return;
        };
        if let Some(params) = std::str::from_utf8(params)
            .ok()
            .and_then(|text| text.parse().ok())
        {
            // A panic of the observer ends this call of it and nothing else, as with events.
            let _ = catch_unwind(AssertUnwindSafe(|| observer(params)));
        }
    }

    fn answered(&self, connection: &Connection, reply: Bytes) -> Result<ToolResult, CallError> {
        match read_result(reply, render) {
            Ok((rendered, result)) => {
                let name = &self.tool.definition().name;
                let mut answer =
                    ToolResult::answered(&self.server.spec().name, name, rendered, result);
                // The output is the tool's to say; an error is logged.
                if let Some(error) = &mut answer.metadata.error {
                    error.message = connection.mask(&error.message);
                }
                Ok(answer)
            }
            Err(ReplyError::Error {
                code,
                message,
                data,
            }) => {
                let message = if message.is_empty() {
                    format!("the server answered with error {code}")
                } else {
                    connection.mask(&message)
                };
                let error = CallError::new(FailureKind::Protocol, Executed::Unknown, message);
                Err(CallError {
                    code: Some(code),
                    data: data.map(|data| connection.mask_json(data)),
                    ..error
                })
            }
            // A parser quotes what it cannot use.
            Err(ReplyError::Malformed(reason)) => Err(CallError::new(
                FailureKind::Protocol,
                Executed::Yes,
                connection.mask(&reason),
            )),
        }
    }

    /// The connection to call on: the current one, or the next one when an attempt is under way,
    /// due, or this call may cause it.
    async fn connection(&self) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = self.server.look(|now| now.usable().cloned()) {
            return Ok(connection);
        }
        let idle = self.deadlines.idle;
        let left = idle.saturating_sub(self.started.elapsed());
        tokio::select! {
            biased;
            () = cancelled(self.context.cancel.as_ref()) => Err(cancelled_call()),
            result = tokio::time::timeout(left, self.next_connection()) => {
                result.unwrap_or_else(|_| Err(CallError::new(
                    FailureKind::Timeout,
                    Executed::No,
                    format!("the server was not connected within {} ms", idle.as_millis()),
                )))
            }
        }
    }

    async fn next_connection(&self) -> Result<Arc<Connection>, CallError> {
        let mut snapshot = self.server.watch();
        let mut woken = false;
        loop {
            let (closed, expected, lost) = {
                let now = snapshot.borrow_and_update();
                if let Some(connection) = now.usable() {
                    return Ok(Arc::clone(connection));
                }
                (now.closed, now.attempt_expected, now.connection.is_some())
            };
            if closed {
                return Err(closed_call());
            }
            if self.may_connect() && !woken {
                woken = true;
                match self.server.wake().await {
                    Err(error) if error.kind() == ErrorKind::Closed => return Err(closed_call()),
                    Err(error) if !self.server.spec().auto_restart => {
                        return Err(self.unavailable(&error.to_string()));
                    }
                    Ok(()) | Err(_) => continue,
                }
            }
            // Lost, and its task has not said so yet: what it says next decides.
            if !expected && !lost {
                return Err(self.not_connected());
            }
            if snapshot.changed().await.is_err() {
                return Err(closed_call());
            }
        }
    }

    /// Whether a call may start the server.
    fn may_connect(&self) -> bool {
        self.server.spec().lazy != Lazy::No
    }

    fn may_repeat(&self) -> bool {
        let spec = self.server.spec();
        spec.shared.replay_repeatable_calls
            && (spec.auto_restart || self.may_connect())
            && self.tool.claims_to_be_repeatable()
    }

    /// Waits until the task knows that this connection is gone, so that the next look at the
    /// snapshot does not find it again.
    async fn leave_behind(&self, connection: &Connection) -> Result<(), CallError> {
        let generation = connection.generation();
        let mut snapshot = self.server.watch();
        let gone = snapshot.wait_for(|now| {
            now.closed
                || now.generation != generation
                || now.connection.is_none()
                || now.state != State::Running
        });
        let left = self.deadlines.idle.saturating_sub(self.started.elapsed());
        match tokio::time::timeout(left, gone).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(closed_call()),
            Err(_) => Err(self.not_connected()),
        }
    }

    async fn replace_session(&self, generation: u64) -> Result<(), CallError> {
        let left = self.deadlines.idle.saturating_sub(self.started.elapsed());
        tokio::select! {
            biased;
            () = cancelled(self.context.cancel.as_ref()) => Err(cancelled_call()),
            result = tokio::time::timeout(left, self.server.replace_session(generation)) => match result {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) if error.kind() == ErrorKind::Closed => Err(closed_call()),
                Ok(Err(error)) => Err(self.unavailable(&format!(
                    "the session expired and no new one could be opened: {}", error.message()
                ))),
                Err(_) => Err(CallError::new(
                    FailureKind::Timeout,
                    Executed::No,
                    "the session expired and no new one was opened in time",
                )),
            },
        }
    }

    fn withdrawn(&self) -> CallError {
        let message = format!("the server no longer offers `{}`", self.tool.server_tool());
        CallError::new(FailureKind::Withdrawn, Executed::No, message)
    }

    fn not_connected(&self) -> CallError {
        let snapshot = self.server.snapshot();
        let reason = match (&snapshot.last_error, snapshot.state) {
            (Some(error), _) => format!("not connected: {}", error.message()),
            (None, state) => format!("not connected: the server is {state}"),
        };
        self.unavailable(&format!("{reason}; restart it to use its tools again"))
    }

    fn unavailable(&self, message: &str) -> CallError {
        CallError::new(FailureKind::Unavailable, Executed::No, message)
    }

    fn failed(&self, error: &RequestError, connection: &Connection) -> CallError {
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
                Some(reason) => self.unavailable(&format!("not connected: {reason}")),
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
                if self.server.look(|now| now.closed) {
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

fn closed(executed: Executed) -> CallError {
    CallError::new(FailureKind::Closed, executed, "the source was closed")
}

fn closed_call() -> CallError {
    closed(Executed::No)
}

fn cancelled_call() -> CallError {
    CallError::new(
        FailureKind::Cancelled,
        Executed::No,
        "cancelled by the caller",
    )
}

async fn cancelled(cancel: Option<&CancellationToken>) {
    match cancel {
        Some(cancel) => cancel.cancelled().await,
        None => std::future::pending().await,
    }
}
