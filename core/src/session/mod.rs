//! Sessions: the servers of a user and a project, used over many exchanges with a model (SPEC section 7).
//!
//! A session has the same servers as [`load_mcp`](crate::load_mcp) and adds to them where their configuration comes from
//! (`layers`), what a model is shown (`exposure`, `deferred`) and when (`exchange`).

mod deferred;
mod exchange;
mod exposure;
mod layers;
mod options;
mod options_form;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;

use self::deferred::{Deferred, deferred_in};
use self::exposure::{exposure_of, may_be_direct};
use self::layers::Layers;
use crate::config::{Exposure, Lazy};
use crate::error::{Error, ErrorKind};
use crate::server::Server;
use crate::source::{McpSource, Reloaded, load_mcp};
use crate::tool::Tool;

pub use deferred::SEARCH_TOOL;
pub use exchange::Exchange;
pub use options::{
    DEFAULT_EXCHANGE_WAIT, DEFAULT_SESSION_OUTPUT_BYTES, ProjectServer, ProjectTrust,
    SessionOptions,
};

/// The servers of a user and a project, until [`close`](Session::close).
pub struct Session {
    source: Arc<McpSource>,
    options: SessionOptions,
    trust: Mutex<ProjectTrust>,
    layers: Layers,
    deferred: Arc<Deferred>,
    search: Arc<Tool>,
    /// Servers that no exchange has waited for yet: they are new, or started in another way.
    fresh: Mutex<Vec<Arc<Server>>>,
}

/// Opens a session: reads its files and connects their servers in the background.
///
/// A file or an entry that cannot be used is among the problems of [`source`](Session::source) and costs the others nothing.
///
/// # Errors
///
/// [`ErrorKind::Config`] when the base directory cannot be used.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcp_resident::{ProjectTrust, SessionOptions, open_session};
///
/// let mut options = SessionOptions::new(std::env::temp_dir(), ProjectTrust::Nothing);
/// options.user_config = Some("/nowhere/mcp.json".into());
/// let session = open_session(options).await?;
/// let exchange = session.exchange().await?;
/// assert!(exchange.tools().is_empty());
/// session.close().await;
/// # Ok::<(), mcp_resident::Error>(())
/// # }).unwrap();
/// ```
pub async fn open_session(options: SessionOptions) -> Result<Session, Error> {
    let layers = Layers::default();
    let config = layers.read(&options, &options.project_trust);
    let source = Arc::new(load_mcp(config, options.load_options()).await?);
    let fresh = source.current_servers();
    let deferred = Arc::<Deferred>::default();
    Ok(Session {
        search: deferred.search_tool(),
        source,
        trust: Mutex::new(options.project_trust.clone()),
        options,
        layers,
        deferred,
        fresh: Mutex::new(fresh),
    })
}

impl Session {
    /// The servers: their states, events and problems, and what can be done to each.
    pub fn source(&self) -> &Arc<McpSource> {
        &self.source
    }

    /// Begins an exchange: waits for servers that are new or changed, retries in the background those that failed, and
    /// pins what there is then.
    ///
    /// Only servers with direct tools are waited for, all together for
    /// [`exchange_wait`](SessionOptions::exchange_wait) at most.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`].
    pub async fn exchange(&self) -> Result<Exchange, Error> {
        if self.source.is_closing() {
            return Err(Error::new(ErrorKind::Closed, "the session was closed"));
        }
        let fresh = lock(&self.fresh).clone();
        self.source.retry_failed();
        let waited = fresh.iter().filter(|server| self.is_waited_for(server));
        let settled = join_all(waited.map(|server| server.settled()));
        // Who is not there by then joins at a later exchange.
        let _ = tokio::time::timeout(self.options.exchange_wait, settled).await;
        lock(&self.fresh).retain(|server| !fresh.iter().any(|seen| Arc::ptr_eq(seen, server)));
        self.source.publish();
        Ok(self.pin())
    }

    /// Reads the files again. What changed counts from the next exchange on; what is started in the same way keeps its
    /// connection (SPEC 2.22).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`]. A file that cannot be read is a problem, and its servers stay as they were.
    pub async fn reload(&self) -> Result<Reloaded, Error> {
        let trust = lock(&self.trust).clone();
        let config = self.layers.read(&self.options, &trust);
        let (changes, fresh) = self.source.take_config(config).await?;
        lock(&self.fresh).extend(fresh);
        Ok(changes)
    }

    /// What the project's file would start and is not trusted, for a person to decide on.
    pub fn untrusted(&self) -> Vec<ProjectServer> {
        self.layers.untrusted()
    }

    /// Decides anew what of the project's file may be started, and [reloads](Self::reload).
    ///
    /// # Errors
    ///
    /// As for a reload.
    pub async fn trust(&self, trust: ProjectTrust) -> Result<Reloaded, Error> {
        *lock(&self.trust) = trust;
        self.reload().await
    }

    /// Ends the session: every server is disconnected, and nothing of them is left when this returns.
    pub async fn close(&self) {
        self.source.close().await;
    }

    fn pin(&self) -> Exchange {
        let catalog = self.source.catalog();
        let definitions = self.source.definitions();
        let shown = |tool: &Tool| {
            definitions
                .get(tool.server())
                .map_or(Exposure::Hidden, |definition| {
                    exposure_of(tool.server_tool(), definition, self.options.exposure)
                })
        };
        let deferred = deferred_in(&catalog, |tool| shown(tool) == Exposure::Deferred);
        let direct = catalog
            .tools()
            .iter()
            .filter(|tool| shown(tool) == Exposure::Direct);
        let mut declared: Vec<Arc<Tool>> = direct.cloned().collect();
        if !deferred.is_empty() {
            declared.push(Arc::clone(&self.search));
        }
        declared.extend(self.deferred.renew(deferred));
        Exchange::new(declared, catalog.tools().iter().cloned(), catalog.version())
    }

    fn is_waited_for(&self, server: &Server) -> bool {
        let spec = server.spec();
        let definition = &spec.definition;
        definition.enabled
            && spec.lazy != Lazy::Yes
            && may_be_direct(definition, self.options.exposure)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Session")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
