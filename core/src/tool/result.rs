//! What a call gives back.

use std::path::PathBuf;
use std::sync::Arc;

use bytestring::ByteString;
use serde::Serialize;

use super::render::Rendered;
use crate::error::{CallError, Executed, FailureKind};
use crate::json::RawJson;

/// What a call gave: the text for a model, and everything that came with it.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// The text for a model (SPEC 2.7).
    pub output: String,
    /// Whether the call failed, for whatever reason.
    pub is_error: bool,
    /// Who was called, and why it failed.
    pub metadata: Metadata,
    raw: Option<RawJson>,
}

/// Facts about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// The server's name in the configuration.
    pub server: Arc<str>,
    /// The tool's own name on that server.
    pub tool: Arc<str>,
    /// Why the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
    /// What `output` is the beginning of, when it was cut (SPEC 2.23). What the server sent is in [`ToolResult::raw`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output: Option<FullOutput>,
    /// What of the result is no text and was saved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SavedFile>,
}

/// A text that was too long for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FullOutput {
    /// Its length in bytes.
    pub bytes: usize,
    /// Where it is, until the source is closed, when the host named a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// A block of a result that holds bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedFile {
    /// Where it is, until the source is closed.
    pub file: PathBuf,
    /// Its media type, as the server says.
    pub media_type: String,
    /// Its length in bytes.
    pub bytes: usize,
}

impl Metadata {
    /// Whether there is more in it than who was called.
    pub fn says_more(&self) -> bool {
        self.error.is_some() || self.full_output.is_some() || !self.files.is_empty()
    }

    fn of(server: &Arc<str>, tool: &Arc<str>, error: Option<CallError>) -> Self {
        Self {
            server: Arc::clone(server),
            tool: Arc::clone(tool),
            error,
            full_output: None,
            files: Vec::new(),
        }
    }
}

impl ToolResult {
    /// What a server answered, rendered and as it came.
    pub(crate) fn answered(
        server: &Arc<str>,
        tool: &Arc<str>,
        rendered: Rendered,
        result: ByteString,
    ) -> Self {
        let Rendered { output, is_error } = rendered;
        let error =
            is_error.then(|| CallError::new(FailureKind::Tool, Executed::Yes, output.clone()));
        Self {
            output,
            is_error,
            metadata: Metadata::of(server, tool, error),
            raw: Some(RawJson::validated(result)),
        }
    }

    /// A call that has no answer.
    pub(crate) fn failed(server: &Arc<str>, tool: &Arc<str>, error: CallError) -> Self {
        Self {
            output: error.message.clone(),
            is_error: true,
            metadata: Metadata::of(server, tool, Some(error)),
            raw: None,
        }
    }

    /// Text of this library's own, in place of an answer.
    pub(crate) fn told(server: &Arc<str>, tool: &Arc<str>, output: String) -> Self {
        let metadata = Metadata::of(server, tool, None);
        Self {
            output,
            is_error: false,
            metadata,
            raw: None,
        }
    }

    /// The whole `result` as the server sent it; nothing when it sent none.
    pub fn raw(&self) -> Option<&RawJson> {
        self.raw.as_ref()
    }

    /// The blocks of `content` as the server sent them.
    pub fn content(&self) -> Option<RawJson> {
        self.member("content")
    }

    /// `structuredContent` as the server sent it.
    pub fn structured_content(&self) -> Option<RawJson> {
        self.member("structuredContent")
    }

    /// `_meta` as the server sent it.
    pub fn meta(&self) -> Option<RawJson> {
        self.member("_meta")
    }

    fn member(&self, name: &str) -> Option<RawJson> {
        self.raw
            .as_ref()?
            .member(name)
            .filter(|value| !value.is_null())
    }
}
