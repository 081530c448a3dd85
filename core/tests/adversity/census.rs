//! Counts what a source could leave behind: tasks, threads, descriptors, processes.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::support::PATIENCE;

/// Counting is only meaningful while no other test of this program runs.
static COUNTING: RwLock<()> = RwLock::const_new(());

/// Held by a test that counts nothing.
pub(crate) async fn among_others() -> RwLockReadGuard<'static, ()> {
    COUNTING.read().await
}

/// Held by a test that counts what belongs to the whole program.
pub(crate) async fn alone() -> RwLockWriteGuard<'static, ()> {
    COUNTING.write().await
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
