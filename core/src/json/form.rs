//! How values that JSON has no type for look in the JSON forms of this library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_resident_process::Exit;
use serde::ser::{SerializeMap, Serializer};

/// `{"code": 7}`, `{"signal": 9}`, or `{}` when the system did not say.
pub(crate) fn exit<S: Serializer>(exit: &Option<Exit>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut form = serializer.serialize_map(None)?;
    match exit {
        Some(Exit::Code(code)) => form.serialize_entry("code", code)?,
        Some(Exit::Signal(signal)) => form.serialize_entry("signal", signal)?,
        _ => {}
    }
    form.end()
}

/// A whole number of milliseconds.
pub(crate) fn milliseconds<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_millis().try_into().unwrap_or(u64::MAX))
}

/// Milliseconds since 1970; 0 for a clock that is set before.
pub(crate) fn epoch_milliseconds<S: Serializer>(
    at: &SystemTime,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    milliseconds(
        &at.duration_since(UNIX_EPOCH).unwrap_or_default(),
        serializer,
    )
}
