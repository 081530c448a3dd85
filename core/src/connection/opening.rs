//! Opening a connection: start the transport, shake hands, or say why not and leave nothing behind.

use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::StatusCode;
use mcp_resident_process::{
    Child, Engine, Grace, Launch, Process, StderrOptions, StderrSink, find_program,
};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lane::Lane;
use super::open_error::{Interruption, OpenError, cancelled};
use super::record::CallTable;
use super::router::{RESERVED_FOR_ANSWERS, Router, Signals};
use super::{Connection, ProcessSlot, Resources, watch_drop};
use crate::config::{Limits, Redactor};
use crate::error::ErrorKind;
use crate::event::{EventLog, EventSink, Lines};
use crate::protocol::{
    AskLimits, ClientIdentity, Conversation, ElicitationDesk, HandshakeError, WaitFor,
};
use crate::transport::http::{HttpClient, HttpLink, HttpOptions, suggests_legacy_sse};
use crate::transport::legacy_sse::LegacySseLink;
use crate::transport::stdio::{StdioLink, StdioOptions};
use crate::transport::{Inbound, Link};

/// Requests wait while so much is unwritten, in bytes.
const MAX_UNWRITTEN: usize = 4 * 1024 * 1024;
/// How long a conversation that ended waits for the transport to say why.
const CAUSE_WAIT: Duration = Duration::from_millis(500);
/// Questions to a person that one connection may have open.
const MAX_OPEN_QUESTIONS: usize = 16;
/// A process whose handshake failed is not waited for: it has nothing to save.
const FAILED_GRACE: Grace = Grace {
    eof: Duration::from_millis(500),
    term: Duration::from_millis(500),
};

/// How long an attempt that was given up waits for a process that is just being started.
const LATE_START_WAIT: Duration = Duration::from_secs(2);

/// What is connected to.
#[derive(Clone)]
pub(crate) enum Target {
    /// A child process.
    Stdio {
        program: OsString,
        args: Vec<String>,
        environment: Vec<(OsString, OsString)>,
        directory: PathBuf,
        engine: Arc<Engine>,
        guarded: bool,
    },
    /// A remote server.
    Remote {
        client: HttpClient,
        options: HttpOptions,
        /// Speaks the older HTTP+SSE without being asked first.
        legacy: bool,
        /// Whether the older HTTP+SSE is tried when the first request is refused as its servers do.
        legacy_fallback: bool,
    },
}

/// Everything that an attempt needs.
pub(crate) struct Opening {
    pub(crate) target: Target,
    pub(crate) limits: Limits,
    pub(crate) client: ClientIdentity,
    pub(crate) wait_for: Option<Arc<dyn WaitFor>>,
    pub(crate) events: EventSink,
    pub(crate) redactor: Redactor,
    /// Ends the attempt: what was started is ended before the attempt returns.
    pub(crate) cancel: CancellationToken,
}

/// The parts of a connection that exist before the handshake.
struct Parts {
    calls: Arc<CallTable>,
    signals: Arc<Signals>,
    desk: Option<Arc<ElicitationDesk>>,
    inbound: Arc<dyn Inbound>,
    inbox: mpsc::Receiver<bytes::Bytes>,
}

impl Opening {
    /// Opens the connection. Nothing that was started outlives a failure.
    pub(crate) async fn open(&self, slot: Option<ProcessSlot>) -> Result<Connection, OpenError> {
        match &self.target {
            Target::Stdio { .. } => self.open_stdio(slot).await,
            Target::Remote {
                client,
                options,
                legacy: true,
                ..
            } => self.open_legacy(client, options).await,
            Target::Remote {
                client,
                options,
                legacy_fallback,
                ..
            } => {
                let refused = match self.open_http(client, options).await {
                    Err((error, Some(status)))
                        if *legacy_fallback && suggests_legacy_sse(status) =>
                    {
                        error
                    }
                    result => return result.map_err(|(error, _)| error),
                };
                self.open_legacy(client, options).await.map_err(|legacy| {
                    let message = format!(
                        "{}; as a server of the older HTTP+SSE: {}",
                        refused.error.message(),
                        legacy.error.message()
                    );
                    OpenError::new(refused.error.kind(), message)
                })
            }
        }
    }

