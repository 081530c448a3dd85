//! What the tests share: servers made of shell scripts, and waits that are bounded.
#![allow(dead_code, reason = "every test file uses its own part")]

use std::{ffi::OsString, future::Future, path::PathBuf, sync::Arc, time::Duration};

use mcp_resident_process::{Child, ChildOutput, Engine, Grace, Launch, StderrOptions};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};

/// No test may take longer; a machine under load needs most of it.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Graces that stubborn servers use up quickly.
pub(crate) const SHORT: Grace = Grace {
    eof: Duration::from_millis(50),
    term: Duration::from_millis(50),
};

/// Graces that are never used up by a server that does what it is asked to.
pub(crate) const LONG: Grace = Grace {
    eof: LIMIT,
    term: LIMIT,
};

/// SIGTERM at once, and then time.
pub(crate) const TERM: Grace = Grace {
    eof: Duration::ZERO,
    term: LIMIT,
};

/// A background process that ignores SIGTERM and the end of its input, and prints its id.
pub(crate) const STUBBORN_MEMBER: &str = "(trap '' TERM; exec sleep 1000) & echo $!;";

pub(crate) fn engine() -> Arc<Engine> {
    Engine::shared().expect("the engine starts")
}

/// Bounds a test.
pub(crate) async fn bounded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, test)
        .await
        .expect("the test ends in time")
}

pub(crate) fn launch(program: &str, args: &[&str]) -> Launch {
    Launch {
        program: PathBuf::from(program),
        args: args.iter().map(OsString::from).collect(),
        environment: vec![("PATH".into(), search_path())],
        directory: std::env::temp_dir(),
        guarded: true,
        stderr: StderrOptions::default(),
    }
}

pub(crate) fn sh(script: &str) -> Launch {
    launch("/bin/sh", &["-c", script])
}

pub(crate) fn python(script: &str) -> Launch {
    launch("/usr/bin/env", &["python3", "-c", script])
}

/// The tests' own PATH, so that python3 is found where it is.
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into())
}

pub(crate) async fn start(launch: Launch) -> Child {
    engine().spawn(launch).await.expect("the server starts")
}

pub(crate) fn lines(stdout: ChildOutput) -> Lines<BufReader<ChildOutput>> {
    BufReader::new(stdout).lines()
}

/// The next line as a process id.
pub(crate) async fn next_id(lines: &mut Lines<BufReader<ChildOutput>>) -> u32 {
    let line = lines
        .next_line()
        .await
        .expect("stdout is readable")
        .expect("a line comes");
    line.trim().parse().expect("the line is a process id")
}

/// The fields of /proc/ID/stat after the name: state, parent, group, session and so on.
pub(crate) fn stat(id: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

pub(crate) fn is_zombie(id: u32) -> bool {
    stat(id).is_some_and(|fields| fields[0] == "Z")
}

/// Whether the process runs. A zombie does not: members are collected by whoever adopted them.
pub(crate) fn runs(id: u32) -> bool {
    stat(id).is_some_and(|fields| fields[0] != "Z")
}

/// Waits for a condition that nothing reports.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let look = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(
        tokio::time::timeout(LIMIT, look).await.is_ok(),
        "in time: {what}"
    );
}

pub(crate) fn kill(id: u32, signal: i32) {
    let id = i32::try_from(id).expect("an id fits");
    // SAFETY: kill takes no pointers.
    unsafe { libc::kill(id, signal) };
}
