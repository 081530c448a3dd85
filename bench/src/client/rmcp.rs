//! rmcp and nothing else, set up as well as its interface allows: pooled connections, and no limit on
//! requests over HTTP that the calls would wait for.

use futures_util::future::try_join_all;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, Tool,
};
use rmcp::service::{Peer, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt as _};
use rustls::crypto::{CryptoProvider, ring};
use serde_json::Value;

use super::{Caller, Client, Launch, Wait};
use crate::Failure;

/// More than are ever in flight.
const CONCURRENT_REQUESTS: usize = 256;

type Service = RunningService<RoleClient, ClientConfig>;

pub(crate) struct Rmcp {
    /// With the tools, which a host has to keep somewhere.
    servers: Vec<(Service, Vec<Tool>)>,
}

#[derive(Clone)]
pub(crate) struct RmcpTool {
    peer: Peer<RoleClient>,
    name: String,
}

impl Client for Rmcp {
    type Caller = RmcpTool;

    async fn connect(servers: &[Launch], _wait: Wait) -> Result<Self, Failure> {
        let servers = servers.iter().map(|launch| async move {
            let service = connect(launch).await?;
            let tools = service.list_all_tools().await?;
            Ok::<_, Failure>((service, tools))
        });
        Ok(Self {
            servers: try_join_all(servers).await?,
        })
    }

    fn caller(&self, server: usize, tool: &str) -> Result<RmcpTool, Failure> {
        let (service, tools) = self.servers.get(server).ok_or("there is no such server")?;
        let tool = tools.iter().find(|found| found.name == tool);
        Ok(RmcpTool {
            peer: service.peer().clone(),
            name: tool.ok_or("there is no such tool")?.name.to_string(),
        })
    }

    async fn list_again(&mut self) -> Result<usize, Failure> {
        let (service, tools) = self.servers.first_mut().ok_or("there is no server")?;
        *tools = service.list_all_tools().await?;
        Ok(tools.len())
    }

    async fn close(self) {
        for (service, _) in self.servers {
            // What is measured is over; a server that does not end by itself is killed.
            let _ = service.cancel().await;
        }
    }
}

impl Caller for RmcpTool {
    async fn call(&self, arguments: Value) -> Result<String, Failure> {
        let Value::Object(arguments) = arguments else {
            return Err("arguments must be an object".into());
        };
        let params = CallToolRequestParams::new(self.name.clone()).with_arguments(arguments);
        let result = self.peer.call_tool(params).await?;
        let first = result.content.into_iter().next();
        match first.ok_or("the result is empty")? {
            rmcp::model::ContentBlock::Text(text) => Ok(text.text),
            _ => Err("the result is no text".into()),
        }
    }
}

async fn connect(launch: &Launch) -> Result<Service, Failure> {
    // The revision whose handshake the servers here know.
    let client = ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("mcp-resident-bench", env!("CARGO_PKG_VERSION")),
    )
    .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    match launch {
        Launch::Stdio { program, arguments } => {
            let mut command = tokio::process::Command::new(program);
            command.args(arguments);
            Ok(client.serve(TokioChildProcess::new(command)?).await?)
        }
        Launch::Http { url } => {
            // Someone else may have installed one, which is as good.
            let _ = CryptoProvider::install_default(ring::default_provider());
            let http = reqwest::Client::builder().build()?;
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .max_concurrent_requests(CONCURRENT_REQUESTS);
            let transport = StreamableHttpClientTransport::with_client(http, config);
            Ok(client.serve(transport).await?)
        }
    }
}
