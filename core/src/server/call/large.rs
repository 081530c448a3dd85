//! Results that are too large for a model, and results that are no text (SPEC 2.23).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Call;
use crate::catalog::sanitize;
use crate::server::spill::Spill;
use crate::tool::{FullOutput, SavedFile, ToolResult, shortened};

/// How long a result waits for the disk. What is written later stays until the close.
const SAVE_LIMIT: Duration = Duration::from_secs(10);

/// A block of a result that holds bytes.
struct Binary {
    media_type: String,
    bytes: Vec<u8>,
}

impl Call<'_> {
    /// The result as a model can take it: what is no text is saved, where the host wants that, and what is too long is cut.
    pub(super) async fn bounded(&self, mut result: ToolResult) -> ToolResult {
        let limit = self.spec.limits.max_output_bytes;
        let spill = self.spec.shared.spill.clone();
        if let Some(spill) = &spill {
            for binary in binaries(&result) {
                let Binary { media_type, bytes } = binary;
                let size = bytes.len();
                let line = match self.kept(spill, extension(&media_type), bytes).await {
                    Ok(file) => {
                        let line = format!("[saved {media_type} {size} bytes: {}]", file.display());
                        result.metadata.files.push(SavedFile {
                            file,
                            media_type,
                            bytes: size,
                        });
                        line
                    }
                    Err(reason) => format!("[{media_type} {size} bytes cannot be saved: {reason}]"),
                };
                result.output.push('\n');
                result.output.push_str(&line);
            }
        }
        if result.output.len() <= limit {
            return result;
        }
        let whole = std::mem::take(&mut result.output);
        let bytes = whole.len();
        let saved = match &spill {
            Some(spill) => Some(self.kept(spill, "txt", whole.clone().into_bytes()).await),
            None => None,
        };
        let advice = match &saved {
            Some(Ok(file)) => format!("the whole text is in {}", file.display()),
            Some(Err(reason)) => format!("the whole text cannot be saved: {reason}"),
            None => "ask for less, or for a part of it".to_owned(),
        };
        result.output = shortened(&whole, limit, &advice);
        if let Some(error) = &mut result.metadata.error {
            error.message.clone_from(&result.output);
        }
        let file = saved.and_then(Result::ok);
        result.metadata.full_output = Some(FullOutput { bytes, file });
        result
    }

    /// Writes beside the reactor.
    async fn kept(
        &self,
        spill: &Arc<Spill>,
        extension: &'static str,
        bytes: Vec<u8>,
    ) -> Result<PathBuf, String> {
        let spill = Arc::clone(spill);
        let tool = format!(
            "{}_{}",
            sanitize(self.tool.server()),
            sanitize(self.tool.server_tool())
        );
        // A file name has a limit of its own.
        let tool: String = tool.chars().take(100).collect();
        let writing = tokio::task::spawn_blocking(move || spill.keep(&tool, extension, &bytes));
        match tokio::time::timeout(SAVE_LIMIT, writing).await {
            Ok(Ok(kept)) => kept.map_err(|error| error.to_string()),
            Ok(Err(_)) => Err("the host's runtime ends".to_owned()),
            Err(_) => Err(format!(
                "the disk took longer than {} ms",
                SAVE_LIMIT.as_millis()
            )),
        }
    }
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    resource: Option<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    blob: Option<String>,
}

/// The blocks that hold bytes. One that is odd is left to who reads the result itself.
fn binaries(result: &ToolResult) -> Vec<Binary> {
    let Some(raw) = result.raw().map(crate::json::RawJson::as_str) else {
        return Vec::new();
    };
    // Nearly all results have none, and need not be read a second time.
    let may_hold = |key: &str| memchr::memmem::find(raw.as_bytes(), key.as_bytes()).is_some();
    if !may_hold("\"data\"") && !may_hold("\"blob\"") {
        return Vec::new();
    }
    let Ok(Content { content }) = serde_json::from_str::<Content<'_>>(raw) else {
        return Vec::new();
    };
    let read = |block: &&RawValue| {
        let block: Block = serde_json::from_str(block.get()).ok()?;
        let resource = block.resource;
        let (base64, media_type) = match (block.data, resource) {
            (Some(data), _) => (data, block.mime_type),
            (None, Some(resource)) => (resource.blob?, resource.mime_type),
            (None, None) => return None,
        };
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(base64.trim())
            .ok()?;
        let media_type = media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        Some(Binary { media_type, bytes })
    };
    content.iter().filter_map(read).collect()
}

/// How files of common media types are called.
fn extension(media_type: &str) -> &'static str {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/json" => "json",
        "text/plain" => "txt",
        "text/csv" => "csv",
        "text/html" => "html",
        _ => "bin",
    }
}
