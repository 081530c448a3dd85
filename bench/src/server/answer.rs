//! From a request to its reply.

use std::fmt::Write as _;

use memchr::memmem;
use serde_json::{Value, json};

/// The length of the text that `large` returns, in bytes.
pub(crate) const LARGE_TEXT_BYTES: usize = 10 * 1024 * 1024;
/// Tools that are listed however many were asked for.
pub(crate) const TOOLS_BESIDES: usize = 2;
/// Tools on one page of the list.
const PAGE_SIZE: usize = 100;
/// The large text is made of lines, as texts are.
const LINE_BYTES: usize = 128;

/// What kind of message was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    Initialize,
    Request,
    /// It wants no reply.
    Notification,
}

/// What is prepared, so that an answer costs next to nothing.
pub(super) struct Answers {
    /// The objects of all tools, in pages: `{...},{...}`.
    pages: Vec<String>,
    /// The large text as JSON, made when it is first asked for: a server's start is measured too.
    large: Vec<u8>,
    /// How often the list was begun; the last tool's description says it, so that no two are equal.
    listings: u64,
}

impl Answers {
    pub(super) fn new(generated_tools: usize) -> Self {
        let named = ["echo", "large"].map(str::to_owned);
        let generated = (0..generated_tools).map(|index| format!("generated_{index:05}"));
        let tools: Vec<String> = named.into_iter().chain(generated).map(tool).collect();
        Self {
            pages: tools.chunks(PAGE_SIZE).map(|page| page.join(",")).collect(),
            large: Vec::new(),
            listings: 0,
        }
    }

    /// Appends the reply to `out`, without a line break.
    pub(super) fn answer(&mut self, message: &[u8], out: &mut Vec<u8>) -> Answered {
        if memmem::find(message, br#""method":"tools/call""#).is_some() {
            let text: &[u8] = if memmem::find(message, br#""name":"large""#).is_some() {
                if self.large.is_empty() {
                    self.large = large_text();
                }
                &self.large
            } else {
                after(message, br#""text":""#, |byte| byte != b'"')
            };
            out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            out.extend_from_slice(after(message, br#""id":"#, |byte| byte.is_ascii_digit()));
            out.extend_from_slice(br#","result":{"content":[{"type":"text","text":""#);
            out.extend_from_slice(text);
            out.extend_from_slice(br#""}]}}"#);
            return Answered::Request;
        }
        let request: Value = serde_json::from_slice(message).unwrap_or_default();
        let Some(id) = request.get("id") else {
            return Answered::Notification;
        };
        let method = request["method"].as_str().unwrap_or_default();
        let result = match method {
            "initialize" => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1"},
            })
            .to_string(),
            "tools/list" => self.list(&request["params"]["cursor"]),
            _ => "{}".to_owned(),
        };
        out.extend_from_slice(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).as_bytes(),
        );
        if method == "initialize" {
            Answered::Initialize
        } else {
            Answered::Request
        }
    }

    fn list(&mut self, cursor: &Value) -> String {
        let number = cursor.as_str().and_then(|cursor| cursor.parse().ok());
        let number: usize = number.unwrap_or_default();
        if number == 0 {
            self.listings += 1;
        }
        let page = self.pages.get(number).map_or("", String::as_str);
        let mut result = String::with_capacity(page.len() + 64);
        result.push_str(r#"{"tools":["#);
        // Writing to a string cannot fail.
        if number + 1 < self.pages.len() {
            result.push_str(page);
            let _ = write!(result, r#"],"nextCursor":"{}"}}"#, number + 1);
        } else {
            result.push_str(&page.replace("REVISION", &format!("{:08}", self.listings)));
            result.push_str("]}");
        }
        result
    }
}

fn large_text() -> Vec<u8> {
    let line = format!("{}\\n", "x".repeat(LINE_BYTES - 1));
    line.repeat(LARGE_TEXT_BYTES / LINE_BYTES).into_bytes()
}

/// What follows the first `mark` for as long as it is `wanted`.
fn after<'m>(message: &'m [u8], mark: &[u8], wanted: impl Fn(u8) -> bool) -> &'m [u8] {
    let start = memmem::find(message, mark).map_or(message.len(), |found| found + mark.len());
    let rest = &message[start..];
    let length = rest.iter().take_while(|byte| wanted(**byte)).count();
    &rest[..length]
}

/// A tool of the usual size.
fn tool(name: String) -> String {
    json!({
        "name": name,
        "description": "Finds the entries that match a query, newest first. Revision REVISION.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to look for"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most"},
                "fields": {"type": "array", "items": {"type": "string"}, "description": "Which fields to return"},
            },
        },
        "annotations": {"readOnlyHint": true},
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(answers: &mut Answers, message: &Value) -> Value {
        let mut out = Vec::new();
        answers.answer(message.to_string().as_bytes(), &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_call_is_answered_with_its_own_text() {
        let mut answers = Answers::new(0);
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "42"}}});
        let reply = answer(&mut answers, &call);
        assert_eq!(reply["id"], 7);
        assert_eq!(reply["result"]["content"][0]["text"], "42");
    }

    #[test]
    fn the_large_text_has_its_length() {
        let mut answers = Answers::new(0);
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "large"}});
        let reply = answer(&mut answers, &call);
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), LARGE_TEXT_BYTES);
    }

    #[test]
    fn every_tool_is_on_one_page_and_no_two_lists_are_equal() {
        let mut answers = Answers::new(250);
        let mut lists = [Vec::new(), Vec::new()];
        for list in &mut lists {
            let mut cursor = Value::Null;
            loop {
                let request =
                    json!({"id": 1, "method": "tools/list", "params": {"cursor": cursor}});
                let page = answer(&mut answers, &request)["result"].take();
                list.extend(page["tools"].as_array().unwrap().clone());
                cursor = page["nextCursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
        }
        assert_eq!(lists[0].len(), 250 + TOOLS_BESIDES);
        assert_ne!(lists[0], lists[1]);
    }
}
