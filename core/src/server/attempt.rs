//! One attempt to connect a server: resolve, open, list.

use std::sync::Arc;

use mcp_resident_process::{Closed, Grace};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::instance::Instance;
use super::spec::ServerSpec;
use crate::config::{
    ConfigProblem, Environment, Protocol, RemoteKind, ResolveContext, ResolvedServer, resolve,
};
use crate::connection::{
    CloseLimits, Connection, ListError, ListLimits, OpenError, Opening, ProcessSlot, ReplyError,
    RequestError, Target,
};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, EventSink};
use crate::tool::{Diagnostic, ToolDefinition, read_listing};
use crate::transport::RequestFailure;
use crate::transport::http::HttpOptions;

/// A connection and what its server listed.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) connection: Arc<Connection>,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Connects and lists. A failure, and a cancel, leave nothing running.
///
/// `slot` admits one process of the instance at a time: the attempt waits until the last one is gone.
pub(super) async fn connect(
    instance: Arc<Instance>,
    spec: Arc<ServerSpec>,
    generation: u64,
    is_first: bool,
    slot: Arc<Semaphore>,
    cancel: CancellationToken,
) -> Result<Connected, OpenError> {
    let events = EventSink {
        audience: instance.audience.clone(),
        server: Arc::clone(&spec.name),
        generation,
    };
    let opening = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(cancelled()),
        opening = prepare(&instance, &spec, events, is_first, cancel.clone()) => opening?,
    };
    let slot = match opening.target {
        Target::Remote { .. } => None,
        Target::Stdio { .. } => tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            slot = process_slot(&instance, &spec, slot) => Some(slot?),
        },
    };
    let _inside = match (&instance.facilities.startup_gates, &opening.target) {
        (Some(gates), Target::Remote { options, .. }) => tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            inside = gates.enter(options.url.as_str()) => inside,
        },
        _ => None,
    };
    let connection = opening.open(slot).await.inspect_err(|failed| {
        if failed.error.kind() == ErrorKind::NeedsAuth {
            // What a command printed may have expired.
            spec.forget_secrets();
        }
    })?;
    let connection = Arc::new(connection);
    match list(&connection, &spec, Some(&cancel)).await {
        Ok((tools, diagnostics)) => Ok(Connected {
            connection,
            tools,
            diagnostics,
        }),
        Err(failed) => {
            if failed.error.kind() == ErrorKind::NeedsAuth {
                spec.forget_secrets();
            }
            end(&connection, &instance, &spec).await;
            Err(OpenError {
                error: failed.error,
                exit: None,
                stderr_tail: String::new(),
            })
        }
    }
}

/// Waits until the instance's last process is gone, and until there is room for one more process.
async fn process_slot(
    instance: &Arc<Instance>,
    spec: &ServerSpec,
    slot: Arc<Semaphore>,
) -> Result<ProcessSlot, OpenError> {
    let permit = slot.acquire_owned().await.map_err(|_| cancelled())?;
    let budget = &instance.facilities.processes;
    let limit = spec.limits.connect;
    let place = tokio::time::timeout(limit, budget.place(instance)).await;
    let place = place.map_err(|_| {
        let message = format!(
            "no room for its process within {} ms: {} run, which is the limit (`maxProcesses`), and each has calls running",
            limit.as_millis(),
            budget.most(),
        );
        OpenError::new(ErrorKind::Timeout, message)
    })?;
    Ok(ProcessSlot {
        _permit: permit,
        _place: Box::new(place),
    })
}

/// Why a list could not be fetched.
#[derive(Debug)]
pub(super) struct ListFailed {
    pub(super) error: Error,
    /// Whether a new session may help.
    pub(super) session_unknown: bool,
}

/// Fetches the list anew.
pub(super) async fn list(
    connection: &Connection,
    spec: &ServerSpec,
    cancel: Option<&CancellationToken>,
) -> Result<(Vec<ToolDefinition>, Vec<Diagnostic>), ListFailed> {
    let limits = ListLimits {
        pages: spec.limits.max_list_pages,
        tools: spec.limits.max_tools,
    };
    connection
        .list_tools(limits, spec.limits.list, cancel)
        .await
        .map(|entries| {
            let (tools, mut diagnostics) = read_listing(entries);
            // They quote the server.
            for diagnostic in &mut diagnostics {
                diagnostic.tool = connection.mask(&diagnostic.tool);
                diagnostic.reason = connection.mask(&diagnostic.reason);
            }
            (tools, diagnostics)
        })
        .map_err(|error| ListFailed {
            session_unknown: matches!(
                &error,
                ListError::Request(RequestError::Transport(
                    RequestFailure::SessionUnknown { .. }
                ))
            ),
            error: list_error(&error, spec, connection),
        })
}

/// Ends a connection, within the server's graces or, when the close of the source is overdue, without.
pub(super) async fn end(
    connection: &Connection,
    instance: &Instance,
    spec: &ServerSpec,
) -> Option<Closed> {
    let limits = CloseLimits {
        flush: spec.limits.close_stdin_grace,
        grace: Grace {
            eof: spec.limits.close_stdin_grace,
            term: spec.limits.close_term_grace,
        },
    };
    tokio::select! {
        closed = connection.close(limits) => closed,
        () = instance.overdue().cancelled() => connection.close(CloseLimits::NONE).await,
    }
}

