//! Where a configuration comes from, and how its bytes become text.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document::position_in;
use super::parse::ParsedConfig;
use super::problem::ConfigError;

/// A larger file is no configuration: 16 MiB.
pub const DEFAULT_MAX_CONFIG_BYTES: u64 = 16 * 1024 * 1024;

/// A configuration as the host hands it over.
#[derive(Clone)]
pub enum ConfigInput {
    /// A file, read when it is parsed.
    File(PathBuf),
    /// A text the host has read; `origin` names it in messages.
    Text {
        /// The text, which may begin with a byte order mark.
        text: String,
        /// The name used in messages, such as a path.
        origin: String,
    },
    /// An object built by the host.
    Object(Value),
    /// What was parsed already, such as layers laid over each other.
    Parsed(ParsedConfig),
}

impl fmt::Debug for ConfigInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text { origin, .. } => f
                .debug_struct("Text")
                .field("origin", origin)
                .finish_non_exhaustive(),
            Self::Object(_) => f.debug_tuple("Object").finish_non_exhaustive(),
            Self::Parsed(config) => f.debug_tuple("Parsed").field(config).finish(),
        }
    }
}

impl From<&Path> for ConfigInput {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<PathBuf> for ConfigInput {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<Value> for ConfigInput {
    fn from(object: Value) -> Self {
        Self::Object(object)
    }
}

impl From<ParsedConfig> for ConfigInput {
    fn from(config: ParsedConfig) -> Self {
        Self::Parsed(config)
    }
}

/// How a configuration is read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ParseOptions {
    /// The largest file that is read, in bytes.
    pub max_bytes: u64,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            max_bytes: DEFAULT_MAX_CONFIG_BYTES,
        }
    }
}

/// Reads a file whole, within the size limit, as UTF-8 without a byte order mark.
pub(crate) fn read_file(path: &Path, options: &ParseOptions) -> Result<String, ConfigError> {
    let origin = path.display().to_string();
    let unreadable = |error: io::Error| ConfigError::Unreadable {
        origin: origin.clone(),
        kind: error.kind(),
        reason: error.to_string(),
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| {
            file.take(options.max_bytes.saturating_add(1))
                .read_to_end(&mut bytes)
        })
        .map_err(unreadable)?;
    if bytes.len() as u64 > options.max_bytes {
        return Err(ConfigError::Malformed {
            origin: Some(origin),
            position: None,
            expected: format!("a file of at most {} bytes", options.max_bytes),
            found: "a larger one".to_owned(),
        });
    }
    decode(bytes, origin)
}

/// A byte order mark says nothing in UTF-8 and is left out.
pub(crate) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn decode(bytes: Vec<u8>, origin: String) -> Result<String, ConfigError> {
    const EXPECTED: &str = "a UTF-8 file";
    let starts_like_utf16 = |bytes: &[u8]| {
        matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
            || matches!(bytes, [0, second, ..] if *second != 0)
            || matches!(bytes, [first, 0, ..] if *first != 0)
    };
    if starts_like_utf16(&bytes) {
        return Err(ConfigError::Malformed {
            origin: Some(origin),
            position: None,
            expected: EXPECTED.to_owned(),
            found: "UTF-16; save it as UTF-8".to_owned(),
        });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]);
        ConfigError::Malformed {
            origin: Some(origin),
            position: Some(position_in(&before, valid)),
            expected: EXPECTED.to_owned(),
            found: "a byte that is not UTF-8; save the file as UTF-8".to_owned(),
        }
    })
}
