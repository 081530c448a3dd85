//! Errors on their way to JavaScript: JSON text as the reason, which the other half makes an `McpError` of.

use mcp_resident_facade::mcp_resident::Error;

/// An error to be thrown.
pub(crate) fn thrown(error: &Error) -> napi::Error {
    napi::Error::from_reason(text(error))
}

/// Its JSON form.
pub(crate) fn text(error: &impl serde::Serialize) -> String {
    // Only a map with keys that are no strings cannot be written.
    serde_json::to_string(error).unwrap_or_default()
}

/// Operations, subscriptions and tools are counted from 1, so that a number of JavaScript holds them for ever.
#[expect(clippy::cast_precision_loss, reason = "they stay below 2^53")]
pub(crate) fn number(id: u64) -> f64 {
    id as f64
}

/// The id that JavaScript holds as a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number that is no id finds nothing"
)]
pub(crate) fn id(number: f64) -> u64 {
    number as u64
}