async fn prepare(
    instance: &Instance,
    spec: &Arc<ServerSpec>,
    events: EventSink,
    is_first: bool,
    cancel: CancellationToken,
) -> Result<Opening, OpenError> {
    if spec.definition.protocol == Protocol::Modern {
        return Err(OpenError::new(
            ErrorKind::Config,
            "`protocol: \"modern\"` is not supported yet: leave it out, or use \"legacy\"",
        ));
    }
    let shared = &spec.shared;
    let environment = Environment::read(&*shared.environment);
    let context = ResolveContext {
        environment: &environment,
        base_dir: &shared.base_dir,
        expand: shared.expand,
        default_inherit_env: shared.default_inherit_env.as_deref(),
        resident: shared.resident,
        secret_commands: shared.secret_commands.as_ref(),
        limits: &spec.limits,
    };
    let resolved = resolve(&spec.definition, &context)
        .await
        .map_err(|problem| {
            // The error names the server itself.
            let unnamed = ConfigProblem {
                server: None,
                ..problem
            };
            OpenError::new(ErrorKind::Config, unnamed.to_string())
        })?;
    if is_first {
        for warning in &resolved.warnings {
            events.push(EventKind::Note {
                message: warning.to_string(),
            });
        }
    }
    let target = target(instance, spec, resolved.server)?;
    Ok(Opening {
        target,
        limits: spec.limits.clone(),
        client: shared.client.clone(),
        wait_for: shared.wait_for.clone(),
        events,
        redactor: resolved.redactor,
        cancel,
    })
}

fn target(
    instance: &Instance,
    spec: &ServerSpec,
    resolved: ResolvedServer,
) -> Result<Target, OpenError> {
    let failed = |error: Error| OpenError {
        error,
        exit: None,
        stderr_tail: String::new(),
    };
    match resolved {
        ResolvedServer::Stdio {
            program,
            args,
            environment,
            directory,
            ..
        } => Ok(Target::Stdio {
            program,
            args,
            environment,
            directory,
            engine: instance.facilities.engine.get().map_err(failed)?,
            guarded: spec.shared.guardian,
        }),
        ResolvedServer::Remote {
            url,
            headers,
            kind,
            legacy_sse_allowed,
        } => {
            let url = reqwest::Url::parse(&url).map_err(|error| {
                OpenError::new(
                    ErrorKind::Config,
                    format!("the url cannot be used: {error}"),
                )
            })?;
            let mut options = HttpOptions::new(url);
            options.headers = headers;
            options.max_message_bytes = spec.limits.max_message_bytes;
            options.delete_timeout = spec.limits.close_http_delete;
            options.listen_backoff_cap = spec.limits.listen_max_delay;
            options.redirect_hops = spec.limits.max_redirects;
            Ok(Target::Remote {
                client: instance
                    .facilities
                    .http
                    .get(&spec.limits, &*spec.shared.environment)
                    .map_err(failed)?,
                options,
                legacy: kind == RemoteKind::Sse,
                legacy_fallback: legacy_sse_allowed,
            })
        }
    }
}

fn list_error(error: &ListError, spec: &ServerSpec, connection: &Connection) -> Error {
    let (kind, message) = match error {
        ListError::Request(RequestError::Cancelled { .. }) => return cancelled().error,
        ListError::Request(RequestError::Closed { .. }) => (
            ErrorKind::Dropped,
            "stopped or restarted while the tools were listed".to_owned(),
        ),
        ListError::Request(RequestError::Timeout { .. }) => (
            ErrorKind::Timeout,
            format!(
                "the tools were not listed within {} ms",
                spec.limits.list.as_millis()
            ),
        ),
        ListError::Request(RequestError::Dropped { reason, .. }) => (
            ErrorKind::Dropped,
            match reason {
                Some(reason) => reason.told(" while the tools were listed", ""),
                None => "the connection was lost while the tools were listed".to_owned(),
            },
        ),
        ListError::Request(RequestError::TooLarge(limit)) => (
            ErrorKind::Protocol,
            format!("a page of tools is larger than the limit of {limit} bytes"),
        ),
        ListError::Request(RequestError::Transport(failure)) => {
            let kind = match failure {
                RequestFailure::Unauthorized { .. } | RequestFailure::Forbidden { .. } => {
                    ErrorKind::NeedsAuth
                }
                _ => ErrorKind::Connect,
            };
            (kind, format!("the tools cannot be listed: {failure}"))
        }
        ListError::Reply(ReplyError::Error { code, message, .. }) => (
            ErrorKind::Protocol,
            format!("the server refused `tools/list`: {message} ({code})"),
        ),
        ListError::Reply(ReplyError::Malformed(reason)) => (
            ErrorKind::Protocol,
            format!("the answer to `tools/list` cannot be used: {reason}"),
        ),
        ListError::RepeatedCursor => (
            ErrorKind::Protocol,
            "the server's list of tools never ends: it repeats a cursor".to_owned(),
        ),
        ListError::TooManyPages(limit) => (
            ErrorKind::Protocol,
            format!("the list of tools has more than {limit} pages"),
        ),
        ListError::TooManyTools(limit) => (
            ErrorKind::Protocol,
            format!("the server lists more than {limit} tools"),
        ),
    };
    Error::new(kind, connection.mask(&message)).of_server(&spec.name)
}

fn cancelled() -> OpenError {
    OpenError::new(ErrorKind::Cancelled, "cancelled by the caller")
}
