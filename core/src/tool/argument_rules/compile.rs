//! From a server's schema to something that checks.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::ArgumentRules;
use crate::json::RawJson;

/// A pattern may go back so often; one that needs more decides nothing. Bounds the time of patterns that blow up.
const MAX_BACKTRACKS: usize = 100_000;
/// A schema may have so many patterns that cannot be used.
const MAX_REPAIRS: usize = 64;

pub(super) fn rules(schema: &RawJson) -> ArgumentRules {
    let mut left_out = Vec::new();
    let mut schema: Value = match schema.parse_as() {
        Ok(schema) => schema,
        Err(_) => return unusable(left_out, "it is nested deeper than 128 levels"),
    };
    loop {
        let error = match compile(&schema) {
            Ok(validator) => {
                return ArgumentRules {
                    validator: Some(validator),
                    left_out,
                };
            }
            Err(error) => error,
        };
        let place = error.instance_path().to_string();
        let is_pattern =
            matches!(error.kind(), ValidationErrorKind::Format { format } if format == "regex");
        if !is_pattern || left_out.len() == MAX_REPAIRS || !leave_out(&mut schema, &place) {
            return unusable(left_out, &error.to_string());
        }
        left_out.push(format!(
            "the pattern at {place} is not used: it is no regular expression"
        ));
    }
}

fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options()
        // In 2020-12 a format says something to people and decides nothing.
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS))
        .offline()
        .build(schema)
}

fn unusable(mut left_out: Vec<String>, reason: &str) -> ArgumentRules {
    left_out.push(format!(
        "arguments are not checked, since the schema cannot be used: {reason}"
    ));
    ArgumentRules {
        validator: None,
        left_out,
    }
}

/// Takes the member at `place` away. Where it is a pattern for names, whatever it stood for is no longer known, so that
/// other names cannot be refused there any more.
fn leave_out(schema: &mut Value, place: &str) -> bool {
    let Some((parent, name)) = place.rsplit_once('/') else {
        return false;
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    if let Some((owner, "patternProperties")) = parent.rsplit_once('/')
        && let Some(Value::Object(owner)) = schema.pointer_mut(owner)
    {
        owner.remove("additionalProperties");
        owner.remove("unevaluatedProperties");
    }
    match schema.pointer_mut(parent) {
        Some(Value::Object(parent)) => parent.remove(&name).is_some(),
        _ => false,
    }
}
