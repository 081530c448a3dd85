//! The one tool of a lazy server that was never listed (SPEC 2.15).

use crate::catalog::sanitize;
use crate::json::RawJson;
use crate::tool::{PLACEHOLDER_SUFFIX, ToolDefinition};

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
