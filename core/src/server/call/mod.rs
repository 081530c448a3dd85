//! Calls of a server's tools.
//!
//! A call takes a connection (`waits`), is sent, and ends with a result; what goes wrong on the way is
//! put in words in `failure`; what is too large for a model is cut and saved in `large`.

mod failure;
mod large;
mod waits;

pub(super) use self::failure::closed;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use super::handle::Server;
use super::spec::ServerSpec;
use crate::config::addable;
use crate::connection::{
    Connection, Deadlines, ReplyError, RequestError, RequestOptions, read_result,
};
use crate::error::{CallError, Executed, FailureKind};
use crate::event::EventKind;
use crate::json::RawJson;
use crate::tool::{CallContext, Tool, ToolResult, render};
use crate::transport::RequestFailure;

impl Server {
    /// Runs one call. Never fails: what goes wrong is a result.
    pub(super) async fn call(
        &self,
        tool: &Tool,
        arguments: RawJson,
        context: CallContext,
    ) -> ToolResult {
        if tool.definition().is_placeholder {
            self.call_placeholder(tool, &arguments, context).await
        } else {
            Call::new(self, tool, context).result(arguments).await
        }
    }
}

/// One call of one tool.
pub(super) struct Call<'a> {
    server: &'a Server,
    /// The settings at its beginning.
    spec: Arc<ServerSpec>,
    tool: &'a Tool,
    context: CallContext,
    deadlines: Deadlines,
}

impl<'a> Call<'a> {
    pub(super) fn new(server: &'a Server, tool: &'a Tool, context: CallContext) -> Self {
        let spec = server.spec();
        let limits = &spec.limits;
        let idle = context.timeout.map_or(limits.call_idle, addable);
        let deadlines = Deadlines {
            idle,
            total: limits.call_total.max(idle),
            asking: limits.person_wait,
        };
        Self {
            server,
            spec,
            tool,
            context,
            deadlines,
        }
    }

    /// Runs the call to its end, whatever that is.
    pub(super) async fn result(&self, arguments: RawJson) -> ToolResult {
        let _in_use = self.server.in_use();
        let done = match self.checked(arguments) {
            Ok(arguments) => self.run(&arguments).await,
            Err(error) => Err(error),
        };
        done.unwrap_or_else(|error| self.tool.failed(error))
    }

    /// The arguments as they are sent, when the host wants them checked.
    fn checked(&self, arguments: RawJson) -> Result<RawJson, CallError> {
        let shared = &self.spec.shared;
        if !shared.validate_arguments {
            return Ok(arguments);
        }
        let rules = self.tool.argument_rules(|reason| {
            let tool = self.tool.server_tool().to_owned();
            let generation = self.server.look(|now| now.generation);
            let diagnostic = EventKind::ToolDiagnostic { tool, reason };
            shared.events.push(&self.spec.name, generation, diagnostic);
        });
        rules
            .check(arguments)
            .map_err(|reason| CallError::new(FailureKind::Arguments, Executed::No, reason))
    }

    /// Sends the call once; again only when the server refused it unrun because it did not know the
    /// session or a secret that can be fetched anew, or when the host allowed repeating it and the
    /// server said that this does no harm.
    async fn run(&self, arguments: &RawJson) -> Result<ToolResult, CallError> {
        let mut replaced = false;
        // How a call ended that is being repeated. It may have run, so this is what counts when it
        // cannot be.
        let mut lost: Option<CallError> = None;
        let mut waiting_since = Instant::now();
        loop {
            let ready = self.ready(waiting_since).await;
            let connection = match (ready, lost.take()) {
                (Ok(connection), first) => {
                    lost = first;
                    connection
                }
                (Err(_), Some(first)) => return Err(first),
                (Err(error), None) => return Err(error),
            };
            let mut tell = |params: Bytes| self.tell_progress(&params);
            let options = RequestOptions {
                deadlines: self.deadlines,
                cancel: self.context.cancel.as_ref(),
                ended: Some(self.server.released()),
                progress: self.context.progress.is_some().then_some(&mut tell as _),
            };
            let name = self.tool.server_tool();
            let error = match connection.call_tool(name, arguments, options).await {
                Ok(reply) => {
                    let result = self.answered(&connection, reply)?;
                    return Ok(self.bounded(result).await);
                }
                Err(error) => error,
            };
            waiting_since = Instant::now();
            let generation = connection.generation();
            match &error {
                RequestError::Transport(RequestFailure::SessionUnknown { .. }) if !replaced => {
                    replaced = true;
                    self.replace_connection(generation, "the session expired")
                        .await?;
                }
                RequestError::Transport(RequestFailure::Unauthorized { .. })
                    if !replaced && self.server.forget_secrets(generation) =>
                {
                    replaced = true;
                    self.replace_connection(generation, "the credentials were refused")
                        .await?;
                }
                // Lost before it was sent: as if it had come a moment later. Where there is no other
                // connection by then, looking for one says why.
                RequestError::Dropped { sent: false, .. }
                | RequestError::Closed { sent: false }
                    if lost.is_none() && !self.server.is_over() =>
                {
                    self.leave_behind(&connection, waiting_since).await?;
                }
                RequestError::Dropped { sent: true, .. } if lost.is_none() && self.may_repeat() => {
                    let first = self.failed(&error, &connection);
                    if self.leave_behind(&connection, waiting_since).await.is_err() {
                        return Err(first);
                    }
                    lost = Some(first);
                }
                _ => return Err(lost.unwrap_or_else(|| self.failed(&error, &connection))),
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
                let mut answer = ToolResult::answered(&self.spec.name, name, rendered, result);
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
}
