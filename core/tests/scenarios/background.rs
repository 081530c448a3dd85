//! What a scenario starts and waits for later, and how it is cancelled.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_resident::{CancellationToken, Error, McpSource, ToolResult};
use mcp_resident_fixtures::hub::{Filter, Hub};
use mcp_resident_fixtures::scenario::JournalMark;
use tokio_util::task::AbortOnDropHandle;

use crate::failure::Failure;

/// How long what a scenario waits for may take when it names no limit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What came of something that a caller waits for.
pub(crate) enum Outcome {
    /// Of calls, with the time that each took.
    Calls(Vec<(ToolResult, Duration)>),
    /// Of a start, a stop or a restart.
    Lifecycle(Result<(), Error>),
    /// Of a load.
    Load(Result<Arc<McpSource>, Error>),
}

/// Something that runs under a label.
pub(crate) struct Running {
    pub(crate) cancel: CancellationToken,
    work: AbortOnDropHandle<Result<Outcome, Failure>>,
}

impl Running {
    pub(crate) fn spawn(
        cancel: CancellationToken,
        work: impl Future<Output = Result<Outcome, Failure>> + Send + 'static,
    ) -> Self {
        let work = AbortOnDropHandle::new(tokio::spawn(work));
        Self { cancel, work }
    }

    /// Waits for it.
    pub(crate) async fn join(self) -> Result<Outcome, Failure> {
        match tokio::time::timeout(PATIENCE, self.work).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Err(Failure::new(error.to_string())),
            Err(_) => Err(Failure::new(format!("still runs after {PATIENCE:?}"))),
        }
    }
}

/// When its caller gives something up.
pub(crate) struct GivenUp {
    pub(crate) hub: Arc<Hub>,
    pub(crate) mark: Option<JournalMark>,
    pub(crate) cancel: CancellationToken,
}

impl GivenUp {
    /// Does the work, and cancels it when the event comes.
    pub(crate) async fn watch<T>(self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let Some(mark) = self.mark else {
            return Ok(work.await);
        };
        let filter = Filter {
            event: Some(mark.event),
            pattern: mark.pattern,
            ..Filter::default()
        };
        let mut work = std::pin::pin!(work);
        tokio::select! {
            done = &mut work => Ok(done),
            came = self.hub.wait_for(&mark.server, &filter, 1, PATIENCE) => {
                came?;
                self.cancel.cancel();
                Ok(work.await)
            }
        }
    }
}

/// The result of some work and the time that it took.
pub(crate) async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let done = work.await;
    (done, start.elapsed())
}
