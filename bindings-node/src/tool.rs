//! One tool as the native half holds it.

use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::CallOptions;
use mcp_resident_facade::mcp_resident::{Arguments, RawJson};
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::error::{number, thrown};

/// One tool of a source.
#[napi]
pub struct Tool {
    pub(crate) tool: Arc<facade::Tool>,
    /// Where the outcomes of its calls arrive.
    pub(crate) queue: Arc<facade::Queue>,
}

#[napi]
impl Tool {
    /// A number that no other tool has.
    #[napi]
    pub fn id(&self) -> f64 {
        number(self.tool.id())
    }

    /// Name, description, server, the tool's own name there, and its title.
    #[napi]
    pub fn facts(&self) -> Vec<Option<&str>> {
        let tool = &self.tool;
        vec![
            Some(tool.name()),
            Some(tool.description()),
            Some(tool.server()),
            Some(tool.server_tool()),
            tool.title(),
        ]
    }

    /// The text of a schema: `input`, `server`, `output`, `annotations`.
    #[napi]
    pub fn schema(&self, which: String) -> Option<&str> {
        let schema = match which.as_str() {
            "input" => Some(self.tool.input_schema()),
            "server" => Some(self.tool.server_schema()),
            "output" => self.tool.output_schema(),
            _ => self.tool.annotations(),
        };
        schema.map(RawJson::as_str)
    }

    /// Starts a call whose outcome arrives in the source's queue.
    #[napi]
    pub fn execute(
        &self,
        given: Option<String>,
        timeout_ms: Option<f64>,
        progress: bool,
    ) -> Result<f64> {
        let options = CallOptions::new(timeout_ms, progress);
        let arguments = given.map_or_else(Arguments::none, Arguments::from);
        let operation = self.tool.execute(&self.queue, arguments, options);
        operation.map(number).map_err(|error| thrown(&error))
    }
}
