//! [`Link`]: one server's transport, whichever it is.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::http::HttpLink;
use super::legacy_sse::LegacySseLink;
use super::stdio::StdioLink;
use super::{RequestFailure, RequestId};

/// How long tasks in the background may take to end at close.
const BACKGROUND_END: Duration = Duration::from_secs(1);
/// How long a message in the background may take to be sent.
const BACKGROUND_SEND: Duration = Duration::from_secs(10);

/// A transport with the tasks that serve it in the background; none of them outlives `close`.
pub(crate) struct Link {
    kind: Kind,
    background: TaskTracker,
    /// What the link was made on: calls may be dropped elsewhere.
    runtime: Handle,
    closing: CancellationToken,
}

enum Kind {
    Stdio(StdioLink),
    Http(HttpLink),
    LegacySse(LegacySseLink),
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.kind {
            Kind::Stdio(_) => "Link(stdio)",
            Kind::Http(_) => "Link(http)",
            Kind::LegacySse(_) => "Link(sse)",
        })
    }
}

impl From<StdioLink> for Link {
    fn from(link: StdioLink) -> Self {
        Self::new(Kind::Stdio(link))
    }
}

impl From<HttpLink> for Link {
    fn from(link: HttpLink) -> Self {
        Self::new(Kind::Http(link))
    }
}

impl From<LegacySseLink> for Link {
    fn from(link: LegacySseLink) -> Self {
        Self::new(Kind::LegacySse(link))
    }
}

impl Link {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            background: TaskTracker::new(),
            runtime: Handle::current(),
            closing: CancellationToken::new(),
        }
    }

    /// Sends a request. Ends when the request is on its way (stdio, older HTTP) or its reply has
    /// been handed over (streamable HTTP); either way the reply is at the inbound path, or comes.
    pub(crate) async fn request(&self, id: &RequestId, body: Bytes) -> Result<(), RequestFailure> {
        match &self.kind {
            Kind::Stdio(link) => link.request(&body).await,
            Kind::Http(link) => link.request(id, body).await.map(drop),
            Kind::LegacySse(link) => link.request(id, body).await,
        }
    }

    /// Whether a request may wait here before anything of it is on its way.
    pub(crate) fn queues_requests(&self) -> bool {
        matches!(self.kind, Kind::Stdio(_))
    }

    /// Sends the request that opens a session.
    pub(crate) async fn initialize(
        &self,
        id: &RequestId,
        body: Bytes,
    ) -> Result<(), RequestFailure> {
        match &self.kind {
            Kind::Http(link) => link.initialize(id, body).await.map(drop),
            Kind::Stdio(_) | Kind::LegacySse(_) => self.request(id, body).await,
        }
    }

    /// Sends a message that expects no reply.
    pub(crate) async fn notify(&self, body: Bytes) -> Result<(), RequestFailure> {
        match &self.kind {
            Kind::Stdio(link) => link.notify(&body),
            Kind::Http(link) => link.notify(body).await,
            Kind::LegacySse(link) => link.notify(body).await,
        }
    }

    /// Sends a message that expects no reply, without waiting for it to be sent.
    pub(crate) fn notify_soon(self: &Arc<Self>, body: String) {
        if let Kind::Stdio(link) = &self.kind {
            // A link that has ended has nobody to tell.
            let _ = link.notify(body.as_bytes());
            return;
        }
        let link = Arc::clone(self);
        self.in_background(async move {
            let _ = tokio::time::timeout(BACKGROUND_SEND, link.notify(Bytes::from(body))).await;
        });
    }

    /// Runs a task that ends with the link at the latest.
    pub(crate) fn in_background(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        let task = async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = task => {}
            }
        };
        self.background.spawn_on(task, &self.runtime);
    }

    /// The revision that both sides agreed on.
    pub(crate) fn set_protocol_version(&self, version: &str) {
        match &self.kind {
            Kind::Stdio(_) | Kind::LegacySse(_) => {}
            Kind::Http(link) => {
                // A version that is no header value cannot be one that is spoken here.
                if let Ok(version) = HeaderValue::from_str(version) {
                    link.set_protocol_version(version);
                }
            }
        }
    }

    /// Begins to listen for what the server sends by itself, where that needs a request.
    pub(crate) fn listen(&self) {
        match &self.kind {
            Kind::Http(link) => link.listen(),
            Kind::Stdio(_) | Kind::LegacySse(_) => {}
        }
    }

    /// Ends the link. What is queued is given up to `flush` to be sent.
    pub(crate) async fn close(&self, flush: Duration) {
        self.closing.cancel();
        self.background.close();
        let _ = tokio::time::timeout(BACKGROUND_END, self.background.wait()).await;
        match &self.kind {
            Kind::Stdio(link) => link.close(flush).await,
            Kind::Http(link) => link.close().await,
            Kind::LegacySse(link) => link.close(),
        }
    }
}
