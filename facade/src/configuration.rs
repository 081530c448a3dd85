//! A configuration in the forms that every language has.

use mcp_resident::{ConfigInput, Error, ErrorKind};

/// A configuration that a host names or holds.
pub struct Configuration(ConfigInput);

impl Configuration {
    /// The path of a file, which is read when the configuration is taken.
    pub fn from_file(path: &str) -> Self {
        Self(ConfigInput::File(path.into()))
    }

    /// What the host has as an object, in JSON.
    ///
    /// # Errors
    /// [`Config`](ErrorKind::Config) says what is no JSON.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let config = serde_json::from_str(text).map_err(|error| {
            let message = format!("the configuration is not valid JSON: {error}");
            Error::new(ErrorKind::Config, message)
        })?;
        Ok(Self(ConfigInput::Object(config)))
    }

    /// From one text, for languages that pass nothing else: what begins with `{` is JSON, everything else a path.
    ///
    /// # Errors
    /// As for [`from_json`](Self::from_json).
    pub fn from_text(text: &str) -> Result<Self, Error> {
        if text.trim_start().starts_with('{') {
            Self::from_json(text)
        } else {
            Ok(Self::from_file(text))
        }
    }

    /// From a text of which the host knows what it is.
    ///
    /// # Errors
    /// As for [`from_json`](Self::from_json).
    pub fn given(text: &str, is_path: bool) -> Result<Self, Error> {
        if is_path {
            Ok(Self::from_file(text))
        } else {
            Self::from_json(text)
        }
    }

    pub(crate) fn into_input(self) -> ConfigInput {
        self.0
    }
}
