//! The handle on a running process.

use std::{fmt, sync::Arc};

use tokio::sync::watch;

use crate::{Closed, Ending, Engine, Exit, Grace, stderr::Stderr, supervisor::Leader};

/// A handle on a process and everything it starts. Clones share it.
///
/// When the last handle is dropped, the process and its group are killed at once, whatever close is
/// under way; the engine collects them, also when no runtime is alive any more.
#[derive(Clone)]
pub struct Process {
    inner: Arc<Inner>,
}

/// Fields are dropped in order: the process goes before the engine that collects it.
struct Inner {
    leader: Leader,
    stderr: Option<Stderr>,
    _engine: Arc<Engine>,
}

impl Process {
    pub(crate) fn new(leader: Leader, stderr: Option<Stderr>, engine: Arc<Engine>) -> Self {
        Self {
            inner: Arc::new(Inner {
                leader,
                stderr,
                _engine: engine,
            }),
        }
    }

    /// The process id, which is also the id of its group and session. It is not reused before the
    /// close is done.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.inner.leader.id
    }

    /// Waits for the exit of the process itself; members that it started may still run.
    pub async fn exited(&self) -> Exit {
        reported(&self.inner.leader.exit)
            .await
            .unwrap_or(Exit::Unknown)
    }

    /// How the process ended, if it has.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        *self.inner.leader.exit.borrow()
    }

    /// The last output on standard error. When its beginning is lost, it starts at a line or at
    /// least at a character.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.inner
            .stderr
            .as_ref()
            .map(Stderr::tail)
            .unwrap_or_default()
    }

    /// Waits until standard error is read to its end.
    ///
    /// Any descendant can hold it open for as long as it likes, so the caller must bound this wait.
    pub async fn stderr_drained(&self) {
        if let Some(stderr) = &self.inner.stderr {
            stderr.drained().await;
        }
    }

    /// Ends the process and everything in its session, and collects it.
    ///
    /// Standard input must have been closed before. After `grace.eof` comes SIGTERM, after
    /// `grace.term` SIGKILL, each as long as any member is left, and at most two seconds later the
    /// result. Calls share one run: a later one can shorten it. The run goes on when this future is
    /// dropped, as long as a handle is kept.
    pub async fn close(&self, grace: Grace) -> Closed {
        let leader = &self.inner.leader;
        leader.close(grace);
        reported(&leader.closed).await.unwrap_or_else(|| Closed {
            exit: self.exit(),
            ending: Ending::Killed,
            survivors: vec![leader.id],
            escaped: Vec::new(),
        })
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("id", &self.id())
            .field("exit", &self.exit())
            .finish()
    }
}

/// Waits for a report; `None` when the supervisor has given the process up.
async fn reported<T: Clone>(report: &watch::Receiver<Option<T>>) -> Option<T> {
    let mut report = report.clone();
    let value = report.wait_for(Option::is_some).await.ok()?;
    value.clone()
}
