//! The task that owns a server's lifecycle.
//!
//! One loop, one owner: nothing else changes the state, starts an attempt or replaces the
//! connection, so no two of them can be at odds. Everything slow (attempts, listings, closing) runs
//! beside the loop and reports back to it, stamped with its generation; what comes from an older
//! generation changes nothing.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt::{self, Connected};
use super::handle::Server;
use super::pace::RefreshPace;
use super::placeholder;
use super::restart::{RestartLimits, RestartPolicy};
use super::snapshot::Snapshot;
use super::spec::ServerSpec;
use crate::catalog::{CatalogStore, Changes};
use crate::config::Lazy;
use crate::connection::{Connection, DropReason, OpenError};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, State, Status};
use crate::tool::{Diagnostic, ToolDefinition, read_listing};

/// What a caller waits for.
pub(super) type Done = oneshot::Sender<Result<(), Error>>;

/// Somebody who waits for an attempt, and may stop waiting.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) id: u64,
    pub(super) done: Done,
}

/// What others ask of the task.
#[derive(Debug)]
pub(super) enum Command {
    /// Connect, unless that is done or under way.
    Start(Waiter),
    /// The same for a call: does not forgive earlier failures.
    Wake(Waiter),
    /// Connect only to list, unless the list is known.
    ListOnce(Waiter),
    /// Disconnect and connect again.
    Restart(Waiter),
    /// This waiter has gone.
    Abandon(u64),
    /// Disconnect, and stay so.
    Stop(oneshot::Sender<()>),
    /// Fetch the list again.
    Refresh(Done),
    /// The server no longer knows the session of this generation.
    ReplaceSession { generation: u64, done: Done },
}

pub(super) struct Task {
    spec: Arc<ServerSpec>,
    server: Arc<Server>,
    catalog: Arc<CatalogStore>,
    commands: mpsc::Receiver<Command>,
    snapshot: watch::Sender<Snapshot>,
    slot: Arc<Semaphore>,
    generation: u64,
    current: Option<Current>,
    attempt: Option<Attempt>,
    restart: RestartPolicy,
    retry_at: Option<Instant>,
    pace: RefreshPace,
    refresh_due: Option<Instant>,
    refresh: Option<Refresh>,
    /// Those who asked for a refresh while one was running: it may have missed their change.
    refresh_next: Vec<Done>,
    unknown_filter_names_reported: bool,
}

struct Current {
    connection: Arc<Connection>,
    since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Somebody wants the server to run.
    Start,
    /// It was lost, or could not be connected before.
    Retry,
    /// Its list is wanted, and nothing else.
    ListOnce,
    /// Its session expired; the old connection stays until then.
    ReplaceSession,
}

struct Attempt {
    purpose: Purpose,
    generation: u64,
    task: JoinHandle<Result<Connected, OpenError>>,
    cancel: CancellationToken,
    waiters: Vec<Waiter>,
}

/// What a listing gave: tools, and what was odd about some of them.
type Listed = Result<(Vec<ToolDefinition>, Vec<Diagnostic>), Error>;

struct Refresh {
    generation: u64,
    listing: BoxFuture<'static, Listed>,
    waiters: Vec<Done>,
}

impl Task {
    pub(super) fn new(
        server: Arc<Server>,
        catalog: Arc<CatalogStore>,
        commands: mpsc::Receiver<Command>,
        snapshot: watch::Sender<Snapshot>,
    ) -> Self {
        let spec = Arc::clone(server.spec());
        let limits = &spec.limits;
        let restart = RestartPolicy::new(RestartLimits {
            max_retries: limits.restart_retries,
            first_delay: limits.restart_first_delay,
            max_delay: limits.restart_max_delay,
            stable_period: limits.restart_stable_period,
        });
        Self {
            server,
            catalog,
            commands,
            snapshot,
            slot: Arc::new(Semaphore::new(1)),
            generation: 0,
            current: None,
            attempt: None,
            restart,
            retry_at: None,
            pace: RefreshPace::new(),
            refresh_due: None,
            refresh: None,
            refresh_next: Vec::new(),
            unknown_filter_names_reported: false,
            spec,
        }
    }

