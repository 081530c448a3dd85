//! A small agent: loads the servers of an `mcp.json`, lists their tools, and calls one of them as often
//! as you like while its server comes and goes.
//!
//! ```text
//! cargo run -p mcp-resident-examples -- mcp.json TOOL '{"text": "hello"}'
//! ```
//!
//! Kill the server's process between two calls: the next call is answered by a new one.
#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

use std::error::Error;
use std::path::Path;

use mcp_resident::{CallContext, LoadOptions, load_mcp};
use tokio::io::{AsyncBufReadExt as _, BufReader};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let config = words
        .next()
        .ok_or("usage: mcp-resident-examples MCP.JSON [TOOL [ARGUMENTS]]")?;

    // One switch for a host that runs for days: servers that are lost are started again, lists that
    // change are followed, and no server sees more of the environment than it needs.
    let mut options = LoadOptions::default();
    options.resident = true;
    let source = load_mcp(Path::new(&config), options).await?;

    // A server that cannot be connected costs the others nothing; here is why it is missing.
    for server in source.servers() {
        let info = source.info(&server)?;
        println!(
            "server {server}: {}, process {:?}",
            info.state, info.process_id
        );
        if let Some(error) = info.last_error {
            println!("  {error}");
        }
    }
    // What a model is given; each tool has the schema of its arguments too.
    for tool in source.tools() {
        println!("tool {}: {}", tool.name(), tool.description());
    }

    if let Some(name) = words.next() {
        let tool = source.tool(&name).ok_or("there is no tool of that name")?;
        let arguments = words.next().unwrap_or_default();
        let mut input = BufReader::new(tokio::io::stdin()).lines();
        loop {
            // Never fails: whatever goes wrong is a result that a model can read.
            let result = tool.execute(&*arguments, CallContext::default()).await;
            println!("{}", result.output);
            println!("(enter: call again; end of input: stop)");
            if input.next_line().await?.is_none() {
                break;
            }
        }
    }

    // Nothing of the servers is left after this.
    source.close().await;
    Ok(())
}
