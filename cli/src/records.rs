//! The shapes of `--json`: what scripts rely on, apart from how the library happens to hold it.

use mcp_resident::config::{ConfigProblem, Position, ServerDefinition, launch_line};
use mcp_resident::{
    CallError, Error, Event, EventKind, McpSource, RawJson, Status, Tool, ToolResult,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

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
    error: Option<CallErrorRecord<'r>>,
    content: Option<RawJson>,
    structured_content: Option<RawJson>,
    #[serde(rename = "_meta")]
    meta: Option<RawJson>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallErrorRecord<'r> {
    kind: &'static str,
    executed: &'static str,
    message: &'r str,
    code: Option<i64>,
    data: Option<&'r RawJson>,
    exit: Option<String>,
    stderr_tail: Option<&'r str>,
}

impl<'r> From<&'r ToolResult> for ResultRecord<'r> {
    fn from(result: &'r ToolResult) -> Self {
        Self {
            server: &result.metadata.server,
            tool: &result.metadata.tool,
            output: &result.output,
            is_error: result.is_error,
            error: result.metadata.error.as_ref().map(CallErrorRecord::from),
            content: result.content(),
            structured_content: result.structured_content(),
            meta: result.meta(),
        }
    }
}

impl<'r> From<&'r CallError> for CallErrorRecord<'r> {
    fn from(error: &'r CallError) -> Self {
        Self {
            kind: error.kind.code(),
            executed: error.executed.as_str(),
            message: &error.message,
            code: error.code,
            data: error.data.as_ref(),
            exit: error.exit.map(|exit| exit.to_string()),
            stderr_tail: error.stderr_tail.as_deref(),
        }
    }
}

/// One event. What every event has comes first, what its kind has after it.
pub(crate) fn event(event: &Event) -> Value {
    let mut record = Map::new();
    record.insert("sequence".to_owned(), event.sequence.into());
    record.insert("atMs".to_owned(), milliseconds(event).into());
    record.insert("server".to_owned(), (*event.server).into());
    record.insert("generation".to_owned(), event.generation.into());
    record.insert("event".to_owned(), event.kind.code().into());
    if let Value::Object(fields) = fields(&event.kind) {
        record.extend(fields);
    }
    Value::Object(record)
}

/// When it happened, in milliseconds since 1970.
pub(crate) fn milliseconds(event: &Event) -> u64 {
    let since = event.at.duration_since(std::time::UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| since.as_millis().try_into().ok())
        .unwrap_or_default()
}

fn fields(kind: &EventKind) -> Value {
    match kind {
        EventKind::State { from, to, cause } => {
            json!({"from": from.as_str(), "to": to.as_str(), "cause": cause})
        }
        EventKind::AttemptFailed {
            reason,
            exit,
            stderr_tail,
        }
        | EventKind::Dropped {
            reason,
            exit,
            stderr_tail,
        } => json!({
            "reason": reason,
            "exit": exit.map(|exit| exit.to_string()),
            "stderrTail": stderr_tail,
        }),
        EventKind::RetryScheduled {
            retry,
            max_retries,
            delay,
        } => json!({
            "retry": retry,
            "maxRetries": max_retries,
            "delayMs": u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        }),
        EventKind::GaveUp { retries } => json!({"retries": retries}),
        EventKind::ToolsChanged {
            added,
            removed,
            changed,
        } => json!({"added": added, "removed": removed, "changed": changed}),
        EventKind::ToolDiagnostic { tool, reason } => json!({"tool": tool, "reason": reason}),
        EventKind::Note { message } => json!({"message": message}),
        EventKind::ServerLog { level, data } => json!({"level": level, "data": data.to_value()}),
        EventKind::Closed { exit, killed } => {
            json!({"exit": exit.map(|exit| exit.to_string()), "killed": killed})
        }
        // Without fields, or of a kind that this program does not know yet.
        _ => json!({}),
    }
}