    pub(super) async fn run(mut self) {
        let closing = self.spec.shared.closing.clone();
        loop {
            let current = self
                .current
                .as_ref()
                .map(|current| Arc::clone(&current.connection));
            let live = current.clone().filter(|_| self.spec.live_tool_list);
            tokio::select! {
                biased;
                () = closing.cancelled() => break,
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                reason = lost(current) => self.lost(&reason),
                result = ended(&mut self.attempt) => self.attempt_ended(result),
                () = at(self.retry_at) => {
                    self.retry_at = None;
                    self.begin_attempt(Purpose::Retry, Vec::new(), "retry");
                }
                () = changed(live) => {
                    self.refresh_due.get_or_insert_with(|| self.pace.due(Instant::now()));
                }
                () = at(self.refresh_due), if self.refresh.is_none() => {
                    self.refresh_due = None;
                    self.begin_refresh(Vec::new());
                }
                result = listed(&mut self.refresh) => self.refreshed(result),
            }
        }
        self.shut_down().await;
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Start(waiter) => {
                if self.is_running() {
                    answer(waiter.done, Ok(()));
                } else {
                    self.restart.reset();
                    self.join_or_begin(waiter, "start");
                }
            }
            Command::Wake(waiter) => {
                if self.is_running() {
                    answer(waiter.done, Ok(()));
                } else {
                    self.join_or_begin(waiter, "a call needs it");
                }
            }
            Command::ListOnce(waiter) => {
                if self.current.is_some() || self.snapshot.borrow().offered.is_some() {
                    answer(waiter.done, Ok(()));
                } else if let Some(attempt) = &mut self.attempt {
                    attempt.waiters.push(waiter);
                } else {
                    self.begin_attempt(Purpose::ListOnce, vec![waiter], "its tools are listed");
                }
            }
            Command::Restart(waiter) => {
                self.restart.reset();
                if let Some(secrets) = &self.spec.shared.secret_commands {
                    secrets.forget_all();
                }
                self.drop_session_attempt();
                if let Some(current) = self.current.take() {
                    self.discard(current.connection);
                    self.transition(State::Stopped, "restart");
                }
                self.join_or_begin(waiter, "restart");
            }
            Command::Abandon(id) => self.abandon(id),
            Command::Stop(done) => self.stop(done),
            Command::Refresh(done) => {
                if self.refresh.is_some() {
                    self.refresh_next.push(done);
                } else {
                    self.begin_refresh(vec![done]);
                }
            }
            Command::ReplaceSession { generation, done } => self.replace_session(generation, done),
        }
    }

    fn is_running(&self) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| !current.connection.is_dropped())
    }

    /// One attempt at a time, shared by all who wait.
    fn join_or_begin(&mut self, waiter: Waiter, cause: &str) {
        match &mut self.attempt {
            Some(attempt) if attempt.purpose != Purpose::ReplaceSession => {
                if attempt.purpose == Purpose::ListOnce {
                    attempt.purpose = Purpose::Start;
                }
                attempt.waiters.push(waiter);
            }
            _ => {
                // A connection that is lost, of which this task has not been told yet.
                if let Some(current) = self.current.take() {
                    self.discard(current.connection);
                }
                self.drop_session_attempt();
                self.begin_attempt(Purpose::Start, vec![waiter], cause);
            }
        }
    }

    fn begin_attempt(&mut self, purpose: Purpose, waiters: Vec<Waiter>, cause: &str) {
        self.retry_at = None;
        self.generation += 1;
        let cancel = self.spec.shared.closing.child_token();
        let work = attempt::connect(
            Arc::clone(&self.spec),
            self.generation,
            Arc::clone(&self.slot),
            cancel.clone(),
        );
        let task = self.spec.shared.tasks.spawn(work);
        let generation = self.generation;
        self.attempt = Some(Attempt {
            purpose,
            generation,
            task,
            cancel,
            waiters,
        });
        if purpose == Purpose::ReplaceSession {
            self.publish(|_| {});
        } else {
            self.transition(State::Starting, cause);
        }
    }

    fn attempt_ended(&mut self, result: Result<Connected, OpenError>) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        match result {
            Ok(connected) => self.connected(attempt, connected),
            Err(error) => self.not_connected(attempt, error),
        }
    }

    fn connected(&mut self, attempt: Attempt, connected: Connected) {
        let Connected {
            connection,
            tools,
            diagnostics,
        } = connected;
        self.remember_listing(&tools, &connection);
        let offered = self.publish_tools(tools, diagnostics, attempt.generation);
        if attempt.purpose == Purpose::ListOnce {
            self.snapshot.send_modify(|snapshot| {
                snapshot.status = Status::Connected;
                snapshot.generation = attempt.generation;
                snapshot.offered = Some(offered);
                snapshot.last_error = None;
            });
            self.discard(connection);
            self.transition(State::Stopped, "its tools are known");
        } else {
            let old = self.current.replace(Current {
                connection: Arc::clone(&connection),
                since: Instant::now(),
            });
            self.snapshot.send_modify(|snapshot| {
                snapshot.status = Status::Connected;
                snapshot.generation = attempt.generation;
                snapshot.connection = Some(connection);
                snapshot.offered = Some(offered);
                snapshot.last_error = None;
                snapshot.restarts += u32::from(attempt.purpose == Purpose::Retry);
            });
            if attempt.purpose == Purpose::ReplaceSession {
                self.event(EventKind::SessionReplaced);
                self.publish(|_| {});
                if let Some(old) = old {
                    self.retire(old.connection);
                }
            } else {
                self.transition(State::Running, "connected and listed");
            }
        }
        for waiter in attempt.waiters {
            answer(waiter.done, Ok(()));
        }
    }

    fn not_connected(&mut self, attempt: Attempt, failed: OpenError) {
        let error = failed.error.of_server(&self.spec.name);
        self.event(EventKind::AttemptFailed {
            reason: error.message().to_owned(),
            exit: failed.exit,
            stderr_tail: failed.stderr_tail,
        });
        if attempt.purpose == Purpose::ReplaceSession {
            // The old connection stays: the next call finds out whether the server is back.
            self.publish(|_| {});
        } else {
            self.snapshot.send_modify(|snapshot| {
                snapshot.status = Status::Failed;
                snapshot.last_error = Some(error.clone());
            });
            self.schedule_retry();
            self.transition(State::Error, error.message());
            self.report_retry();
        }
        for waiter in attempt.waiters {
            answer(waiter.done, Err(error.clone()));
        }
    }

    fn lost(&mut self, reason: &DropReason) {
        let Some(current) = self.current.take() else {
            return;
        };
        self.event(EventKind::Dropped {
            reason: reason.to_string(),
            exit: reason.exit,
            stderr_tail: reason.stderr_tail.clone(),
        });
        self.restart.lost_after(current.since.elapsed());
        self.discard(current.connection);
        let error = Error::new(ErrorKind::Dropped, reason.to_string()).of_server(&self.spec.name);
        self.snapshot
            .send_modify(|snapshot| snapshot.last_error = Some(error));
        self.drop_session_attempt();
        self.schedule_retry();
        self.transition(State::Error, &reason.to_string());
        self.report_retry();
    }

    /// Decides before the state is published whether an attempt follows, so that a caller who sees
    /// the state knows whether to wait.
    fn schedule_retry(&mut self) {
        if !self.spec.auto_restart {
            return;
        }
        if let Some(retry) = self.restart.next(fastrand::f64()) {
            self.retry_at = Some(Instant::now() + retry.delay);
        }
    }

    fn report_retry(&mut self) {
        if !self.spec.auto_restart {
            return;
        }
        let kind = match self.retry_at {
            Some(at) => EventKind::RetryScheduled {
                retry: self.restart.retries(),
                max_retries: self.spec.limits.restart_retries,
                delay: at.saturating_duration_since(Instant::now()),
            },
            None => EventKind::GaveUp {
                retries: self.restart.retries(),
            },
        };
        self.event(kind);
    }

    fn abandon(&mut self, id: u64) {
        let Some(attempt) = &mut self.attempt else {
            return;
        };
        let before = attempt.waiters.len();
        attempt.waiters.retain(|waiter| waiter.id != id);
        let was_last = before > 0 && attempt.waiters.is_empty();
        if was_last && matches!(attempt.purpose, Purpose::Start | Purpose::ListOnce) {
            attempt.cancel.cancel();
            self.attempt = None;
            self.transition(State::Stopped, "cancelled by the caller");
        }
    }

    fn stop(&mut self, done: oneshot::Sender<()>) {
        self.retry_at = None;
        if let Some(attempt) = self.attempt.take() {
            attempt.cancel.cancel();
            for waiter in attempt.waiters {
                let error = Error::new(ErrorKind::Cancelled, "stopped by the host");
                answer(waiter.done, Err(error.of_server(&self.spec.name)));
            }
        }
        if let Some(current) = self.current.take() {
            self.discard(current.connection);
        }
        self.transition(State::Stopped, "stopped by the host");
        // The slot is free when no process is left.
        let slot = Arc::clone(&self.slot);
        let closing = self.spec.shared.closing.clone();
        self.spec.shared.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                _ = slot.acquire() => {}
            }
            let _ = done.send(());
        });
    }

    fn replace_session(&mut self, generation: u64, done: Done) {
        let waiter = Waiter { id: 0, done };
        match (&mut self.attempt, &self.current) {
            (_, Some(current)) if current.connection.generation() > generation => {
                answer(waiter.done, Ok(()));
            }
            (Some(attempt), _) => attempt.waiters.push(waiter),
            (None, Some(_)) => {
                self.begin_attempt(Purpose::ReplaceSession, vec![waiter], "session expired");
            }
            (None, None) => {
                let error = self.snapshot.borrow().last_error.clone();
                answer(
                    waiter.done,
                    Err(error.unwrap_or_else(|| self.not_running())),
                );
            }
        }
    }

    fn drop_session_attempt(&mut self) {
        if let Some(attempt) = self
            .attempt
            .take_if(|a| a.purpose == Purpose::ReplaceSession)
        {
            attempt.cancel.cancel();
            for waiter in attempt.waiters {
                answer(waiter.done, Err(self.not_running()));
            }
        }
    }

    fn begin_refresh(&mut self, waiters: Vec<Done>) {
        let Some(current) = &self.current else {
            for done in waiters {
                answer(done, Err(self.not_running()));
            }
            return;
        };
        let connection = Arc::clone(&current.connection);
        let spec = Arc::clone(&self.spec);
        let generation = connection.generation();
        let listing = async move { attempt::list(&connection, &spec, None).await }.boxed();
        self.refresh = Some(Refresh {
            generation,
            listing,
            waiters,
        });
    }

    fn refreshed(&mut self, result: Listed) {
        let Some(refresh) = self.refresh.take() else {
            return;
        };
        let is_current = self
            .current
            .as_ref()
            .is_some_and(|current| current.connection.generation() == refresh.generation);
        let result = match result {
            Ok((tools, diagnostics)) if is_current => {
                let before = self.catalog.catalog().version();
                let offered = self.publish_tools(tools, diagnostics, refresh.generation);
                self.snapshot
                    .send_modify(|snapshot| snapshot.offered = Some(offered));
                let changed = self.catalog.catalog().version() != before;
                self.pace.fetched(Instant::now(), changed);
                Ok(())
            }
            Ok(_) => Err(self.not_running()),
            Err(error) => {
                // The last good list stays.
                self.pace.fetched(Instant::now(), false);
                if is_current {
                    self.event(EventKind::Note {
                        message: error.message().to_owned(),
                    });
                }
                Err(error)
            }
        };
        for done in refresh.waiters {
            answer(done, result.clone());
        }
        let next = std::mem::take(&mut self.refresh_next);
        if !next.is_empty() {
            self.begin_refresh(next);
        }
    }

    /// Puts a list in the place of the old one, filtered, and says what changed.
    fn publish_tools(
        &mut self,
        tools: Vec<ToolDefinition>,
        diagnostics: Vec<Diagnostic>,
        generation: u64,
    ) -> Arc<HashSet<Arc<str>>> {
        let event = |kind| {
            self.spec
                .shared
                .events
                .push(&self.spec.name, generation, kind)
        };
        for Diagnostic { tool, reason } in diagnostics {
            event(EventKind::ToolDiagnostic { tool, reason });
        }
        if !std::mem::replace(&mut self.unknown_filter_names_reported, true) {
            self.report_unknown_filter_names(&tools);
        }
        let filter = &self.spec.definition.tools;
        let offered: Vec<_> = tools
            .into_iter()
            .filter(|tool| !self.spec.filtered || filter.allows(&tool.name))
            .collect();
        let names = offered.iter().map(|tool| Arc::clone(&tool.name)).collect();
        let changes = self
            .catalog
            .replace(&self.spec.name, offered, self.server.clone());
        if !changes.is_empty() {
            let Changes {
                added,
                removed,
                changed,
            } = changes;
            event(EventKind::ToolsChanged {
                added,
                removed,
                changed,
            });
        }
        Arc::new(names)
    }

    fn report_unknown_filter_names(&self, tools: &[ToolDefinition]) {
        let known: HashSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let filter = &self.spec.definition.tools;
        let unknown: Vec<&str> = filter
            .names()
            .filter(|name| !known.contains(name))
            .collect();
        if !unknown.is_empty() {
            let message = format!(
                "`tools` names what the server does not list: {}",
                unknown.join(", ")
            );
            self.event(EventKind::Note { message });
        }
    }

    /// Keeps the list for the next load of a lazy server.
    fn remember_listing(&self, tools: &[ToolDefinition], connection: &Connection) {
        let Some(cache) = self
            .spec
            .shared
            .cache
            .clone()
            .filter(|_| self.spec.lazy != Lazy::No)
        else {
            return;
        };
        let entries: Vec<_> = tools.iter().map(|tool| tool.raw.clone()).collect();
        let repeats_a_secret = entries
            .iter()
            .any(|entry| connection.mask(entry.as_str()) != entry.as_str());
        if repeats_a_secret {
            self.event(EventKind::Note {
                message: "its list is not cached: it repeats a secret".to_owned(),
            });
            return;
        }
        let key = self.spec.listing_key.clone();
        let (log, name) = (self.spec.shared.events.clone(), Arc::clone(&self.spec.name));
        let generation = self.generation;
        self.spec.shared.tasks.spawn(async move {
            if let Err(error) = cache.store(&key, entries).await {
                let message = format!("its list is not cached: {error}");
                log.push(&name, generation, EventKind::Note { message });
            }
        });
    }

    /// Ends a connection beside the loop. Its calls fail at once.
    fn discard(&self, connection: Arc<Connection>) {
        connection.refuse_calls();
        let spec = Arc::clone(&self.spec);
        self.spec
            .shared
            .tasks
            .spawn(async move { close(&connection, &spec).await });
    }

    /// Ends a connection beside the loop when its last call has ended.
    fn retire(&self, connection: Arc<Connection>) {
        let spec = Arc::clone(&self.spec);
        self.spec.shared.tasks.spawn(async move {
            tokio::select! {
                () = spec.shared.closing.cancelled() => {}
                () = connection.drained() => {}
                () = tokio::time::sleep(spec.limits.call_total) => {}
            }
            close(&connection, &spec).await;
        });
    }

    async fn shut_down(mut self) {
        let error =
            Error::new(ErrorKind::Closed, "the source was closed").of_server(&self.spec.name);
        self.snapshot.send_modify(|snapshot| {
            snapshot.closed = true;
            snapshot.connection = None;
        });
        let attempt = self.attempt.take();
        let refresh = self.refresh.take();
        self.retry_at = None;
        let current = self.current.take();
        if let Some(current) = &current {
            current.connection.refuse_calls();
        }
        if self.snapshot.borrow().state != State::Stopped {
            self.transition(State::Stopped, "closed");
        }
        for done in refresh.into_iter().flat_map(|refresh| refresh.waiters) {
            answer(done, Err(error.clone()));
        }
        for done in std::mem::take(&mut self.refresh_next) {
            answer(done, Err(error.clone()));
        }
        if let Some(attempt) = attempt {
            attempt.cancel.cancel();
            for waiter in attempt.waiters {
                answer(waiter.done, Err(error.clone()));
            }
            if let Ok(Ok(connected)) = attempt.task.await {
                close(&connected.connection, &self.spec).await;
            }
        }
        if let Some(current) = current {
            close(&current.connection, &self.spec).await;
        }
        // Whoever asked just before the end gets an answer, too.
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Start(waiter)
                | Command::Wake(waiter)
                | Command::ListOnce(waiter)
                | Command::Restart(waiter) => answer(waiter.done, Err(error.clone())),
                Command::Refresh(done) | Command::ReplaceSession { done, .. } => {
                    answer(done, Err(error.clone()));
                }
                Command::Stop(done) => {
                    let _ = done.send(());
                }
                Command::Abandon(_) => {}
            }
        }
    }

    /// Moves to a state and says so, in the snapshot and in the history.
    fn transition(&mut self, to: State, cause: &str) {
        let from = self.snapshot.borrow().state;
        self.publish(|snapshot| snapshot.state = to);
        if from != to {
            self.event(EventKind::State {
                from,
                to,
                cause: cause.to_owned(),
            });
        }
    }

    fn publish(&mut self, change: impl FnOnce(&mut Snapshot)) {
        let attempt_expected = self.attempt.is_some() || self.retry_at.is_some();
        let has_connection = self.current.is_some();
        self.snapshot.send_modify(|snapshot| {
            change(snapshot);
            snapshot.attempt_expected = attempt_expected;
            if !has_connection {
                snapshot.connection = None;
            }
        });
    }

    fn event(&self, kind: EventKind) {
        self.spec
            .shared
            .events
            .push(&self.spec.name, self.generation, kind);
    }

    fn not_running(&self) -> Error {
        Error::new(ErrorKind::Connect, "not connected").of_server(&self.spec.name)
    }

    /// What a lazy server offers before it is started: what was listed the last time, or a tool that
    /// starts it.
    pub(super) async fn offer_unstarted(&mut self) {
        let cached = match &self.spec.shared.cache {
            Some(cache) => cache.load(&self.spec.listing_key).await,
            None => None,
        };
        if let Some(entries) = cached {
            let (tools, diagnostics) = read_listing(entries);
            let offered = self.publish_tools(tools, diagnostics, 0);
            self.snapshot
                .send_modify(|snapshot| snapshot.offered = Some(offered));
        } else {
            let tool = placeholder::definition(&self.spec.name);
            self.catalog
                .replace(&self.spec.name, vec![tool], self.server.clone());
        }
    }
}

