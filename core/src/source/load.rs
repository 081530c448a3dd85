//! From a configuration to a source.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::{LoadOptions, Purpose, Wait};
use super::policy::Policy;
use super::roster::Roster;
use super::{Implementation, McpSource};
use crate::catalog::ListingCache;
use crate::config::{ConfigInput, Lazy, ParseOptions, ParsedConfig, SecretCommands, parse};
use crate::error::{Error, ErrorKind};
use crate::event::{EventLog, FileLog};
use crate::protocol::ClientIdentity;
use crate::server::{Facilities, RuntimeCell, Server, Shared, Spill};

/// How long servers may take to end when a load is cancelled; then they are killed.
const CANCELLED_CLOSE: Duration = Duration::from_millis(500);
/// With [`Wait::Ready`], how long nothing may happen before the load goes on without the others.
const READY_QUIET: Duration = Duration::from_millis(500);

/// Connects every server of a configuration and lists its tools.
///
/// A server that cannot be connected is `failed` and costs the others nothing. This fails only when
/// the configuration as a whole cannot be used, or when `options.cancel` is cancelled; then nothing
/// that was started is left.
///
/// Needs a Tokio runtime with time and I/O; everything of the source runs on it.
///
/// # Errors
///
/// [`ErrorKind::Config`] and [`ErrorKind::Cancelled`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcp_resident::{LoadOptions, load_mcp};
/// use serde_json::json;
///
/// let source = load_mcp(json!({ "mcpServers": {} }), LoadOptions::default()).await?;
/// assert!(source.tools().is_empty());
/// source.close().await;
/// # Ok::<(), mcp_resident::Error>(())
/// # }).unwrap();
/// ```
pub async fn load_mcp(
    config: impl Into<ConfigInput>,
    options: LoadOptions,
) -> Result<McpSource, Error> {
    let config = config.into();
    let file = match &config {
        ConfigInput::File(path) => Some(path.clone()),
        _ => None,
    };
    let parsed = read(config)?;
    let roster = Roster::new(shared(&options)?, Policy::of(&options));
    // Until there is a source that does it, whoever drops the load ends the tasks that it started.
    let unfinished = roster.shared.closing.clone().drop_guard();
    let fresh = roster.reconfigure(parsed).await?.fresh;
    unfinished.disarm();
    let source = McpSource {
        roster,
        file,
        wait: options.wait,
    };
    let cancel = options.cancel.unwrap_or_default();
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            source.close_within(CANCELLED_CLOSE).await;
            return Err(cancelled());
        }
        () = settle(&source.roster.shared, fresh, options.wait) => {}
    }
    // A session shows what was listed with its first exchange.
    if options.purpose != Purpose::Session {
        source.roster.catalog.release();
    }
    Ok(source)
}

/// Reads a configuration. Entries are judged alone; this fails when it cannot be used as a whole.
pub(super) fn read(config: ConfigInput) -> Result<ParsedConfig, Error> {
    parse(config, &ParseOptions::default())
        .map_err(|error| Error::new(ErrorKind::Config, error.to_string()))
}

pub(super) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled by the caller")
}

fn shared(options: &LoadOptions) -> Result<Arc<Shared>, Error> {
    let base_dir = match &options.base_dir {
        Some(directory) => std::path::absolute(directory),
        None => std::env::current_dir(),
    }
    .map_err(|error| {
        Error::new(
            ErrorKind::Config,
            format!("the base directory cannot be used: {error}"),
        )
    })?;
    let own = || Implementation {
        name: "mcp-resident".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let Implementation { name, version } = options.client_info.clone().unwrap_or_else(own);
    let file = options.log_dir.clone().map(FileLog::new).transpose();
    let file = file.map_err(|error| {
        let message = format!("the log cannot be begun: {error}");
        Error::new(ErrorKind::Internal, message)
    })?;
    let facilities = Facilities::new(options.purpose == Purpose::Session);
    if let Some(most) = options.max_processes {
        facilities.processes.allow(most);
    }
    Ok(Arc::new(Shared {
        events: EventLog::new(Policy::of(options).limits.max_events, file),
        runtime: RuntimeCell::current(),
        environment: options.environment(),
        client: ClientIdentity { name, version },
        wait_for: options.wait_for.clone(),
        base_dir,
        expand: options.expand,
        default_inherit_env: options.default_inherit_env.clone(),
        resident: options.resident,
        secret_commands: options.secret_commands.clone().map(SecretCommands::new),
        spill: options
            .spill_dir
            .clone()
            .map(|directory| Arc::new(Spill::new(directory))),
        cache: options.cache_dir.clone().map(ListingCache::new),
        guardian: options.guardian.unwrap_or(true),
        replay_repeatable_calls: options.replay_repeatable_calls,
        validate_arguments: options.validate_arguments,
        calls_reconnect: options.purpose == Purpose::Session,
        closing: CancellationToken::new(),
        overdue: CancellationToken::new(),
        tasks: TaskTracker::new(),
        facilities: facilities.enter(),
    }))
}

/// Starts those that are to be started, and waits as the host chose.
pub(super) async fn settle(shared: &Arc<Shared>, servers: Vec<Arc<Server>>, wait: Wait) {
    let never = CancellationToken::new();
    let started: Vec<Arc<Server>> = servers
        .into_iter()
        .filter(|server| {
            let spec = server.spec();
            spec.definition.enabled && spec.lazy != Lazy::Yes && !server.is_dormant()
        })
        .collect();
    let mut attempts: FuturesUnordered<_> = started
        .iter()
        .filter_map(|server| {
            let (server, never) = (Arc::clone(server), never.clone());
            // On a task of its own: a load that does not wait must not end the attempt.
            shared.spawn(async move {
                // What went wrong is in the server's status and its events.
                let _ = match server.spec().lazy {
                    Lazy::List => server.list_once(&never).await,
                    Lazy::No | Lazy::Yes => server.start(&never).await,
                };
            })
        })
        .collect();
    match wait {
        Wait::All => while attempts.next().await.is_some() {},
        // The attempts are under way when this returns: whoever asks for the state sees that.
        Wait::None => {
            join_all(started.iter().map(|server| server.begun())).await;
        }
        Wait::For(limit) => {
            let all = async { while attempts.next().await.is_some() {} };
            // Whoever is not there by then joins later.
            let _ = tokio::time::timeout(limit, all).await;
        }
        Wait::Ready => loop {
            let settled = attempts.next();
            let next = if started.iter().any(|server| server.was_connected()) {
                tokio::time::timeout(READY_QUIET, settled)
                    .await
                    .ok()
                    .flatten()
            } else {
                settled.await
            };
            if next.is_none() {
                return;
            }
        },
    }
}
