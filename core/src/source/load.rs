//! From a configuration to a source.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::{LoadOptions, Wait};
use super::{Entry, Implementation, McpSource};
use crate::catalog::{CatalogStore, ListingCache};
use crate::config::{
    AutoRestart, ConfigInput, Lazy, Limits, ParseOptions, ParsedConfig, SecretCommands,
    ServerDefinition, parse,
};
use crate::error::{Error, ErrorKind};
use crate::event::EventLog;
use crate::protocol::ClientIdentity;
use crate::server::{EngineCell, HttpCell, RuntimeCell, Server, ServerSpec, Shared};

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
    let parsed = parse(config.into(), &ParseOptions::default())
        .map_err(|error| Error::new(ErrorKind::Config, error.to_string()))?;
    let source = prepare(parsed, &options).await?;
    let cancel = options.cancel.clone().unwrap_or_default();
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            source.close_within(CANCELLED_CLOSE).await;
            return Err(Error::new(ErrorKind::Cancelled, "cancelled by the caller"));
        }
        () = settle(&source, options.wait) => {}
    }
    source.catalog.release();
    Ok(source)
}

async fn prepare(parsed: ParsedConfig, options: &LoadOptions) -> Result<McpSource, Error> {
    let problems = parsed.problems().cloned().collect();
    let limits = source_limits(options);
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
    let shared = Arc::new(Shared {
        events: EventLog::new(limits.max_events),
        runtime: RuntimeCell::current(),
        environment: options.environment(),
        client: ClientIdentity { name, version },
        wait_for: options.wait_for.clone(),
        base_dir,
        expand: options.expand,
        default_inherit_env: options.default_inherit_env.clone(),
        resident: options.resident,
        secret_commands: options.secret_commands.clone().map(SecretCommands::new),
        cache: options.cache_dir.clone().map(ListingCache::new),
        guardian: options.guardian.unwrap_or(true),
        replay_repeatable_calls: options.replay_repeatable_calls,
        validate_arguments: options.validate_arguments,
        closing: CancellationToken::new(),
        overdue: CancellationToken::new(),
        tasks: TaskTracker::new(),
        engine: EngineCell::default(),
        http: HttpCell::default(),
    });
    // Until there is a source that does it, whoever drops the load ends the tasks that it started.
    let unfinished = shared.closing.clone().drop_guard();
    let order = parsed
        .servers
        .iter()
        .map(|entry| entry.name.as_str().into())
        .collect();
    let catalog = Arc::new(CatalogStore::new(order));
    let entries = join_all(parsed.servers.into_iter().map(|entry| {
        let (shared, catalog, limits) = (&shared, &catalog, &limits);
        async move {
            let name: Arc<str> = entry.name.into();
            let server = match entry.definition {
                Ok(definition) => {
                    let spec = spec(Arc::clone(&name), definition, limits, options, shared);
                    Ok(Server::launch(Arc::new(spec), catalog).await)
                }
                Err(problem) => Err(problem),
            };
            Entry { name, server }
        }
    }))
    .await;
    unfinished.disarm();
    Ok(McpSource {
        catalog,
        shared,
        entries,
        problems,
        limits,
    })
}

fn spec(
    name: Arc<str>,
    definition: ServerDefinition,
    limits: &Limits,
    options: &LoadOptions,
    shared: &Arc<Shared>,
) -> ServerSpec {
    // A server's own key wins over the host's option, and that over `resident`, the server's own
    // `resident` first.
    let own_resident = definition.resident;
    let resident = own_resident.unwrap_or(options.resident);
    let option = |option: Option<bool>| match own_resident {
        Some(true) => None,
        _ => option,
    };
    let restarts = |choice: AutoRestart| matches!(choice, AutoRestart::On { .. });
    let auto_restart = definition
        .auto_restart
        .map(restarts)
        .or_else(|| option(options.auto_restart.map(restarts)))
        .unwrap_or(resident);
    let live_tool_list = definition
        .live_tool_list
        .or_else(|| option(options.live_tool_list))
        .unwrap_or(resident);
    ServerSpec {
        limits: definition.limits_over(limits),
        lazy: if options.inventory {
            Lazy::No
        } else {
            definition.lazy
        },
        filtered: !options.inventory,
        auto_restart,
        live_tool_list,
        listing_key: crate::config::listing_key(&definition),
        shared: Arc::clone(shared),
        definition,
        name,
    }
}

fn source_limits(options: &LoadOptions) -> Limits {
    let mut limits = Limits::default();
    if let Some(AutoRestart::On {
        max_retries,
        backoff,
    }) = options.auto_restart
    {
        limits.restart_retries = max_retries.unwrap_or(limits.restart_retries);
        limits.restart_first_delay = backoff.unwrap_or(limits.restart_first_delay);
    }
    limits.with(&options.limits)
}

/// Starts what is to be started at load, and waits as the host chose.
async fn settle(source: &McpSource, wait: Wait) {
    let never = CancellationToken::new();
    let servers = source
        .entries
        .iter()
        .filter_map(|entry| entry.server.as_ref().ok());
    let mut attempts: FuturesUnordered<_> = servers
        .filter(|server| server.spec().definition.enabled && server.spec().lazy != Lazy::Yes)
        .map(|server| {
            let (server, never) = (Arc::clone(server), never.clone());
            // On a task of its own: a load that does not wait must not end the attempt.
            source.shared.tasks.spawn(async move {
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
        Wait::None => {
            // The attempts are under way when this returns: whoever asks for the state sees that.
            let begun = source
                .entries
                .iter()
                .filter_map(|entry| entry.server.as_ref().ok());
            join_all(begun.map(|server| server.begun())).await;
        }
        Wait::For(limit) => {
            let all = async { while attempts.next().await.is_some() {} };
            // Whoever is not there by then joins later.
            let _ = tokio::time::timeout(limit, all).await;
        }
        Wait::Ready => loop {
            let settled = attempts.next();
            let next = if any_connected(source) {
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

fn any_connected(source: &McpSource) -> bool {
    source
        .entries
        .iter()
        .filter_map(|entry| entry.server.as_ref().ok())
        .any(|server| server.snapshot().generation > 0)
}
