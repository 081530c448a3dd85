//! The one tool of a lazy server that was never listed (SPEC 2.15).

use std::sync::Arc;

use tokio::time::Instant;

use super::call::{Call, closed};
use super::handle::Server;
use crate::catalog::sanitize;
use crate::error::{CallError, Executed, FailureKind};
use crate::json::RawJson;
use crate::tool::{Arguments, CallContext, PLACEHOLDER_SUFFIX, Tool, ToolDefinition, ToolResult};

/// The placeholder of a server.
pub(super) fn definition(server: &str) -> ToolDefinition {
    let entry = serde_json::json!({
        "name": PLACEHOLDER_SUFFIX,
        "description": format!(
            "Connects the server `{}`, whose tools are not known yet. Without arguments it answers \
             with the list of tools; with `tool` it runs that tool with `arguments`.",
            sanitize(server)
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool": { "type": "string", "description": "the name of a tool of the server" },
                "arguments": { "type": "object", "description": "the arguments of that tool" }
            }
        }
    });
    let schema = entry["inputSchema"].clone();
    ToolDefinition {
        name: PLACEHOLDER_SUFFIX.into(),
        title: None,
        description: entry["description"].as_str().unwrap_or_default().to_owned(),
        input_schema: RawJson::from(schema),
        output_schema: None,
        annotations: None,
        raw: RawJson::from(entry),
        is_placeholder: true,
    }
}

impl Server {
    /// Connects, and then runs the tool that the arguments name, or answers with the list.
    pub(super) async fn call_placeholder(
        &self,
        placeholder: &Tool,
        arguments: &RawJson,
        context: CallContext,
    ) -> ToolResult {
        let call = Call::new(self, placeholder, context.clone());
        if let Err(error) = call.connection(Instant::now()).await {
            return placeholder.failed(error);
        }
        let Some(catalog) = self.catalog().map(|store| store.catalog()) else {
            return placeholder.failed(closed(Executed::No));
        };
        let server = &**self.name();
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
            return ToolResult::told(self.name(), &name, output);
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
            Ok(object) => Call::new(self, tool, context).result(object).await,
            Err(reason) => {
                tool.failed(CallError::new(FailureKind::Arguments, Executed::No, reason))
            }
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
