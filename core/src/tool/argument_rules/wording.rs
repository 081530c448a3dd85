//! What is wrong with arguments, in words that a model can act on: where, what was expected, what was sent.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::Location;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::errors;

/// So many problems are told; the others are counted.
const MAX_PROBLEMS: usize = 5;
/// So many alternatives of `anyOf` or `oneOf`, or values of `enum`, are told.
const MAX_ALTERNATIVES: usize = 12;
/// So many characters of a value are shown.
const MAX_SHOWN: usize = 60;
/// Alternatives can hold alternatives; deeper ones are not told.
const MAX_DEPTH: usize = 3;

pub(super) fn problems(validator: &Validator, arguments: &Value) -> String {
    let mut problems: Vec<String> = errors(validator, arguments)
        .map(|error| problem(&error, 0))
        .collect();
    problems.dedup();
    let others = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    let mut message = format!("invalid arguments: {}", problems.join("; "));
    if others > 0 {
        message.push_str(&format!("; and {others} more"));
    }
    message
}

fn problem(error: &ValidationError<'_>, depth: usize) -> String {
    use ValidationErrorKind as Kind;
    let instance = error.instance();
    let place = place(error.instance_path());
    match error.kind() {
        Kind::Type { kind } => {
            format!("{place}: expected {}, got {}", types(kind), shown(instance))
        }
        Kind::Required { property } => format!("{place}: {} is missing", shown(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| format!("`{name}`")).collect();
            format!("{place}: there is no argument {}", listed(&names, ", "))
        }
        Kind::Enum { options } => {
            let options: Vec<String> = options
                .as_array()
                .map(|options| options.iter().map(shown).collect())
                .unwrap_or_default();
            format!(
                "{place}: expected one of {}, got {}",
                listed(&options, ", "),
                shown(instance)
            )
        }
        Kind::Constant { expected_value } => format!(
            "{place}: expected {}, got {}",
            shown(expected_value),
            shown(instance)
        ),
        Kind::Pattern { pattern } => format!(
            "{place}: expected text that matches {}, got {}",
            shortened(pattern),
            shown(instance)
        ),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } if depth < MAX_DEPTH => {
            let alternatives: Vec<String> = context
                .iter()
                .filter_map(|branch| branch.first())
                .map(|error| problem(error, depth + 1))
                .collect();
            format!(
                "{place}: fits no alternative ({})",
                listed(&alternatives, "; or ")
            )
        }
        _ => format!("{place}: {}, got {}", error.masked(), shown(instance)),
    }
}

/// The place as a JSON pointer; the arguments as a whole by their name.
fn place(location: &Location) -> String {
    match location.as_str() {
        "" => "the arguments".to_owned(),
        place => shortened(place),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
            kinds.join(" or ")
        }
    }
}

fn listed(parts: &[String], between: &str) -> String {
    let shown = parts.len().min(MAX_ALTERNATIVES);
    let mut list = parts[..shown].join(between);
    if shown < parts.len() {
        list.push_str(&format!("{between}and {} more", parts.len() - shown));
    }
    list
}

fn shown(value: &Value) -> String {
    shortened(&value.to_string())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
