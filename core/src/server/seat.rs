//! The place of a server in a source: a name for which one instance after another may serve.
//!
//! Tools are called through their seat, so that a tool that a host holds, or that an exchange has pinned, finds the
//! instance that serves now, whatever a new configuration put in the place of the one that listed it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::handle::Server;
use crate::error::{CallError, Executed, FailureKind};
use crate::json::RawJson;
use crate::tool::{Backend, CallContext, Tool, ToolResult};

/// How long a call waits for who serves next, when its instance was replaced. Nothing outside of this process is waited
/// for, so it takes no time; the limit is for defects.
const NEXT_INSTANCE_WAIT: Duration = Duration::from_secs(10);

/// The instance that serves for a name.
#[derive(Debug)]
pub(crate) struct Seat {
    server: watch::Sender<Option<Arc<Server>>>,
}

impl Seat {
    pub(crate) fn vacant() -> Arc<Self> {
        let (server, _) = watch::channel(None);
        Arc::new(Self { server })
    }

    /// The instance that serves now; none when the configuration no longer has the name.
    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        self.server.borrow().clone()
    }

    /// Has this instance serve from now on, or nobody.
    pub(crate) fn give_to(&self, server: Option<Arc<Server>>) {
        self.server.send_replace(server);
    }

    /// Waits until another one serves than `before`, or nobody.
    async fn after(&self, before: &Arc<Server>) -> Option<Arc<Server>> {
        let mut server = self.server.subscribe();
        let another =
            |now: &Option<Arc<Server>>| now.as_ref().is_none_or(|now| !Arc::ptr_eq(now, before));
        // The sender is this seat's own.
        let now = server.wait_for(another).await.ok()?;
        now.clone()
    }
}

#[async_trait]
impl Backend for Seat {
    /// Calls the instance that serves now; and the next one, when this one was replaced before the call was sent.
    async fn call(&self, tool: &Tool, arguments: RawJson, context: CallContext) -> ToolResult {
        let mut serving = self.server();
        while let Some(server) = serving {
            let result = server.call(tool, arguments.clone(), context.clone()).await;
            let unsent = result.metadata.error.as_ref().is_some_and(|error| {
                error.kind == FailureKind::Closed && error.executed == Executed::No
            });
            if !unsent || !server.is_released() {
                return result;
            }
            let cancel = context.cancel.clone().unwrap_or_default();
            serving = tokio::select! {
                biased;
                () = server.source_closing() => return result,
                () = cancel.cancelled() => return tool.failed(CallError::new(
                    FailureKind::Cancelled,
                    Executed::No,
                    "cancelled by the caller",
                )),
                next = self.after(&server) => next,
                () = tokio::time::sleep(NEXT_INSTANCE_WAIT) => return result,
            };
        }
        tool.failed(CallError::new(
            FailureKind::Withdrawn,
            Executed::No,
            "the configuration no longer has the server",
        ))
    }
}
