//! A home of its own for each test, and bounded runs of the program in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use mcp_resident_fixtures::hub::{FakeProgram, Hub};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The program under test, which is the fake server too.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-resident");

/// Longer than anything here takes, on a loaded machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A value that must never be shown.
pub(crate) const CANARY: &str = "canary-not-real";

/// A home with a user's configuration and a project.
pub(crate) struct Home {
    directory: TempDir,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("project")).unwrap();
        fs::create_dir_all(directory.path().join(".config/mcp-resident")).unwrap();
        Self { directory }
    }

    /// A home whose user has these servers.
    pub(crate) fn with_servers(servers: Value) -> Self {
        let home = Self::new();
        home.write_user(servers);
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // As the program sees it: a temporary directory may be behind a link.
        fs::canonicalize(self.directory.path()).unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn write_user(&self, servers: Value) {
        let text = json!({ "mcpServers": servers }).to_string();
        self.write(".config/mcp-resident/mcp.json", &text);
    }

    pub(crate) fn write_project(&self, servers: Value) {
        let text = json!({ "mcpServers": servers }).to_string();
        self.write("project/mcp.json", &text);
    }

    /// The program in the project, with an environment of this home only.
    pub(crate) fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path(""))
            .env("HOST_SECRET", CANARY)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn start<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Running {
        let mut command = self.command(arguments);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Running {
            child: child.unwrap(),
        }
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Ran {
        self.start(arguments).wait()
    }
}

/// A run that has not ended yet. It is killed when the test gives up on it.
pub(crate) struct Running {
    pub(crate) child: Child,
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid(&self.child), signal).unwrap();
    }

    /// Waits for the end, reading everything.
    pub(crate) fn wait(self) -> Ran {
        let process = pid(&self.child);
        let output = within(process, move || self.child.wait_with_output()).unwrap();
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Waits for the end when the streams are read elsewhere.
    pub(crate) fn wait_for_status(mut self) -> ExitStatus {
        let process = pid(&self.child);
        within(process, move || self.child.wait()).unwrap()
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Waits for the end of a process; kills it and fails when that takes too long.
fn within<T: Send + 'static>(process: Pid, wait: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let _ = done.send(wait());
    });
    ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = kill_process(process, Signal::KILL);
        panic!("still running after {PATIENCE:?}")
    })
}

impl Ran {
    /// The whole output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The run, provided that it ended like this.
    pub(crate) fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// The run, provided that this is the whole of standard error.
    pub(crate) fn said(self, err: &str) -> Self {
        assert_eq!(self.err, err, "{self:?}");
        self
    }
}

/// The entry of a fake.
pub(crate) fn fake(script: Value) -> Value {
    json!({"command": PROGRAM, "args": ["fake", "--script", script.to_string()]})
}

/// The entry of a program that leaves a file behind when it is started.
pub(crate) fn marker(file: &Path) -> Value {
    json!({"command": "/bin/sh", "args": ["-c", "echo started > \"$0\"", file]})
}

/// A hub whose fakes are the program under test.
pub(crate) async fn hub() -> Hub {
    let program = FakeProgram {
        path: PROGRAM.into(),
        arguments: vec!["fake".to_owned()],
    };
    Hub::start_with(program).await.unwrap()
}

/// The entry of a fake that reports to a hub.
pub(crate) fn watched(hub: &Hub, server: &str, script: Value) -> Value {
    json!({"command": hub.launch_line(server, script).unwrap()})
}

/// Runs what blocks without holding up the hub.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
