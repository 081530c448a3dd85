//! A real server that this test starts itself, because it is reached by HTTP.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::installed::NodeServers;
use crate::loaded::bounded;

/// Makes a program of Node listen on loopback only, and say on which port it does.
const ON_LOOPBACK: &str = "data:text/javascript,\
    import { Server } from 'node:net';\
    const { listen } = Server.prototype;\
    Server.prototype.listen = function (port, done) {\
        this.once('listening', () => console.error('port', this.address().port));\
        return listen.call(this, port, '127.0.0.1', done);\
    };";

/// The everything server behind HTTP. Dropping it kills it.
pub(crate) struct HttpServer {
    mode: &'static str,
    port: u16,
    child: Child,
}

impl HttpServer {
    /// Starts it on a free port. `mode` is the server's word for a transport.
    pub(crate) async fn start(servers: &NodeServers, mode: &'static str) -> Self {
        let (child, port) = launch(servers, mode, 0).await;
        Self { mode, port, child }
    }

    /// Where it answers.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Kills it hard, and returns when it is gone.
    pub(crate) async fn kill(&mut self) {
        bounded(self.child.kill()).await.unwrap();
    }

    /// Starts it again on the port that it had.
    pub(crate) async fn start_again(&mut self, servers: &NodeServers) {
        let (child, port) = launch(servers, self.mode, self.port).await;
        assert_eq!(port, self.port);
        self.child = child;
    }
}

/// Returns when the server listens.
async fn launch(servers: &NodeServers, mode: &str, port: u16) -> (Child, u16) {
    let mut child = Command::new("node")
        .args(["--import", ON_LOOPBACK])
        .arg(servers.program("mcp-server-everything"))
        .arg(mode)
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let port = bounded(announced_port(&mut lines)).await;
    // It must not be blocked by what nobody reads.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, port)
}

async fn announced_port(lines: &mut Lines<BufReader<ChildStderr>>) -> u16 {
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some(port) = line.strip_prefix("port ") {
            return port.parse().unwrap();
        }
        said.push(line);
    }
    panic!("the server ended before it listened: {said:?}");
}
