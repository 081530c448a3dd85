//! How a server of this program is started or reached.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::Failure;

/// One server, for whoever connects to it.
#[derive(Debug, Clone)]
pub(crate) enum Launch {
    Stdio {
        program: PathBuf,
        arguments: Vec<String>,
    },
    Http {
        url: String,
    },
}

impl Launch {
    /// A server of this program over stdio, which lists so many tools beside its own.
    pub(crate) fn stdio(tools: usize) -> Result<Self, Failure> {
        Self::slow_stdio(tools, 0)
    }

    /// One that takes some milliseconds to start.
    pub(crate) fn slow_stdio(tools: usize, delay_ms: u64) -> Result<Self, Failure> {
        let (tools, delay) = (tools.to_string(), delay_ms.to_string());
        let arguments = ["server", "stdio", "--tools", &tools, "--delay-ms", &delay];
        Ok(Self::Stdio {
            program: std::env::current_exe()?,
            arguments: arguments.map(str::to_owned).to_vec(),
        })
    }
}

/// A running HTTP server; dropped, it is killed.
pub(crate) struct HttpServer {
    process: Child,
    url: String,
}

impl HttpServer {
    pub(crate) fn start() -> Result<Self, Failure> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["server", "http"])
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = process.stdout.take().ok_or("the server has no output")?;
        let mut url = String::new();
        BufReader::new(stdout).read_line(&mut url)?;
        Ok(Self {
            process,
            url: url.trim().to_owned(),
        })
    }

    pub(crate) fn launch(&self) -> Launch {
        Launch::Http {
            url: self.url.clone(),
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing of it is left.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
