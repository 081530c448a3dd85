//! Where the real servers are, or that they are not there.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Servers that run on Node.
pub(crate) struct NodeServers(PathBuf);

/// Servers that run on Python.
pub(crate) struct PythonServers(PathBuf);

impl NodeServers {
    /// The installed ones. Without them the test that asks is skipped by name; in CI it fails.
    pub(crate) fn find(test: &str) -> Option<Self> {
        find("node", test).map(Self)
    }

    /// The folder in which `npx` finds them.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// The program of a server.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.0.join("node_modules/.bin").join(name)
    }
}

impl PythonServers {
    /// The installed ones. Without them the test that asks is skipped by name; in CI it fails.
    pub(crate) fn find(test: &str) -> Option<Self> {
        find("python", test).map(Self)
    }

    /// The program of a server.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }
}

fn find(kind: &str, test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../.tools")
        .join(kind);
    if folder.join("installed").is_file() {
        return Some(folder);
    }
    let reason = format!("the {kind} servers are not installed: run scripts/real-servers");
    let in_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!in_ci, "{test}: {reason}");
    // Around the test runner, which swallows what a passing test prints; in one piece, because tests run side by side.
    let line = format!("skipped: {test}: {reason}\n");
    let _ = io::stderr().write_all(line.as_bytes());
    None
}
