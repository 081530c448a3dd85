//! What the demo plays with: two servers, the hub that sees what they really do, and the source.

use std::ffi::OsString;
use std::sync::Arc;

use mcp_resident::{EnvironmentProvider, HostEnvironment, LoadOptions, McpSource, load_mcp};
use mcp_resident_fixtures::hub::{FakeProgram, Hub, HubError};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::feed::Feed;
use crate::interrupt::Interrupt;

/// The server that is killed and changed.
pub(super) const CALC: &str = "calc";
/// The server whose entry names the secret.
pub(super) const VAULT: &str = "vault";
/// A variable of the host that no server gets unless its entry names it.
pub(super) const SECRET: &str = "MCP_RESIDENT_DEMO_TOKEN";

pub(super) struct Stage {
    pub(super) hub: Hub,
    pub(super) source: McpSource,
    pub(super) feed: Feed,
    /// Calls of `add` so far: the hub has to have seen as many.
    pub(super) additions: usize,
}

impl Stage {
    /// Starts the hub and connects both servers as a resident host does.
    pub(super) async fn set(interrupt: &Interrupt) -> Result<Self, Failure> {
        let path = std::env::current_exe().map_err(|error| {
            Failure::new(
                Exit::Internal,
                format!("this program cannot be found: {error}"),
            )
        })?;
        let program = FakeProgram {
            path,
            arguments: vec!["fake".to_owned()],
        };
        let hub = Hub::start_with(program).await.map_err(unavailable)?;
        let calc = json!({"tools": [
            tool("add", json!({"a": {"type": "number"}, "b": {"type": "number"}})),
            tool("env", json!({})),
        ]});
        let vault = json!({"tools": [tool("env", json!({}))]});
        let mut servers = json!({
            CALC: entry(&hub, CALC, calc).map_err(unavailable)?,
            VAULT: entry(&hub, VAULT, vault).map_err(unavailable)?,
        });
        servers[VAULT]["inheritEnv"] = json!([SECRET]);

        let mut options = LoadOptions::default();
        options.resident = true;
        options.environment = Some(Arc::new(HostWithSecret));
        options.cancel = Some(interrupt.token());
        let source = load_mcp(json!({ "mcpServers": servers }), options).await?;
        Ok(Self {
            hub,
            feed: Feed::new(&source),
            source,
            additions: 0,
        })
    }
}

/// A tool as a server lists it.
pub(super) fn tool(name: &str, properties: Value) -> Value {
    json!({
        "name": name,
        "inputSchema": {"type": "object", "properties": properties},
    })
}

fn entry(hub: &Hub, server: &str, script: Value) -> Result<Value, HubError> {
    let words = hub.launch_line(server, script)?;
    Ok(json!({ "command": words }))
}

fn unavailable(error: HubError) -> Failure {
    Failure::new(Exit::Unavailable, error.to_string())
}

/// The environment of this process, and a secret in it.
struct HostWithSecret;

impl EnvironmentProvider for HostWithSecret {
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = HostEnvironment.variables();
        variables.push((SECRET.into(), "not for everybody".into()));
        variables
    }
}
