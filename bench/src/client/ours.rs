//! This library, with its defaults.

use std::sync::Arc;

use mcp_resident::{CallContext, LoadOptions, McpSource, Tool, load_mcp};
use serde_json::{Map, Value, json};

use super::{Caller, Client, Launch, Wait};
use crate::Failure;

pub(crate) struct Ours {
    source: McpSource,
}

impl Client for Ours {
    type Caller = Arc<Tool>;

    async fn connect(servers: &[Launch], wait: Wait) -> Result<Self, Failure> {
        let entries: Map<String, Value> = servers
            .iter()
            .enumerate()
            .map(|(place, launch)| (server_name(place), entry(launch)))
            .collect();
        let mut options = LoadOptions::default();
        options.wait = match wait {
            Wait::All => mcp_resident::Wait::All,
            Wait::Ready => mcp_resident::Wait::Ready,
        };
        let source = load_mcp(json!({ "mcpServers": entries }), options).await?;
        Ok(Self { source })
    }

    fn caller(&self, server: usize, tool: &str) -> Result<Arc<Tool>, Failure> {
        let name = format!("{}_{tool}", server_name(server));
        let tool = self.source.tool(&name);
        tool.ok_or_else(|| format!("there is no tool {name}").into())
    }

    async fn list_again(&mut self) -> Result<usize, Failure> {
        self.source.refresh(None).await?;
        Ok(self.source.catalog().tools().len())
    }

    async fn close(self) {
        self.source.close().await;
    }
}

impl Caller for Arc<Tool> {
    async fn call(&self, arguments: Value) -> Result<String, Failure> {
        let result = self.execute(arguments, CallContext::default()).await;
        if result.is_error {
            return Err(result.output.into());
        }
        Ok(result.output)
    }
}

fn server_name(place: usize) -> String {
    format!("server{place}")
}

fn entry(launch: &Launch) -> Value {
    match launch {
        Launch::Stdio { program, arguments } => json!({"command": program, "args": arguments}),
        Launch::Http { url } => json!({"url": url}),
    }
}
