//! Sessions as a host holds them: the core's, with operations in place of futures.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use mcp_resident::{Error, ProjectServer, ProjectTrust, Session as CoreSession, open_session};

use crate::operation::{OperationId, Outcome};
use crate::queue::Queue;
use crate::request::SessionRequest;
use crate::source::{Source, start_load};
use crate::tool::Tool;

/// The servers of a user and a project. Its [source](Session::source) is what is closed.
pub struct Session {
    session: Arc<CoreSession>,
    source: Arc<Source>,
}

/// The tools of one exchange, which stay as they are.
#[derive(Debug)]
pub struct Exchange {
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, Arc<Tool>>,
    /// An exchange that is kept does not keep a session open.
    source: Weak<Source>,
}

/// Opens a session. The outcome is [`Outcome::Opened`].
///
/// # Errors
/// [`Forked`](mcp_resident::ErrorKind::Forked) after a fork.
pub fn session(queue: &Arc<Queue>, request: SessionRequest) -> Result<OperationId, Error> {
    start_load(queue, |operation, lease, _, queue| async move {
        let (options, environment) = request.prepare(&queue, operation, &lease);
        let opened = open_session(options).await.map(|session| {
            let source = Source::new(Arc::clone(session.source()), environment, lease);
            Arc::new(Session {
                session: Arc::new(session),
                source,
            })
        });
        Outcome::Opened(opened)
    })
}

impl Session {
    /// The servers: their states, events and problems, what can be done to each, and the close.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Begins an exchange. [`Outcome::Exchanged`].
    pub fn exchange(&self, queue: &Arc<Queue>) -> Result<OperationId, Error> {
        let (session, source) = (Arc::clone(&self.session), Arc::clone(&self.source));
        self.source.operation(queue, move |_, token| async move {
            let exchange = tokio::select! {
                biased;
                () = token.cancelled() => Err(crate::source::cancelled()),
                exchange = session.exchange() => exchange,
            };
            Outcome::Exchanged(exchange.map(|exchange| Exchange::new(&source, &exchange)))
        })
    }

    /// Reads the files again. [`Outcome::Reloaded`].
    pub fn reload(&self, queue: &Arc<Queue>) -> Result<OperationId, Error> {
        let session = Arc::clone(&self.session);
        self.source.operation(queue, move |_, _| async move {
            Outcome::Reloaded(session.reload().await)
        })
    }

    /// Decides anew what of the project's file may be started, and reads the files again. `choice` is JSON: `"all"`,
    /// `"nothing"`, or a list of fingerprints. [`Outcome::Reloaded`].
    ///
    /// # Errors
    /// [`Config`](mcp_resident::ErrorKind::Config) for another choice.
    pub fn trust(&self, queue: &Arc<Queue>, choice: &str) -> Result<OperationId, Error> {
        let session = Arc::clone(&self.session);
        let trust = ProjectTrust::from_json(choice)?;
        self.source.operation(queue, move |_, _| async move {
            Outcome::Reloaded(session.trust(trust).await)
        })
    }

    /// What the project's file would start and is not trusted.
    pub fn untrusted(&self) -> Vec<ProjectServer> {
        self.session.untrusted()
    }
}

impl Exchange {
    fn new(source: &Arc<Source>, exchange: &mcp_resident::Exchange) -> Arc<Self> {
        let callable: Vec<_> = exchange.callable().cloned().collect();
        let by_name = source
            .shelved(&callable)
            .into_iter()
            .map(|tool| (tool.name().to_owned(), tool));
        Arc::new(Self {
            by_name: by_name.collect(),
            tools: source.shelved(exchange.tools()),
            source: Arc::downgrade(source),
        })
    }

    /// The source of its session, while somebody has that.
    pub fn source(&self) -> Option<Arc<Source>> {
        self.source.upgrade()
    }

    /// The tools to declare to the model, in order.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// A tool by its name for models, hidden and deferred ones included.
    pub fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        self.by_name.get(name).cloned()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.session.fmt(formatter)
    }
}
