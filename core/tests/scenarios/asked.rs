//! What the driver asks.

use mcp_resident::RawJson;
use serde::Deserialize;
use serde_json::Value;

/// One request; each has a part of the fields.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(crate) struct Asked {
    id: u64,
    #[serde(rename = "do")]
    pub(crate) verb: String,
    pub(crate) config: Value,
    pub(crate) options: Value,
    pub(crate) asks: bool,
    pub(crate) request: u64,
    pub(crate) tool: String,
    /// Exactly as written.
    pub(crate) arguments: Option<RawJson>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) remembered: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) states: Vec<String>,
    pub(crate) after: u64,
    pub(crate) label: String,
    pub(crate) since: String,
    pub(crate) choice: Vec<String>,
    pub(crate) question: usize,
    pub(crate) answer: Option<Given>,
}

/// The answer to a question.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Given {
    pub(crate) ok: bool,
    pub(crate) data: Option<Value>,
    pub(crate) reason: String,
}

impl Asked {
    /// The request and its id, which is known also where the rest is wrong.
    pub(crate) fn read(line: &str) -> (u64, serde_json::Result<Self>) {
        let asked: serde_json::Result<Self> = serde_json::from_str(line);
        let id = match &asked {
            Ok(asked) => Some(asked.id),
            Err(_) => serde_json::from_str(line)
                .ok()
                .and_then(|wrong: Value| wrong["id"].as_u64()),
        };
        (id.unwrap_or_default(), asked)
    }
}
