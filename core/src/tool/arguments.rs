//! The arguments of a call.

use crate::json::RawJson;

/// What a model or a host passes to a tool: a JSON object, or something that stands for one.
///
/// Nothing, `null` and empty text are `{}`; text that holds a JSON object is that object, because
/// models hand their arguments over as text. Everything else is refused before it is sent.
///
/// ```
/// use mcp_resident::Arguments;
/// use serde_json::json;
///
/// assert!(Arguments::from(json!({ "path": "a" })).to_object().is_ok());
/// assert_eq!(Arguments::from("").to_object().unwrap().as_str(), "{}");
/// assert!(Arguments::from(json!([1])).to_object().is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Arguments(Given);

#[derive(Debug, Clone, Default)]
enum Given {
    #[default]
    Nothing,
    Text(String),
    Value(RawJson),
}

impl Arguments {
    /// No arguments: `{}` on the wire.
    pub fn none() -> Self {
        Self::default()
    }

    /// The object that is sent, its numbers and its order as given; or why there is none.
    pub fn to_object(&self) -> Result<RawJson, String> {
        match &self.0 {
            Given::Nothing => Ok(RawJson::empty_object()),
            Given::Text(text) => object_of_text(text),
            Given::Value(value) => match value.as_str().as_bytes().first() {
                Some(b'{') => Ok(value.clone()),
                _ if value.is_null() => Ok(RawJson::empty_object()),
                Some(b'"') => match value.parse_as::<String>() {
                    Ok(text) => object_of_text(&text),
                    Err(error) => Err(error.to_string()),
                },
                _ => Err(not_an_object(value.as_str())),
            },
        }
    }
}

fn object_of_text(text: &str) -> Result<RawJson, String> {
    let text = text.trim();
    if text.is_empty() || text == "null" {
        return Ok(RawJson::empty_object());
    }
    let value: RawJson = text
        .parse()
        .map_err(|error| format!("arguments are not a JSON object: {error}"))?;
    if value.as_str().starts_with('{') {
        Ok(value)
    } else {
        Err(not_an_object(text))
    }
}

fn not_an_object(text: &str) -> String {
    let kind = match text.as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    };
    format!("arguments must be a JSON object, not {kind}")
}

impl From<serde_json::Value> for Arguments {
    fn from(value: serde_json::Value) -> Self {
        Self(Given::Value(value.into()))
    }
}

impl From<&serde_json::Value> for Arguments {
    fn from(value: &serde_json::Value) -> Self {
        Self(Given::Value(value.into()))
    }
}

impl From<RawJson> for Arguments {
    fn from(value: RawJson) -> Self {
        Self(Given::Value(value))
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self(Given::Text(text.to_owned()))
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self(Given::Text(text))
    }
}

impl From<()> for Arguments {
    fn from((): ()) -> Self {
        Self::none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_an_object_becomes_one() {
        for (given, object) in [
            (Arguments::none(), "{}"),
            (Arguments::from(" \n"), "{}"),
            (Arguments::from("null"), "{}"),
            (Arguments::from(serde_json::Value::Null), "{}"),
            (Arguments::from(r#" {"n": 1e2} "#), r#"{"n": 1e2}"#),
            (
                Arguments::from(serde_json::json!("{\"a\":1}")),
                r#"{"a":1}"#,
            ),
        ] {
            assert_eq!(given.to_object().unwrap().as_str(), object, "{given:?}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_what_it_is() {
        for (given, kind) in [
            ("[]", "not an array"),
            ("3", "not a number"),
            ("true", "not a boolean"),
            ("\"a\"", "not a string"),
            ("{", "not a JSON object"),
        ] {
            let reason = Arguments::from(given).to_object().unwrap_err();
            assert!(reason.contains(kind), "{given}: {reason}");
        }
    }
}
