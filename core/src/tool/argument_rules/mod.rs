//! The rules of a tool's arguments: what its server's schema says, checked before anything is sent (SPEC 2.21).
//!
//! A schema is the server's, and servers are wrong now and then. What of it cannot be used is left out and reported, and
//! checks nothing; it never makes a tool uncallable.

mod compile;
mod nulls;
mod wording;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use crate::json::RawJson;

/// What arguments are checked with.
#[derive(Debug)]
pub(crate) struct ArgumentRules {
    /// None when the schema cannot be used.
    validator: Option<Validator>,
    /// What of the schema is left out, and why.
    pub(crate) left_out: Vec<String>,
}

impl ArgumentRules {
    /// Reads a server's schema. Nothing that it refers to is fetched.
    pub(crate) fn of(schema: &RawJson) -> Self {
        compile::rules(schema)
    }

    /// The arguments as they are to be sent: as they were given, without the nulls of optional properties that would be
    /// refused. Or what is wrong with them, in words for a model.
    pub(crate) fn check(&self, arguments: RawJson) -> Result<RawJson, String> {
        let Some(validator) = &self.validator else {
            return Ok(arguments);
        };
        let value: Value = arguments
            .parse_as()
            .map_err(|_| "invalid arguments: nested deeper than 128 levels".to_owned())?;
        if validator.is_valid(&value) {
            return Ok(arguments);
        }
        match nulls::without_refused(validator, value) {
            Ok(dropped) if dropped.is_empty() => Ok(arguments),
            Ok(dropped) => Ok(nulls::remove_from_text(&arguments, &dropped)),
            Err(refused) => Err(wording::problems(validator, &refused)),
        }
    }
}

/// What is wrong with a value.
fn errors<'v>(
    validator: &'v Validator,
    value: &'v Value,
) -> impl Iterator<Item = ValidationError<'v>> {
    validator
        .iter_errors(value)
        .filter(|error| !is_undecided(error))
}

/// Whether a pattern could not be matched within its bound: then nobody knows whether the value fits, and the server has to say.
fn is_undecided(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        ValidationErrorKind::BacktrackLimitExceeded { .. }
        | ValidationErrorKind::RegexEngineFailure { .. } => true,
        ValidationErrorKind::AnyOf { context }
        | ValidationErrorKind::OneOfNotValid { context }
        | ValidationErrorKind::OneOfMultipleValid { context } => context
            .iter()
            .any(|branch| !branch.is_empty() && branch.iter().all(is_undecided)),
        ValidationErrorKind::PropertyNames { error } => is_undecided(error),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