async fn close(connection: &Connection, spec: &ServerSpec) {
    let closed = attempt::end(connection, spec).await;
    let (exit, ending, escaped) = match closed {
        Some(closed) => (closed.exit, Some(closed.ending), closed.escaped),
        None => (None, None, Vec::new()),
    };
    let log = &spec.shared.events;
    if !escaped.is_empty() {
        let message = format!("processes that left its group were not ended: {escaped:?}");
        log.push(
            &spec.name,
            connection.generation(),
            EventKind::Note { message },
        );
    }
    let killed = ending == Some(mcp_resident_process::Ending::Killed);
    log.push(
        &spec.name,
        connection.generation(),
        EventKind::Closed { exit, killed },
    );
}

/// The one who waited may have gone.
fn answer(done: Done, result: Result<(), Error>) {
    let _ = done.send(result);
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

async fn lost(current: Option<Arc<Connection>>) -> Arc<DropReason> {
    match current {
        Some(connection) => connection.dropped().await,
        None => std::future::pending().await,
    }
}

async fn changed(live: Option<Arc<Connection>>) {
    match live {
        Some(connection) => connection.list_changed().await,
        None => std::future::pending().await,
    }
}

async fn ended(attempt: &mut Option<Attempt>) -> Result<Connected, OpenError> {
    match attempt {
        Some(attempt) => match (&mut attempt.task).await {
            Ok(result) => result,
            Err(_) => Err(OpenError::new(
                ErrorKind::Internal,
                "the attempt ended unexpectedly",
            )),
        },
        None => std::future::pending().await,
    }
}

async fn listed(refresh: &mut Option<Refresh>) -> Listed {
    match refresh {
        Some(refresh) => (&mut refresh.listing).await,
        None => std::future::pending().await,
    }
}
