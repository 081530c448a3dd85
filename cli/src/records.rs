//! The shapes of `--json`: what scripts rely on, apart from how the library happens to hold it.

use mcp_resident::config::{ConfigProblem, Position, ServerDefinition, launch_line};
use mcp_resident::{CallError, Error, McpSource, RawJson, Status, Tool, ToolResult};
use serde::Serialize;
use serde_json::{Value, json};

use crate::selection::Selection;

/// Where something was written.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

impl Place {
    pub(crate) fn new(file: Option<&str>, position: Option<Position>) -> Self {
        Self {
            file: file.map(str::to_owned),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
        }
    }
}

/// What is wrong with a configuration, or odd about it.
pub(crate) fn problem(problem: &ConfigProblem) -> Value {
    let place = Place::new(problem.origin.as_deref(), problem.position);
    json!({
        "place": place,
        "server": problem.server,
        "field": problem.field,
        "reason": problem.reason,
    })
}

fn error(error: &Error) -> Value {
    json!({"kind": error.kind().code(), "message": error.message()})
}

/// One server: how it stands.
#[derive(Debug)]
pub(crate) struct ServerRecord {
    pub(crate) name: String,
    /// One of the statuses of the library, or `untrusted`.
    pub(crate) status: &'static str,
    pub(crate) error: Option<Error>,
    /// What would be started, when it is not trusted.
    pub(crate) untrusted_launch: Option<String>,
}

impl ServerRecord {
    /// All servers of a selection after they were loaded.
    pub(crate) fn all(selection: &Selection, source: &McpSource) -> Vec<Self> {
        let loaded = source.servers().into_iter().filter_map(|name| {
            let info = source.info(&name).ok()?;
            Some(Self {
                name,
                status: info.status.as_str(),
                error: info.last_error,
                untrusted_launch: None,
            })
        });
        let untrusted = selection.untrusted.iter().map(Self::untrusted);
        loaded.chain(untrusted).collect()
    }

    /// A server that may not be started.
    pub(crate) fn untrusted(definition: &ServerDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            status: "untrusted",
            error: None,
            untrusted_launch: Some(launch_line(definition)),
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.status == Status::Failed.as_str()
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "server": self.name,
            "status": self.status,
            "error": self.error.as_ref().map(error),
        })
    }
}

/// One tool as a model sees it, and where it comes from.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolRecord<'t> {
    name: &'t str,
    server: &'t str,
    tool: &'t str,
    title: Option<&'t str>,
    description: &'t str,
    input_schema: &'t RawJson,
    output_schema: Option<&'t RawJson>,
    annotations: Option<&'t RawJson>,
}

impl<'t> From<&'t Tool> for ToolRecord<'t> {
    fn from(tool: &'t Tool) -> Self {
        Self {
            name: tool.name(),
            server: tool.server(),
            tool: tool.server_tool(),
            title: tool.title(),
            description: tool.description(),
            input_schema: tool.input_schema(),
            output_schema: tool.output_schema(),
            annotations: tool.annotations(),
        }
    }
}

/// What a call gave.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultRecord<'r> {
    server: &'r str,
    tool: &'r str,
    output: &'r str,
    is_error: bool,
    error: Option<&'r CallError>,
    content: Option<RawJson>,
    structured_content: Option<RawJson>,
    #[serde(rename = "_meta")]
    meta: Option<RawJson>,
}

impl<'r> From<&'r ToolResult> for ResultRecord<'r> {
    fn from(result: &'r ToolResult) -> Self {
        Self {
            server: &result.metadata.server,
            tool: &result.metadata.tool,
            output: &result.output,
            is_error: result.is_error,
            error: result.metadata.error.as_ref(),
            content: result.content(),
            structured_content: result.structured_content(),
            meta: result.meta(),
        }
    }
}
