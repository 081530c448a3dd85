//! How long an interpreter takes to import a library, beyond its own start.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use super::interpreter;
use super::plan::Program;
use crate::Failure;
use crate::plan::Metric;
use crate::report::Report;
use crate::statistics::Summary;

/// Starts of a process vary more than the rest: so many of each kind, of which the median counts.
const STARTS: usize = 7;

pub(super) fn measure(tools: &Path, program: Program) -> Result<Report, Failure> {
    let flag = if program.is_python() { "-c" } else { "--eval" };
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        bare.push(start(tools, program, &[flag, ""])?);
        whole.push(start(tools, program, &[flag, statement(program)])?);
    }
    let median = |times: Vec<f64>| Summary::of(times).map_or(f64::NAN, |times| times.median);
    let import = median(whole) - median(bare);
    Ok(Report {
        metrics: [(Metric::ImportMillis, import)].into(),
        work: Default::default(),
    })
}

/// What a program that talks to servers over stdio imports.
fn statement(program: Program) -> &'static str {
    match program {
        Program::PythonOurs => "import mcp_resident",
        Program::PythonMcp => "import mcp, mcp.client.stdio",
        Program::NodeOurs => "import('mcp-resident')",
        Program::NodeClient2 => {
            "import('@modelcontextprotocol/client'); import('@modelcontextprotocol/client/stdio')"
        }
        Program::NodeSdk1 => {
            "import('@modelcontextprotocol/sdk/client/index.js'); import('@modelcontextprotocol/sdk/client/stdio.js')"
        }
    }
}

fn start(tools: &Path, program: Program, arguments: &[&str]) -> Result<f64, Failure> {
    let begun = Instant::now();
    let mut command = interpreter(tools, program);
    let status = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("the interpreter failed: {status}").into());
    }
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
