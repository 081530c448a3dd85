//! One tool as the native half holds it.

use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::CallOptions;
use mcp_resident_facade::mcp_resident::{Arguments, RawJson};

use crate::error::NativeFailure;
use crate::queue::NativeQueue;

/// One tool of a source.
#[derive(uniffi::Object)]
pub struct NativeTool {
    pub(crate) tool: Arc<facade::Tool>,
}

/// What is known of a tool and does not change.
#[derive(uniffi::Record)]
pub struct NativeFacts {
    /// A number that no other tool has.
    pub id: u64,
    /// The name for a model.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its title for people.
    pub title: Option<String>,
    /// The server's name.
    pub server: String,
    /// Its own name there.
    pub server_tool: String,
}

#[uniffi::export]
impl NativeTool {
    /// What is known of it.
    pub fn facts(&self) -> NativeFacts {
        let tool = &self.tool;
        NativeFacts {
            id: tool.id(),
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            title: tool.title().map(str::to_owned),
            server: tool.server().to_owned(),
            server_tool: tool.server_tool().to_owned(),
        }
    }

    /// The text of a schema: `input`, `server`, `output`, `annotations`.
    pub fn schema(&self, which: String) -> Option<String> {
        let schema = match which.as_str() {
            "input" => Some(self.tool.input_schema()),
            "server" => Some(self.tool.server_schema()),
            "output" => self.tool.output_schema(),
            _ => self.tool.annotations(),
        };
        schema.map(RawJson::as_str).map(str::to_owned)
    }

    /// Starts a call whose outcome arrives in `queue`.
    pub fn execute(
        &self,
        queue: Arc<NativeQueue>,
        given: Option<String>,
        timeout_ms: Option<f64>,
        progress: bool,
    ) -> Result<u64, NativeFailure> {
        let options = CallOptions::new(timeout_ms, progress);
        let arguments = given.map_or_else(Arguments::none, Arguments::from);
        Ok(self.tool.execute(&queue.queue, arguments, options)?)
    }
}
