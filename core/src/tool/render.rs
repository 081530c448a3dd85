//! From a `tools/call` result to the text that a model reads (contract rule 7).

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::compact;

/// What a model is told when a tool failed without saying anything.
const SILENT_FAILURE: &str = "MCP tool returned an error";
/// What a model is told when a tool succeeded without saying anything.
const EMPTY: &str = "[empty result]";

/// The text for a model, and whether the tool reported a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) output: String,
    pub(crate) is_error: bool,
}

/// Nearly all results: nothing but texts, each of which is kept once.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextResult<'a> {
    content: Vec<TextBlock>,
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct TextBlock {
    #[serde(rename = "type")]
    _kind: TextKind,
    text: String,
}

#[derive(Deserialize)]
enum TextKind {
    #[serde(rename = "text")]
    Text,
}

/// Any result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyResult<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_error: Option<&'a RawValue>,
}

/// Renders a result, or says why it is none.
pub(crate) fn render(result: &str) -> Result<Rendered, String> {
    // A list would be read as the members in their order.
    if !result.starts_with('{') {
        return Err("the result is none: it is not an object".to_owned());
    }
    if let Ok(result) = serde_json::from_str::<TextResult<'_>>(result) {
        let texts = result.content.into_iter().map(|block| block.text).collect();
        return Ok(rendered(
            texts,
            &[],
            result.structured_content,
            result.is_error,
        ));
    }
    let result: AnyResult<'_> =
        serde_json::from_str(result).map_err(|error| format!("the result is none: {error}"))?;
    let blocks = result.content.unwrap_or_default();
    // A block that is odd in one member is described, not dropped with the whole result.
    let texts = blocks
        .iter()
        .filter_map(|block| serde_json::from_str::<TextBlock>(block.get()).ok())
        .map(|block| block.text)
        .collect();
    // Only `true` is true: nothing is guessed from what looks like it.
    let is_error = result.is_error.is_some_and(|flag| flag.get() == "true");
    Ok(rendered(
        texts,
        &blocks,
        result.structured_content,
        is_error,
    ))
}

fn rendered(
    texts: Vec<String>,
    blocks: &[&RawValue],
    structured: Option<&RawValue>,
    is_error: bool,
) -> Rendered {
    let output = match structured {
        _ if is_error => {
            let said = texts
                .into_iter()
                .filter(|text| !text.trim().is_empty())
                .collect();
            let said = joined(said, "\n\n");
            if said.is_empty() {
                SILENT_FAILURE.to_owned()
            } else {
                said
            }
        }
        Some(structured) => compact(structured.get()),
        None if !texts.is_empty() => joined(texts, "\n"),
        None if blocks.is_empty() => EMPTY.to_owned(),
        None => blocks
            .iter()
            .map(|block| describe(block.get()))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    Rendered { output, is_error }
}

/// One text is handed on as it is: it may be large.
fn joined(mut texts: Vec<String>, by: &str) -> String {
    if texts.len() == 1 {
        texts.remove(0)
    } else {
        texts.join(by)
    }
}

/// One line that names a block which is no text: `[type mediaType size uri]`.
fn describe(block: &str) -> String {
    let block: serde_json::Value = serde_json::from_str(block).unwrap_or_default();
    let resource = block.get("resource");
    let member = |name: &str| {
        block
            .get(name)
            .or_else(|| resource.and_then(|resource| resource.get(name)))
            .and_then(serde_json::Value::as_str)
    };
    let mut parts = vec![member("type").unwrap_or("unknown").to_owned()];
    parts.extend(member("mimeType").map(str::to_owned));
    let size = if let Some(data) = member("data").or_else(|| member("blob")) {
        Some(decoded_length(data))
    } else {
        member("text").map(str::len)
    };
    parts.extend(size.map(|bytes| format!("{bytes} bytes")));
    parts.extend(member("uri").map(str::to_owned));
    format!("[{}]", parts.join(" "))
}

/// How many bytes base64 text stands for.
fn decoded_length(base64: &str) -> usize {
    let significant = base64
        .trim_end_matches('=')
        .bytes()
        .filter(|b| !b.is_ascii_whitespace());
    significant.count() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(result: &str) -> String {
        render(result).unwrap().output
    }

    #[test]
    fn text_blocks_are_joined_by_a_line_break() {
        let result = r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]}"#;
        assert_eq!(output(result), "a\n\nb");
    }

    #[test]
    fn structured_content_wins_and_keeps_its_numbers() {
        let result = r#"{"content":[{"type":"text","text":"4 items"}],"structuredContent":{ "n": 1e2, "big": 18446744073709551616 }}"#;
        assert_eq!(output(result), r#"{"n":1e2,"big":18446744073709551616}"#);
        assert_eq!(output(r#"{"structuredContent":[1, 2]}"#), "[1,2]");
    }

    #[test]
    fn a_failure_gives_its_text_by_blank_lines_and_never_nothing() {
        let failed = render(
            r#"{"isError":true,"structuredContent":{},"content":[{"type":"text","text":" "},{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        );
        assert_eq!(
            failed.unwrap(),
            Rendered {
                output: "a\n\nb".to_owned(),
                is_error: true
            }
        );
        assert_eq!(output(r#"{"isError":true}"#), SILENT_FAILURE);
    }

    #[test]
    fn only_true_is_a_failure() {
        for flag in ["\"true\"", "1", "null", "false"] {
            let result =
                format!(r#"{{"isError":{flag},"content":[{{"type":"text","text":"Error: no"}}]}}"#);
            assert!(!render(&result).unwrap().is_error, "{flag}");
        }
    }

    #[test]
    fn what_is_no_text_is_named() {
        let result = r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"abc"}},{"type":"resource_link","uri":"file:///b"},{"type":"hologram"}]}"#;
        assert_eq!(
            output(result),
            "[image image/png 3 bytes]\n[resource text/plain 3 bytes file:///a]\n[resource_link file:///b]\n[hologram]"
        );
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        for result in [
            "{}",
            r#"{"content":null,"structuredContent":null}"#,
            r#"{"content":[]}"#,
        ] {
            assert_eq!(output(result), EMPTY, "{result}");
        }
    }

    #[test]
    fn what_is_no_result_says_so() {
        for result in ["[]", "3", "\"a\"", r#"{"content":3}"#] {
            assert!(render(result).is_err(), "{result}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(result in "\\PC{0,60}") {
            let _ = render(&result);
        }
    }
}
