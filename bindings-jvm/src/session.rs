//! Sessions and exchanges as the native half holds them.

use std::sync::Arc;

use mcp_resident_facade as facade;

use crate::error::{NativeFailure, json};
use crate::queue::NativeQueue;
use crate::source::NativeSource;
use crate::tool::NativeTool;

/// The servers of a user and a project.
#[derive(uniffi::Object)]
pub struct NativeSession {
    pub(crate) session: Arc<facade::Session>,
}

#[uniffi::export]
impl NativeSession {
    /// The servers themselves.
    pub fn source(&self) -> Arc<NativeSource> {
        Arc::new(NativeSource {
            source: Arc::clone(self.session.source()),
        })
    }

    /// Begins an exchange.
    pub fn exchange(&self, queue: Arc<NativeQueue>) -> Result<u64, NativeFailure> {
        Ok(self.session.exchange(&queue.queue)?)
    }

    /// Reads the files again.
    pub fn reload(&self, queue: Arc<NativeQueue>) -> Result<u64, NativeFailure> {
        Ok(self.session.reload(&queue.queue)?)
    }

    /// Decides anew what of the project's file may be started, by a choice in JSON.
    pub fn trust(&self, queue: Arc<NativeQueue>, choice: String) -> Result<u64, NativeFailure> {
        Ok(self.session.trust(&queue.queue, &choice)?)
    }

    /// JSON: what is not trusted.
    pub fn untrusted(&self) -> String {
        json(&self.session.untrusted())
    }
}

/// The tools of one exchange.
#[derive(uniffi::Object)]
pub struct NativeExchange {
    pub(crate) exchange: Arc<facade::Exchange>,
}

#[uniffi::export]
impl NativeExchange {
    /// The tools to declare.
    pub fn tools(&self) -> Vec<Arc<NativeTool>> {
        let tools = self.exchange.tools().iter().cloned();
        tools.map(|tool| Arc::new(NativeTool { tool })).collect()
    }

    /// A tool by its name, hidden and deferred ones included.
    pub fn tool(&self, name: String) -> Option<Arc<NativeTool>> {
        let tool = self.exchange.tool(&name)?;
        Some(Arc::new(NativeTool { tool }))
    }
}
