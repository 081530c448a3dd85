//! Sessions and exchanges as the native half holds them.

use std::sync::Arc;

use mcp_resident_facade as facade;
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::error::text;
use crate::source::{Source, begun};
use crate::tool::Tool;

/// The servers of a user and a project.
#[napi]
pub struct Session {
    pub(crate) session: Arc<facade::Session>,
    pub(crate) queue: Arc<facade::Queue>,
}

#[napi]
impl Session {
    /// The servers themselves.
    #[napi]
    pub fn source(&self) -> Source {
        Source {
            source: Arc::clone(self.session.source()),
            queue: Arc::clone(&self.queue),
        }
    }

    /// Begins an exchange.
    #[napi]
    pub fn exchange(&self) -> Result<f64> {
        begun(self.session.exchange(&self.queue))
    }

    /// Reads the files again.
    #[napi]
    pub fn reload(&self) -> Result<f64> {
        begun(self.session.reload(&self.queue))
    }

    /// Decides anew what of the project's file may be started, by a choice in JSON.
    #[napi]
    pub fn trust(&self, choice: String) -> Result<f64> {
        begun(self.session.trust(&self.queue, &choice))
    }

    /// JSON: what is not trusted.
    #[napi]
    pub fn untrusted(&self) -> String {
        text(&self.session.untrusted())
    }
}

/// The tools of one exchange.
#[napi]
pub struct Exchange {
    pub(crate) exchange: Arc<facade::Exchange>,
    pub(crate) queue: Arc<facade::Queue>,
}

#[napi]
impl Exchange {
    /// The tools to declare.
    #[napi]
    pub fn tools(&self) -> Vec<Tool> {
        let tools = self.exchange.tools().iter();
        tools.map(|tool| self.held(Arc::clone(tool))).collect()
    }

    /// A tool by its name, hidden and deferred ones included.
    #[napi]
    pub fn tool(&self, name: String) -> Option<Tool> {
        self.exchange.tool(&name).map(|tool| self.held(tool))
    }

    fn held(&self, tool: Arc<facade::Tool>) -> Tool {
        Tool {
            tool,
            queue: Arc::clone(&self.queue),
        }
    }
}
