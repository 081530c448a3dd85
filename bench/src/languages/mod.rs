//! The bindings for Python and Node against the SDKs that people would use instead, in one interleaved run.
//!
//! The work is done by the programs in `python/` and `node/`; this part starts them, one process for each measurement, and
//! compares what they came to.

mod import;
mod plan;
mod table;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use self::plan::{Program, Work};
use crate::client::{HttpServer, Launch};
use crate::report::{Report, same_work};
use crate::{Failure, machine};

/// What `mcp-resident-bench languages` takes.
#[derive(Debug, Args)]
pub(crate) struct LanguageOptions {
    /// Where `scripts/bench-languages` has installed this library and its peers.
    #[arg(long)]
    tools: PathBuf,
    /// How often each work is done by each program.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Does this work only, named as in the table; the beginning is enough. May be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// Where the table is written as well.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/LANGUAGES.md"))]
    output: PathBuf,
}

/// All reports of a run: by work, then program, one a round.
type Reports = BTreeMap<Work, BTreeMap<Program, Vec<Report>>>;

/// Does all works, or some of them, prints the table and writes it.
pub(crate) fn run(options: &LanguageOptions) -> Result<(), Failure> {
    let wanted = |work: &Work| {
        let named = |only: &String| work.title().starts_with(only.as_str());
        options.only.is_empty() || options.only.iter().any(named)
    };
    let works: Vec<Work> = Work::ALL.into_iter().filter(wanted).collect();
    let mut reports = Reports::new();
    for round in 0..options.rounds {
        for work in &works {
            // Nobody is always the first.
            for turn in 0..Program::ALL.len() {
                let program = Program::ALL[(round + turn) % Program::ALL.len()];
                if !work.is_done_by(program) {
                    continue;
                }
                let (round, rounds) = (round + 1, options.rounds);
                let (work_title, program_title) = (work.title(), program.title());
                writeln!(
                    io::stderr(),
                    "round {round} of {rounds}: {work_title} by {program_title}"
                )?;
                let report = measure(&options.tools, *work, program)
                    .map_err(|failure| format!("{work_title} by {program_title}: {failure}"))?;
                let by_program = reports.entry(*work).or_default();
                by_program.entry(program).or_default().push(report);
            }
        }
    }
    for (work, by_program) in &reports {
        same_work(work.title(), by_program.values().flatten())?;
    }
    let page = table::page(&reports, options.rounds);
    io::stdout().write_all(page.as_bytes())?;
    std::fs::write(&options.output, page)?;
    Ok(())
}

fn measure(tools: &Path, work: Work, program: Program) -> Result<Report, Failure> {
    let http = (work == Work::HttpSequential)
        .then(|| on_its_cores(work, HttpServer::start))
        .transpose()?;
    let servers = match &http {
        Some(server) => vec![form(&server.launch())],
        None => {
            let (count, tools) = work.servers().unwrap_or_default();
            vec![form(&Launch::stdio(tools)?); count]
        }
    };
    let Some(task) = work.form(&servers) else {
        return import::measure(tools, program);
    };
    let output = on_its_cores(work, || {
        let mut command = interpreter(tools, program);
        command.arg(client(tools, program));
        command.args([program.argument(), &task.to_string()]);
        Ok(command.stderr(Stdio::inherit()).output()?)
    })?;
    if !output.status.success() {
        return Err(format!("the client program failed: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Starts something on one core, if the work is done there. It does so on a thread of its own, since what is started inherits
/// the thread's cores.
fn on_its_cores<T: Send>(
    work: Work,
    start: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            if work.one_core() {
                machine::pin_to_one_core()?;
            }
            start()
        });
        started.join().map_err(|_| "a measurement panicked")?
    })
}

fn form(launch: &Launch) -> Value {
    match launch {
        Launch::Stdio { program, arguments } => json!({ "command": program, "args": arguments }),
        Launch::Http { url } => json!({ "url": url }),
    }
}

/// The interpreter in which the program's library is installed.
fn interpreter(tools: &Path, program: Program) -> Command {
    match program {
        Program::PythonOurs => Command::new(tools.join("python-ours/bin/python")),
        Program::PythonMcp => Command::new(tools.join("python-mcp/bin/python")),
        Program::NodeOurs | Program::NodeClient2 | Program::NodeSdk1 => {
            let mut node = Command::new("node");
            node.current_dir(tools.join("node"));
            node
        }
    }
}

fn client(tools: &Path, program: Program) -> PathBuf {
    if program.is_python() {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("python/client.py")
    } else {
        // Beside the packages, which are looked for from there.
        tools.join("node/client.mjs")
    }
}
