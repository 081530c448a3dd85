//! Tools as servers list them, each judged alone.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Members, RawJson};

/// One entry of a listing that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolDefinition {
    /// The tool's own name on its server.
    pub(crate) name: Arc<str>,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    /// The server's schema of arguments, as it came; `{}` when it gave none.
    pub(crate) input_schema: RawJson,
    pub(crate) output_schema: Option<RawJson>,
    pub(crate) annotations: Option<RawJson>,
    /// The whole entry, as it came.
    pub(crate) raw: RawJson,
    /// Whether it stands for tools that are not known yet; no server can list one.
    pub(crate) is_placeholder: bool,
}

/// Why an entry of a listing was left out or adapted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// The tool's own name, or its place in the list when it has none.
    pub(crate) tool: String,
    pub(crate) reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
}

/// Reads a listing. What is odd about one entry never costs another.
pub(crate) fn read_listing(entries: Vec<RawJson>) -> (Vec<ToolDefinition>, Vec<Diagnostic>) {
    let mut tools: Vec<ToolDefinition> = Vec::with_capacity(entries.len());
    let mut places: HashMap<Arc<str>, usize> = HashMap::with_capacity(entries.len());
    let mut diagnostics = Vec::new();
    for (place, entry) in entries.into_iter().enumerate() {
        match read_entry(entry, &mut diagnostics) {
            Err(reason) => diagnostics.push(Diagnostic {
                tool: format!("number {}", place + 1),
                reason: format!("left out: {reason}"),
            }),
            Ok(tool) => match places.get(&tool.name) {
                Some(&first) if tools[first].raw == tool.raw => {}
                Some(_) => diagnostics.push(Diagnostic {
                    tool: tool.name.to_string(),
                    reason: "listed twice with different definitions: the first one is used"
                        .to_owned(),
                }),
                None => {
                    places.insert(Arc::clone(&tool.name), tools.len());
                    tools.push(tool);
                }
            },
        }
    }
    (tools, diagnostics)
}

fn read_entry(raw: RawJson, notes: &mut Vec<Diagnostic>) -> Result<ToolDefinition, String> {
    let entry: Entry<'_> =
        serde_json::from_str(raw.as_str()).map_err(|_| "the entry is not an object".to_owned())?;
    let name = text(entry.name).ok_or("it has no name")?;
    if name.is_empty() {
        return Err("its name is empty".to_owned());
    }
    let input_schema = match entry.input_schema {
        Some(schema) if schema.get().starts_with('{') => raw.part(schema.get()),
        other => {
            let found = other.map_or("missing", RawValue::get);
            notes.push(Diagnostic {
                tool: name.to_string(),
                reason: format!("/inputSchema is {}: `{{}}` is used", shortened(found)),
            });
            RawJson::empty_object()
        }
    };
    let object = |value: Option<&RawValue>| {
        value
            .filter(|value| value.get().starts_with('{'))
            .map(|value| raw.part(value.get()))
    };
    Ok(ToolDefinition {
        name: name.as_ref().into(),
        title: text(entry.title).map(Cow::into_owned),
        description: text(entry.description).unwrap_or_default().into_owned(),
        input_schema,
        output_schema: object(entry.output_schema),
        annotations: object(entry.annotations),
        raw: raw.clone(),
        is_placeholder: false,
    })
}

/// A string's value; anything else counts as absent.
fn text<'a>(value: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let text = value?.get();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str::<String>(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}

/// How a model is shown the schema of a tool's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaForm {
    /// As a closed object (SPEC 2.6).
    Closed,
    /// As the server gave it.
    AsListed,
}

/// The schema that a model is given (contract rule 6): the server's, as an object that is closed.
pub(crate) fn model_schema(server: &RawJson) -> RawJson {
    let mut members = Members::of(server).unwrap_or_default();
    members.set("type", RawJson::trusted(r#""object""#.to_owned()));
    if members
        .find("properties")
        .is_none_or(|properties| properties.is_null())
    {
        members.set("properties", RawJson::empty_object());
    }
    members.set("additionalProperties", RawJson::trusted("false".to_owned()));
    members.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        text.parse().unwrap()
    }

    #[test]
    fn the_models_schema_is_the_servers_closed_and_typed() {
        for (server, model) in [
            (
                "{}",
                r#"{"type":"object","properties":{},"additionalProperties":false}"#,
            ),
            (
                r#"{"additionalProperties":true,"properties":{"n":{"maximum":1e2}},"type":"array","$defs":{}}"#,
                r#"{"additionalProperties":false,"properties":{"n":{"maximum":1e2}},"type":"object","$defs":{}}"#,
            ),
            (
                "true",
                r#"{"type":"object","properties":{},"additionalProperties":false}"#,
            ),
        ] {
            assert_eq!(model_schema(&json(server)).as_str(), model);
        }
    }

    #[test]
    fn one_odd_entry_never_hides_the_others() {
        let entries = [
            r#"{"name":"good","inputSchema":{"type":"object"},"description":null,"annotations":null}"#,
            r#"{"name":"no-schema"}"#,
            r#"{"name":"bool-schema","inputSchema":true,"outputSchema":true}"#,
            r#"{"description":"nameless"}"#,
            "3",
            r#"{"name":""}"#,
            r#"{"name":"dup","inputSchema":{}}"#,
            r#"{"name":"dup","inputSchema":{}}"#,
            r#"{"name":"dup","inputSchema":{"type":"object"}}"#,
            r#"{"name":"esc\u0061ped","inputSchema":{}}"#,
        ];
        let (tools, diagnostics) = read_listing(entries.map(json).to_vec());
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(
            names,
            ["good", "no-schema", "bool-schema", "dup", "escaped"]
        );
        let reasons: Vec<String> = diagnostics
            .iter()
            .map(|d| format!("{}: {}", d.tool, d.reason))
            .collect();
        assert_eq!(
            reasons,
            [
                "no-schema: /inputSchema is missing: `{}` is used",
                "bool-schema: /inputSchema is true: `{}` is used",
                "number 4: left out: it has no name",
                "number 5: left out: the entry is not an object",
                "number 6: left out: its name is empty",
                "dup: listed twice with different definitions: the first one is used",
            ]
        );
    }
}
