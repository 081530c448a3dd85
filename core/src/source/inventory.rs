//! `list_mcp_tools`: what is there, without keeping anything (contract rule 11).

use std::sync::Arc;

use serde::Serialize;

use super::load::load_mcp;
use super::options::{LoadOptions, Purpose, Wait};
use crate::config::ConfigInput;
use crate::error::Error;
use crate::event::Status;
use crate::json::RawJson;
use crate::tool::ToolDefinition;

/// One server of an inventory. Its JSON form has the same names; `error` is left out when there is
/// none.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InventoryEntry {
    /// The server's name in the configuration.
    pub server: String,
    /// Whether it was connected and listed.
    pub status: Status,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// All its tools under their own names; the configuration's filter does not count here.
    pub tools: Vec<InventoryTool>,
}

/// One tool of an inventory. Its JSON form has the same names in camelCase.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InventoryTool {
    /// The tool's own name.
    pub name: Arc<str>,
    /// What it does, in the server's words.
    pub description: String,
    /// The server's schema of arguments, as it came.
    pub input_schema: RawJson,
    /// The whole entry of the server's list, as it came.
    pub raw: RawJson,
}

/// Connects every server that is not disabled, lists its tools, and disconnects. Nothing is left
/// running, and nothing is cached; lazy servers are connected too.
pub async fn list_mcp_tools(
    config: impl Into<ConfigInput>,
    options: LoadOptions,
) -> Result<Vec<InventoryEntry>, Error> {
    let options = LoadOptions {
        wait: Wait::All,
        cache_dir: None,
        purpose: Purpose::Inventory,
        ..options
    };
    let source = load_mcp(config, options).await?;
    let mut entries = Vec::new();
    for server in source.servers() {
        let info = source.info(&server)?;
        let tools = source
            .roster
            .catalog
            .definitions(&server)
            .into_iter()
            .map(InventoryTool::from);
        entries.push(InventoryEntry {
            tools: if info.status == Status::Connected {
                tools.collect()
            } else {
                Vec::new()
            },
            server,
            status: info.status,
            error: info.last_error,
        });
    }
    source.close().await;
    Ok(entries)
}

impl From<ToolDefinition> for InventoryTool {
    fn from(tool: ToolDefinition) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema,
            raw: tool.raw,
        }
    }
}