    async fn open_stdio(&self, slot: Option<ProcessSlot>) -> Result<Connection, OpenError> {
        let child = self.start_process().await?;
        let Child {
            stdin,
            stdout,
            process,
        } = child;
        let parts = self.parts();
        let options = StdioOptions {
            max_message_bytes: self.limits.max_message_bytes,
            max_unwritten_bytes: MAX_UNWRITTEN,
            write_stall: self.limits.write_stall,
        };
        let exited = {
            let process = process.clone();
            async move {
                process.exited().await;
            }
        };
        let inbound = Arc::clone(&parts.inbound);
        let link = StdioLink::start(stdin, stdout, exited, options, inbound);
        self.shake_hands(Arc::new(link.into()), parts, Some(process), slot)
            .await
            .map_err(|(error, _)| error)
    }

    /// Starts the process within its budget. One that comes to life after that, or after a cancel, is
    /// ended before this returns: whoever waits for the attempt, or for its slot, finds nothing left.
    async fn start_process(&self) -> Result<Child, OpenError> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let budget = self.limits.connect;
        let mut spawning = pin!(self.spawn());
        let interrupted = tokio::select! {
            biased;
            () = self.cancel.cancelled() => cancelled(),
            result = tokio::time::timeout(budget, &mut spawning) => match result {
                Ok(result) => return result,
                Err(_) => OpenError::new(
                    ErrorKind::Timeout,
                    format!("starting the process took longer than {} ms", budget.as_millis()),
                ),
            },
        };
        // Later than that, the process is killed as soon as it is there, and nobody waits for it.
        if let Ok(Ok(late)) = tokio::time::timeout(LATE_START_WAIT, spawning).await {
            late.process.close(Grace::NONE).await;
        }
        Err(interrupted)
    }

    async fn spawn(&self) -> Result<Child, OpenError> {
        let Target::Stdio {
            program,
            args,
            environment,
            directory,
            engine,
            guarded,
        } = &self.target
        else {
            return Err(OpenError::new(ErrorKind::Internal, "not a process"));
        };
        let path = environment
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value);
        let program = find_program(program, path.map(OsString::as_os_str), directory)
            .map_err(|error| OpenError::new(ErrorKind::Spawn, self.mask(&error.to_string())))?;
        let launch = Launch {
            program,
            args: args.iter().map(OsString::from).collect(),
            environment: environment.clone(),
            directory: directory.clone(),
            guarded: *guarded,
            stderr: StderrOptions {
                ring_bytes: self.limits.stderr_bytes,
                sink: Some(self.stderr_sink()),
            },
        };
        engine
            .spawn(launch)
            .await
            .map_err(|error| OpenError::new(ErrorKind::Spawn, self.mask(&error.to_string())))
    }

    /// Where standard error goes beside the ring: to the log, line by line and without secrets.
    fn stderr_sink(&self) -> StderrSink {
        let EventSink {
            audience,
            server,
            generation,
        } = self.events.clone();
        let redactor = self.redactor.clone();
        let lines = Lines::new(move |line: &str, is_cut: bool| {
            let logs = audience.logs();
            // Whoever joins later may have a file.
            let mut files = logs.iter().filter_map(EventLog::file).peekable();
            if files.peek().is_none() {
                return;
            }
            let masked = match is_cut {
                true => redactor.mask_cut_end(line),
                false => redactor.mask(line),
            };
            for file in files {
                file.stderr(&server, generation, &masked);
            }
        });
        let lines = Mutex::new(lines);
        Arc::new(move |bytes: &[u8]| {
            lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(bytes);
        })
    }

    async fn open_http(
        &self,
        client: &HttpClient,
        options: &HttpOptions,
    ) -> Result<Connection, (OpenError, Option<StatusCode>)> {
        let parts = self.parts();
        let link = HttpLink::new(client.clone(), options.clone(), Arc::clone(&parts.inbound));
        self.shake_hands(Arc::new(link.into()), parts, None, None)
            .await
    }

    async fn open_legacy(
        &self,
        client: &HttpClient,
        options: &HttpOptions,
    ) -> Result<Connection, OpenError> {
        let parts = self.parts();
        let connecting = LegacySseLink::connect(
            client.clone(),
            options.clone(),
            Arc::clone(&parts.inbound),
            self.limits.connect,
        );
        let link = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(cancelled()),
            link = connecting => link.map_err(|failure| self.transport_error(&failure))?,
        };
        self.shake_hands(Arc::new(link.into()), parts, None, None)
            .await
            .map_err(|(error, _)| error)
    }

    fn parts(&self) -> Parts {
        let calls = Arc::new(CallTable::default());
        let signals = Arc::new(Signals::default());
        let desk = self.wait_for.clone().map(|host| {
            let limits = AskLimits {
                answer: self.limits.person_wait,
                open: MAX_OPEN_QUESTIONS,
            };
            Arc::new(ElicitationDesk::new(host, limits, self.events.clone()))
        });
        let (conversation, inbox) =
            mpsc::channel(self.limits.max_queued_notifications + RESERVED_FOR_ANSWERS);
        let inbound: Arc<dyn Inbound> = Arc::new(Router {
            calls: Arc::clone(&calls),
            conversation,
            signals: Arc::clone(&signals),
            desk: desk.clone(),
            events: self.events.clone(),
            redactor: self.redactor.clone(),
            max_message_bytes: self.limits.max_message_bytes,
        });
        Parts {
            calls,
            signals,
            desk,
            inbound,
            inbox,
        }
    }

    async fn shake_hands(
        &self,
        link: Arc<Link>,
        parts: Parts,
        process: Option<Process>,
        slot: Option<ProcessSlot>,
    ) -> Result<Connection, (OpenError, Option<StatusCode>)> {
        if let Some(desk) = &parts.desk {
            desk.attach(&link);
        }
        let handshake = Conversation::open(
            Arc::clone(&link),
            parts.inbox,
            &self.client,
            self.wait_for.is_some(),
        );
        // Over HTTP the first request connects as well.
        let budget = match process {
            Some(_) => self.limits.initialize,
            None => self.limits.connect + self.limits.initialize,
        };
        let started = Instant::now();
        let result = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Interruption::Cancelled),
            cause = parts.signals.drop_cause() => Err(Interruption::Dropped(cause)),
            result = tokio::time::timeout(budget, handshake) => match result {
                Ok(Ok(opened)) => Ok(opened),
                // The transport says why in the same moment, where it can be lost at all.
                Ok(Err(HandshakeError::Closed)) => {
                    let cause = tokio::time::timeout(CAUSE_WAIT, parts.signals.drop_cause()).await;
                    Err(cause.map_or(Interruption::Handshake(HandshakeError::Closed), Interruption::Dropped))
                }
                Ok(Err(error)) => Err(Interruption::Handshake(error)),
                Err(_) => Err(Interruption::Timeout(started.elapsed())),
            },
        };
        let (conversation, server) = match result {
            Ok(opened) => opened,
            Err(interruption) => {
                let failed = self
                    .explain(interruption, &parts.signals, process.as_ref())
                    .await;
                link.close(Duration::ZERO).await;
                if let Some(process) = process {
                    process.close(FAILED_GRACE).await;
                }
                drop(slot);
                return Err(failed);
            }
        };
        link.listen();
        let end = CancellationToken::new();
        let drop_reason = Arc::new(OnceLock::new());
        let dropped = Arc::new(Notify::new());
        tokio::spawn(watch_drop(
            Arc::clone(&parts.signals),
            Arc::clone(&parts.calls),
            process.clone(),
            self.redactor.clone(),
            Arc::clone(&drop_reason),
            Arc::clone(&dropped),
            end.clone(),
        ));
        Ok(Connection {
            generation: self.events.generation,
            server,
            lane: Lane {
                link,
                calls: parts.calls,
                slots: Semaphore::new(self.limits.max_calls_in_flight),
            },
            signals: parts.signals,
            redactor: self.redactor.clone(),
            drop_reason,
            dropped,
            resources: Resources {
                conversation: Mutex::new(Some(conversation)),
                process,
                slot: Mutex::new(slot),
            },
            _watch: end.drop_guard(),
        })
    }
}
