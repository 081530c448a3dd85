//! The clients that are measured, with as much in common as there is.

pub(crate) mod floor;
mod launch;
mod ours;
mod rmcp;

use std::future::Future;

use serde_json::Value;

use crate::Failure;

pub(crate) use launch::{HttpServer, Launch};
pub(crate) use ours::Ours;
pub(crate) use rmcp::Rmcp;

/// A client that is connected to some servers.
pub(crate) trait Client: Sized {
    /// Calls one tool.
    type Caller: Caller;

    /// Connects all servers at once and lists their tools.
    async fn connect(servers: &[Launch], wait: Wait) -> Result<Self, Failure>;

    /// A tool of the server at this place.
    fn caller(&self, server: usize, tool: &str) -> Result<Self::Caller, Failure>;

    /// Lists all tools of the first server again and says how many there are.
    async fn list_again(&mut self) -> Result<usize, Failure>;

    /// Disconnects.
    async fn close(self);
}

/// For which servers a client waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    All,
    /// For those that are ready soon, where a client can do that.
    Ready,
}

/// One tool, callable from any task.
pub(crate) trait Caller: Clone + Send + Sync + 'static {
    /// Calls the tool and returns the text of its result.
    fn call(&self, arguments: Value) -> impl Future<Output = Result<String, Failure>> + Send;
}
