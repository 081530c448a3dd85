//! The arguments of a call, from words of the command line to the object that a tool gets.

use std::collections::BTreeMap;
use std::str::FromStr;

use mcp_resident::{Arguments, RawJson};

/// One `key=value` of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    key: String,
    value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("expected key=value".to_owned()),
        }
    }
}

/// The object that a tool with this schema gets: `json` with the pairs over it, numbers as written.
///
/// # Errors
///
/// One line that names the argument and what it must be.
pub(crate) fn assemble(
    json: Option<&str>,
    pairs: &[Pair],
    schema: &RawJson,
) -> Result<RawJson, String> {
    let given = Arguments::from(json.unwrap_or_default()).to_object()?;
    if pairs.is_empty() {
        return Ok(given);
    }
    let mut members: BTreeMap<String, RawJson> =
        given.parse_as().map_err(|error| error.to_string())?;
    let properties = schema.member("properties");
    for Pair { key, value } in pairs {
        let types = properties
            .as_ref()
            .and_then(|properties| properties.member(key)?.member("type"))
            .map(|types| types_of(&types))
            .unwrap_or_default();
        let value = typed(value, &types).map_err(|reason| format!("argument `{key}` {reason}"))?;
        members.insert(key.clone(), value);
    }
    RawJson::from_serializable(&members).map_err(|error| error.to_string())
}

/// The names in a schema's `type`, which is one or a list.
fn types_of(types: &RawJson) -> Vec<String> {
    match types.parse_as::<String>() {
        Ok(one) => vec![one],
        Err(_) => types.parse_as().unwrap_or_default(),
    }
}

/// A text, unless the schema says that it cannot be one.
fn typed(value: &str, types: &[String]) -> Result<RawJson, String> {
    if types.is_empty() || types.iter().any(|name| name == "string") {
        return Ok(serde_json::Value::from(value).into());
    }
    value
        .parse::<RawJson>()
        .ok()
        .filter(|value| types.iter().any(|name| is_of_type(value.as_str(), name)))
        .ok_or_else(|| {
            let names: Vec<_> = types.iter().map(|name| with_article(name)).collect();
            format!("must be {}", names.join(" or "))
        })
}

/// Whether a JSON text is of a schema's type, as far as its first characters show.
fn is_of_type(json: &str, name: &str) -> bool {
    let is_number = json.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    match name {
        "number" => is_number,
        "integer" => is_number && !json.contains(['.', 'e', 'E']),
        "boolean" => matches!(json, "true" | "false"),
        "null" => json == "null",
        "object" => json.starts_with('{'),
        "array" => json.starts_with('['),
        _ => true,
    }
}

fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "integer" | "object" | "array" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"properties": {"n": {"type": "number"}, "i": {"type": "integer"}, "b": {"type": "boolean"},
        "o": {"type": "object"}, "a": {"type": ["array", "null"]}, "s": {"type": "string"},
        "u": {"type": ["integer", "string"]}, "any": {}}}"#;

    fn assembled(json: Option<&str>, words: &[&str]) -> Result<String, String> {
        let pairs: Vec<Pair> = words.iter().map(|word| word.parse().unwrap()).collect();
        let schema = SCHEMA.parse().unwrap();
        assemble(json, &pairs, &schema).map(|object| object.to_string())
    }

    #[test]
    fn the_schema_decides_what_a_word_means() {
        for (word, object) in [
            ("n=1e2", r#"{"n":1e2}"#),
            ("n=18446744073709551616", r#"{"n":18446744073709551616}"#),
            ("i=-3", r#"{"i":-3}"#),
            ("b=true", r#"{"b":true}"#),
            (r#"o={"x": 1}"#, r#"{"o":{"x": 1}}"#),
            ("a=[1]", r#"{"a":[1]}"#),
            ("a=null", r#"{"a":null}"#),
            ("s=1", r#"{"s":"1"}"#),
            ("s=", r#"{"s":""}"#),
            ("s=a=b", r#"{"s":"a=b"}"#),
            ("u=1", r#"{"u":"1"}"#),
            ("any=1", r#"{"any":"1"}"#),
            ("unknown=true", r#"{"unknown":"true"}"#),
        ] {
            assert_eq!(assembled(None, &[word]).as_deref(), Ok(object), "{word}");
        }
    }

    #[test]
    fn pairs_are_laid_over_the_json() {
        assert_eq!(
            assembled(Some(r#"{"n": 1.50, "s": "a"}"#), &["s=b"]).unwrap(),
            r#"{"n":1.50,"s":"b"}"#
        );
        assert_eq!(
            assembled(Some(r#"{"n": 1.50}"#), &[]).unwrap(),
            r#"{"n": 1.50}"#
        );
        assert_eq!(assembled(None, &[]).unwrap(), "{}");
    }

    #[test]
    fn a_wrong_word_is_named_with_what_it_must_be() {
        for (word, reason) in [
            ("n=x", "argument `n` must be a number"),
            ("n=", "argument `n` must be a number"),
            ("i=1.5", "argument `i` must be an integer"),
            ("b=yes", "argument `b` must be a boolean"),
            ("o=[]", "argument `o` must be an object"),
            ("a={}", "argument `a` must be an array or null"),
        ] {
            assert_eq!(assembled(None, &[word]).unwrap_err(), reason, "{word}");
        }
        assert!(assembled(Some("[]"), &[]).unwrap_err().contains("array"));
        assert!("=x".parse::<Pair>().is_err() && "x".parse::<Pair>().is_err());
    }
}
