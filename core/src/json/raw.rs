//! [`RawJson`]: one JSON value as text.

use std::fmt;

use bytestring::ByteString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One JSON value, kept as the text that was received. Cloning shares the text.
///
/// ```
/// use mcp_resident::RawJson;
///
/// let value: RawJson = r#"{"big":18446744073709551616,"exact":1e2}"#.parse()?;
/// assert_eq!(value.as_str(), r#"{"big":18446744073709551616,"exact":1e2}"#);
/// assert_eq!(value.member("exact").unwrap().as_str(), "1e2");
/// # Ok::<(), mcp_resident::InvalidJson>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(ByteString);

/// The text is not one JSON value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not valid JSON: {0}")]
pub struct InvalidJson(String);

impl RawJson {
    /// Takes a value that Rust code built.
    ///
    /// Fails only for what JSON cannot express, such as a map whose keys are not strings.
    pub fn from_serializable(value: &(impl Serialize + ?Sized)) -> Result<Self, InvalidJson> {
        serde_json::to_string(value)
            .map(|text| Self(text.into()))
            .map_err(|error| InvalidJson(error.to_string()))
    }

    /// The value's text, without surrounding white space.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the value into a type of the caller's.
    pub fn parse_as<T: DeserializeOwned>(&self) -> Result<T, InvalidJson> {
        serde_json::from_str(&self.0).map_err(|error| InvalidJson(error.to_string()))
    }

    /// Parses the value into a tree. Numbers outside of 64 bits become floating point here; the
    /// text keeps them exactly.
    pub fn to_value(&self) -> serde_json::Value {
        // The text was validated when this was built; only a nesting deeper than the parser's limit
        // can fail, and a value that deep has no faithful tree.
        serde_json::from_str(&self.0).unwrap_or(serde_json::Value::Null)
    }

    /// The member of this name, when the value is an object that has one. Of duplicate members the
    /// last one counts, as in JavaScript and Python.
    pub fn member(&self, name: &str) -> Option<RawJson> {
        super::Members::of(self)?.find(name)
    }

    /// Whether the value is the literal `null`.
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// A part of this value's own text, sharing its memory.
    pub(crate) fn part(&self, part: &str) -> RawJson {
        Self(self.0.slice_ref(part))
    }

    /// Text that `serde_json` accepted already.
    pub(crate) fn validated(text: ByteString) -> RawJson {
        Self(text)
    }

    /// A value that `serde_json` found; its text is copied.
    pub(crate) fn from_raw(value: &RawValue) -> RawJson {
        Self(value.get().into())
    }

    /// The literal `null`.
    pub(crate) fn null() -> RawJson {
        Self(ByteString::from_static("null"))
    }

    /// `{}`
    pub(crate) fn empty_object() -> RawJson {
        Self(ByteString::from_static("{}"))
    }

    /// Text that this crate wrote itself.
    pub(crate) fn trusted(text: String) -> RawJson {
        debug_assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "{text}");
        Self(text.into())
    }
}

impl std::str::FromStr for RawJson {
    type Err = InvalidJson;

    fn from_str(text: &str) -> Result<Self, InvalidJson> {
        let value: &RawValue =
            serde_json::from_str(text).map_err(|error| InvalidJson(error.to_string()))?;
        Ok(Self(value.get().into()))
    }
}

impl From<&serde_json::Value> for RawJson {
    fn from(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for RawJson {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(value.get().into()))
    }
}
