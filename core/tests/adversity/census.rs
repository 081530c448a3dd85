//! Counts what a source could leave behind: tasks, threads, descriptors, processes.

use std::process::Command;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::support::PATIENCE;

/// Set for a process that runs one test alone.
const ALONE: &str = "MCP_RESIDENT_TEST_ALONE";

/// Runs the work of the test of this name in a process of its own: descriptors and threads can only be counted where no
/// other test has any.
pub(crate) fn alone(test: &str, work: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return work();
    }
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(
        said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

/// What belongs to this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
}

impl Census {
    /// Counts. Only Linux can be asked; elsewhere nothing is seen, and so nothing is missed.
    pub(crate) fn take() -> Self {
        let count = |directory| std::fs::read_dir(directory).map_or(0, Iterator::count);
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
        }
    }

    /// Waits until there is no more than this. What ends in the background has no event of its own.
    pub(crate) async fn settles(self) {
        eventually("descriptors and threads", || {
            let now = Self::take();
            let left = now.descriptors > self.descriptors || now.threads > self.threads;
            if left {
                Err(format!("{now:?}, before {self:?}"))
            } else {
                Ok(())
            }
        })
        .await;
    }
}

/// Waits until no more than `expected` tasks of this runtime are alive.
pub(crate) async fn tasks_settle(expected: usize) {
    eventually("tasks", || {
        let now = Handle::current().metrics().num_alive_tasks();
        if now > expected {
            Err(format!("{now}, before {expected}"))
        } else {
            Ok(())
        }
    })
    .await;
}

/// Looks again and again, for what tells nobody when it happens.
pub(crate) async fn eventually(what: &str, look: impl Fn() -> Result<(), String>) {
    let settled = async {
        while look().is_err() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    if tokio::time::timeout(PATIENCE, settled).await.is_err() {
        panic!("{what}: {}", look().err().unwrap_or_default());
    }
}
