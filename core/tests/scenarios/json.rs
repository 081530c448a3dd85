//! What the library gives, as the JSON that scenarios compare with.

use mcp_resident::{CallError, Event, EventKind, Metadata, RawJson, Request};
use serde_json::{Map, Value, json};

pub(crate) fn metadata(metadata: &Metadata) -> Value {
    let mut value = json!({ "server": &*metadata.server, "tool": &*metadata.tool });
    if let Some(error) = &metadata.error {
        value["error"] = call_error(error);
    }
    value
}

fn call_error(error: &CallError) -> Value {
    without_nulls(json!({
        "kind": error.kind.code(),
        "executed": error.executed.as_str(),
        "message": error.message,
        "code": error.code,
        "data": error.data.as_ref().map(RawJson::to_value),
        "exit": error.exit.map(exit),
        "stderrTail": error.stderr_tail,
    }))
}

pub(crate) fn request(request: &Request) -> Value {
    without_nulls(json!({
        "id": request.id,
        "kind": request.kind.as_str(),
        "prompt": request.prompt,
        "url": request.url,
        "data": request.data.as_ref().map(RawJson::to_value),
        "expiresAt": request.expires_at,
    }))
}

pub(crate) fn event(event: &Event) -> Value {
    let mut value = json!({
        "sequence": event.sequence,
        "server": &*event.server,
        "generation": event.generation,
        "event": event.kind.code(),
    });
    let fields = match &event.kind {
        EventKind::State { from, to, cause } => {
            json!({ "from": from.as_str(), "to": to.as_str(), "cause": cause })
        }
        EventKind::AttemptFailed {
            reason,
            exit: ended,
            stderr_tail,
        }
        | EventKind::Dropped {
            reason,
            exit: ended,
            stderr_tail,
        } => json!({ "reason": reason, "exit": ended.map(exit), "stderrTail": stderr_tail }),
        EventKind::RetryScheduled {
            retry, max_retries, ..
        } => json!({ "retry": retry, "maxRetries": max_retries }),
        EventKind::GaveUp { retries } => json!({ "retries": retries }),
        EventKind::ToolsChanged {
            added,
            removed,
            changed,
        } => json!({ "added": added, "removed": removed, "changed": changed }),
        EventKind::ToolDiagnostic { tool, reason } => json!({ "tool": tool, "reason": reason }),
        EventKind::Note { message } => json!({ "message": message }),
        EventKind::ServerLog { level, data } => json!({ "level": level, "data": data.to_value() }),
        EventKind::Closed {
            exit: ended,
            killed,
        } => json!({ "exit": ended.map(exit), "killed": killed }),
        _ => json!({}),
    };
    if let (Value::Object(value), Value::Object(fields)) = (&mut value, without_nulls(fields)) {
        value.extend(fields);
    }
    value
}

fn exit(exit: mcp_resident::Exit) -> Value {
    match exit {
        mcp_resident::Exit::Code(code) => json!({ "code": code }),
        mcp_resident::Exit::Signal(signal) => json!({ "signal": signal }),
        _ => json!({}),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter(|(_, member)| !member.is_null())
                .collect::<Map<_, _>>(),
        ),
        other => other,
    }
}

/// JSON without the white space between its tokens; numbers and the order of keys stay.
pub(crate) fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    text.chars()
        .filter(|character| {
            let keep = in_string || !character.is_ascii_whitespace();
            match character {
                '"' if !escaped => in_string = !in_string,
                _ => {}
            }
            escaped = *character == '\\' && !escaped;
            keep
        })
        .collect()
}
