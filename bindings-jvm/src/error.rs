//! Errors on their way to the JVM.

use mcp_resident_facade::mcp_resident::Error;

/// A failure; the Kotlin half makes an `McpException` of it.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum NativeFailure {
    /// The one kind there is. A field called `message` would clash with that of every exception.
    #[error("{detail}")]
    Failed {
        /// The stable code.
        code: String,
        /// The server that failed, when it was one.
        server: Option<String>,
        /// One line that says what happened.
        detail: String,
    },
}

impl From<Error> for NativeFailure {
    fn from(error: Error) -> Self {
        Self::Failed {
            code: error.kind().code().to_owned(),
            server: error.server().map(str::to_owned),
            detail: error.to_string(),
        }
    }
}

/// What the library gives in its JSON form.
pub(crate) fn json(form: &(impl serde::Serialize + ?Sized)) -> String {
    // Only a map with keys that are no strings cannot be written.
    serde_json::to_string(form).unwrap_or_default()
}
