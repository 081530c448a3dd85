//! What can be wrong with a configuration, and where.
//!
//! A [`ConfigError`] spoils a whole file; a [`ConfigProblem`] concerns one entry or one field. Both say what to do and
//! never quote a configured value, because any value may be a secret.

use std::fmt;
use std::io;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A place in a configuration file. Both numbers start at 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character within the line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a whole file (or text, or object) gives no servers at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{origin}: cannot be read: {reason}")]
    Unreadable {
        /// The file.
        origin: String,
        /// The kind of failure, to tell a missing file from a forbidden one.
        kind: io::ErrorKind,
        /// The operating system's words.
        reason: String,
    },
    /// The text is no configuration.
    #[error("{}expected {expected}, found {found}", place(origin.as_deref(), *position))]
    Malformed {
        /// The file, or the name the host gave the text; none for an object.
        origin: Option<String>,
        /// Where reading stopped.
        position: Option<Position>,
        /// What belongs there.
        expected: String,
        /// What is there instead; text that could be a secret is described and not quoted.
        found: String,
    },
}

impl ConfigError {
    /// The file, or the name that the host gave the text.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        match self {
            Self::Unreadable { origin, .. } => Some(origin),
            Self::Malformed { origin, .. } => origin.as_deref(),
        }
    }

    /// Where reading stopped.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Unreadable { .. } => None,
            Self::Malformed { position, .. } => *position,
        }
    }
}

/// What is wrong with, or odd about, one entry or one field.
///
/// The same type serves errors, which keep one server from starting, and warnings, which do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file, or the name the host gave the text; none for an object.
    pub origin: Option<String>,
    /// Where in the file.
    pub position: Option<Position>,
    /// The server's name; none when the problem is outside every entry.
    pub server: Option<String>,
    /// The field, with a dot before what is inside it: `env.TOKEN`, `args[2]`.
    pub field: Option<String>,
    /// What is wrong and what to do about it.
    pub reason: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&place(self.origin.as_deref(), self.position))?;
        if let Some(server) = &self.server {
            write!(f, "server {server:?}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{}: ", field.escape_debug())?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ConfigProblem {}

/// All of it by name, and as `message` the line that [`Display`](fmt::Display) gives.
impl Serialize for ConfigProblem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ConfigProblem", 7)?;
        fields.serialize_field("origin", &self.origin)?;
        fields.serialize_field("line", &self.position.map(|position| position.line))?;
        fields.serialize_field("column", &self.position.map(|position| position.column))?;
        fields.serialize_field("server", &self.server)?;
        fields.serialize_field("field", &self.field)?;
        fields.serialize_field("reason", &self.reason)?;
        fields.serialize_field("message", &self.to_string())?;
        fields.end()
    }
}

fn place(origin: Option<&str>, position: Option<Position>) -> String {
    match (origin, position) {
        (Some(origin), Some(position)) => format!("{origin}:{position}: "),
        (Some(origin), None) => format!("{origin}: "),
        (None, Some(position)) => format!("{position}: "),
        (None, None) => String::new(),
    }
}

/// Quotes a short plain word, and only describes anything else: a longer text may be a secret in the wrong place.
pub(crate) fn describe_text(text: &str) -> String {
    const LONGEST_QUOTED_CHARS: usize = 16;
    let plain = text
        .chars()
        .all(|c| c.is_ascii_alphabetic() || c == '-' || c == '_');
    let length = text.chars().count();
    match length {
        0 => "an empty text".to_owned(),
        _ if plain && length <= LONGEST_QUOTED_CHARS => format!("{text:?}"),
        1 => "a text of 1 character".to_owned(),
        _ => format!("a text of {length} characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_that_names_file_place_server_and_field() {
        let problem = ConfigProblem {
            origin: Some("mcp.json".to_owned()),
            position: Some(Position { line: 3, column: 7 }),
            server: Some("git\nhub".to_owned()),
            field: Some("env.A\nB".to_owned()),
            reason: "must be a text".to_owned(),
        };
        assert_eq!(
            problem.to_string(),
            r#"mcp.json:3:7: server "git\nhub": env.A\nB: must be a text"#
        );
    }

    #[test]
    fn only_short_plain_words_are_quoted() {
        assert_eq!(describe_text("websocket"), "\"websocket\"");
        assert_eq!(describe_text("sk-123"), "a text of 6 characters");
        assert_eq!(describe_text(""), "an empty text");
    }
}
