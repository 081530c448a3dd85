//! The shortest use: load, call, close. The README shows it.
#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

use std::path::Path;

use mcp_resident::{CallContext, LoadOptions, load_mcp};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = LoadOptions::default();
    options.resident = true; // lost servers come back, changed lists are followed

    let source = load_mcp(Path::new("mcp.json"), options).await?;
    if let Some(tool) = source.tool("time_get_current_time") {
        let result = tool
            .execute(json!({ "timezone": "UTC" }), CallContext::default())
            .await;
        println!("{}", result.output);
    }
    source.close().await;
    Ok(())
}
