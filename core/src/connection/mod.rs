//! One generation of a connection: from the start of its transport to the end of its last call.
//!
//! A connection never comes back. When it is lost, the server's task makes another one with the next
//! generation; calls and events that belong to this one stay with it.

mod drop_reason;
mod lane;
mod listing;
mod open_error;
mod opening;
mod record;
mod reply;
mod router;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use mcp_resident_process::{Closed, Grace, Process};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::lane::Lane;
use self::record::{CallTable, Ended};
use self::router::Signals;
use crate::config::Redactor;
use crate::json::{RawJson, compact};
use crate::protocol::Conversation;

pub(crate) use self::drop_reason::DropReason;
pub(crate) use self::lane::{Deadlines, RequestError, RequestOptions, TimeLimit};
pub(crate) use self::listing::ListError;
pub(crate) use self::open_error::OpenError;
pub(crate) use self::opening::{Opening, Target};
pub(crate) use self::reply::{ReplyError, read_result};
pub(crate) use crate::protocol::ServerIdentity;

/// How much a listing may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListLimits {
    pub(crate) pages: usize,
    pub(crate) tools: usize,
}

/// How long the steps of a close may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CloseLimits {
    /// Until what is queued is written.
    pub(crate) flush: Duration,
    /// For the process and its group.
    pub(crate) grace: Grace,
}

impl CloseLimits {
    /// Everything ends at once.
    pub(crate) const NONE: Self = Self {
        flush: Duration::ZERO,
        grace: Grace::NONE,
    };
}

/// The right to be the one process of an instance. Given back when the process is gone for good.
pub(crate) struct ProcessSlot {
    /// Held, never read.
    pub(crate) _permit: OwnedSemaphorePermit,
    /// The place among all processes, held in the same way.
    pub(crate) _place: Box<dyn Send + Sync>,
}

/// A connection that was opened: the handshake is done.
pub(crate) struct Connection {
    generation: u64,
    server: ServerIdentity,
    lane: Lane,
    signals: Arc<Signals>,
    redactor: Redactor,
    drop_reason: Arc<OnceLock<Arc<DropReason>>>,
    dropped: Arc<Notify>,
    resources: Resources,
    /// Ends the task that finds out why the connection was lost.
    _watch: DropGuard,
}

/// What a close has to end.
struct Resources {
    conversation: Mutex<Option<Conversation>>,
    process: Option<Process>,
    slot: Mutex<Option<ProcessSlot>>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("generation", &self.generation)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Which connection of its server this is, from 1.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// How the server introduced itself.
    pub(crate) fn identity(&self) -> &ServerIdentity {
        &self.server
    }

    /// The id of its process, when it has one.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.resources.process.as_ref().map(Process::id)
    }

    /// Whether the connection is lost. True from the moment at which the transport ended, before
    /// anybody was told.
    pub(crate) fn is_dropped(&self) -> bool {
        self.signals.is_dropping()
    }

    /// Waits until the connection is lost and the reason is known.
    pub(crate) async fn dropped(&self) -> Arc<DropReason> {
        loop {
            let dropped = self.dropped.notified();
            if let Some(reason) = self.drop_reason.get() {
                return Arc::clone(reason);
            }
            dropped.await;
        }
    }

    /// Waits until the server said that its list changed, or that it may have.
    pub(crate) async fn list_changed(&self) {
        self.signals.list_changed().await;
    }

    /// Masks what this connection's server was given as secrets.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.redactor.mask(text).into_owned()
    }

    /// The same for a value: its text stays as it came unless it repeats a secret.
    pub(crate) fn mask_json(&self, value: RawJson) -> RawJson {
        mask_json(&self.redactor, value)
    }

    /// Calls a tool by its own name and returns the reply as it came. The call's id is its progress
    /// token.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: &RawJson,
        options: RequestOptions<'_>,
    ) -> Result<Bytes, RequestError> {
        self.lane
            .request_in_turn(
                "tools/call",
                |id, params| {
                    params.reserve(arguments.as_str().len() + tool.len() + 64);
                    params.push_str(r#"{"name":"#);
                    params.push_str(&serde_json::Value::from(tool).to_string());
                    params.push_str(r#","arguments":"#);
                    params.push_str(arguments.as_str());
                    params.push_str(r#","_meta":{"progressToken":"#);
                    params.push_str(&id.to_string());
                    params.push_str("}}");
                },
                options,
            )
            .await
            .map_err(|error| self.explain(error))
    }

    /// Gives a drop its reason, when it is known by now.
    fn explain(&self, error: RequestError) -> RequestError {
        match error {
            RequestError::Dropped { reason: None, sent } => RequestError::Dropped {
                reason: self.drop_reason.get().cloned(),
                sent,
            },
            other => other,
        }
    }

    /// Fails all calls and admits none from now on, without waiting for anything.
    pub(crate) fn refuse_calls(&self) {
        self.lane.calls.end(Ended::Closed);
        self.lane.slots.close();
    }

    /// The same when no call is running; says whether that is so. Nothing was sent then that has no answer.
    pub(crate) fn refuse_calls_when_unused(&self) -> bool {
        let unused = self.lane.calls.refuse_when_unused();
        if unused {
            self.lane.slots.close();
        }
        unused
    }

    /// Waits until no call is running.
    pub(crate) async fn drained(&self) {
        self.lane.calls.drained().await;
    }

    /// Ends everything that belongs to the connection. Calling it again is harmless.
    pub(crate) async fn close(&self, limits: CloseLimits) -> Option<Closed> {
        self.refuse_calls();
        let conversation = self
            .resources
            .conversation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(conversation) = conversation {
            conversation.close().await;
        }
        self.lane.link.close(limits.flush).await;
        let closed = match &self.resources.process {
            Some(process) => Some(process.close(limits.grace).await),
            None => None,
        };
        drop(
            self.resources
                .slot
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        closed
    }
}

/// Masks secrets in a value, whichever escapes its server writes. When the rest is no JSON any more,
/// the text becomes a string.
fn mask_json(redactor: &Redactor, value: RawJson) -> RawJson {
    let plain = if value.as_str().contains('\\') {
        Cow::Owned(compact(value.as_str()))
    } else {
        Cow::Borrowed(value.as_str())
    };
    match redactor.mask(&plain) {
        Cow::Borrowed(_) => value,
        Cow::Owned(masked) => masked
            .parse()
            .unwrap_or_else(|_| RawJson::from(serde_json::Value::from(masked))),
    }
}

/// Finds out why a connection was lost, tells its calls, and then whoever waits.
async fn watch_drop(
    signals: Arc<Signals>,
    calls: Arc<CallTable>,
    process: Option<Process>,
    redactor: Redactor,
    reason: Arc<OnceLock<Arc<DropReason>>>,
    dropped: Arc<Notify>,
    end: CancellationToken,
) {
    let find = async {
        let cause = signals.drop_cause().await;
        let mask = |text: &str| redactor.mask_cut_start(text);
        Arc::new(DropReason::find(cause, process.as_ref(), mask).await)
    };
    tokio::select! {
        () = end.cancelled() => {}
        found = find => {
            let _ = reason.set(Arc::clone(&found));
            calls.end(Ended::Dropped(found));
            dropped.notify_waiters();
        }
    }
}
