//! The task that owns a server's lifecycle.
//!
//! One loop, one owner: nothing else changes the state, starts an attempt or replaces the
//! connection, so no two of them can be at odds. Everything slow (attempts, listings, closing) runs
//! beside the loop and reports back to it, stamped with its generation; what comes from an older
//! generation changes nothing.

mod attempts;
mod ending;
mod idle;
mod listing;
mod settings;
mod waits;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::waits::{at, changed, ended, listed, lost};
use super::attempt::{Connected, ListFailed};
use super::instance::Instance;
use super::lease::Tenant;
use super::pace::RefreshPace;
use super::restart::{RestartLimits, RestartPolicy};
use super::snapshot::Snapshot;
use super::spec::ServerSpec;
use crate::connection::{Connection, OpenError};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, State};
use crate::tool::{Diagnostic, ToolDefinition};

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
    /// Go on with other settings for the same connection.
    Adopt(Arc<ServerSpec>, Done),
    /// Offer what is known to somebody who uses the instance from now on, too.
    Welcome(Arc<Tenant>, Done),
    /// Another instance needs the place of the process.
    MakeRoom,
    /// The server no longer knows the session of this generation.
    ReplaceSession { generation: u64, done: Done },
}

pub(super) struct Task {
    spec: Arc<ServerSpec>,
    instance: Arc<Instance>,
    commands: mpsc::Receiver<Command>,
    snapshot: watch::Sender<Snapshot>,
    slot: Arc<Semaphore>,
    /// What is ending beside the loop; each is cancelled when nothing of it is left.
    endings: Vec<CancellationToken>,
    generation: u64,
    current: Option<Current>,
    attempt: Option<Attempt>,
    restart: RestartPolicy,
    /// Those who asked for a connection while the current one was being lost.
    after_loss: Vec<Waiter>,
    retry_at: Option<Instant>,
    /// Whether what failed was meant to list and no more.
    retry_lists_only: bool,
    pace: RefreshPace,
    refresh_due: Option<Instant>,
    refresh: Option<Refresh>,
    /// Those who asked for a refresh while one was running: it may have missed their change.
    refresh_next: Vec<Done>,
    /// The newest list; nothing before there is one.
    listed: Option<Vec<ToolDefinition>>,
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
type Listed = Result<(Vec<ToolDefinition>, Vec<Diagnostic>), ListFailed>;

struct Refresh {
    generation: u64,
    listing: BoxFuture<'static, Listed>,
    waiters: Vec<Done>,
}

impl Task {
    pub(super) fn new(
        instance: Arc<Instance>,
        commands: mpsc::Receiver<Command>,
        snapshot: watch::Sender<Snapshot>,
    ) -> Self {
        let spec = instance.serving();
        let restart = RestartPolicy::new(RestartLimits::of(&spec.limits));
        let generation = instance.generation_before();
        Self {
            instance,
            commands,
            snapshot,
            slot: Arc::new(Semaphore::new(1)),
            endings: Vec::new(),
            generation,
            current: None,
            attempt: None,
            restart,
            after_loss: Vec::new(),
            retry_at: None,
            retry_lists_only: false,
            pace: RefreshPace::new(),
            refresh_due: None,
            refresh: None,
            refresh_next: Vec::new(),
            listed: None,
            spec,
        }
    }

    pub(super) async fn run(mut self) {
        let closing = self.instance.closing().clone();
        loop {
            let current = self
                .current
                .as_ref()
                .map(|current| Arc::clone(&current.connection));
            let idle_until = self.idle_until();
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
                    let purpose = match self.retry_lists_only {
                        true => Purpose::ListOnce,
                        false => Purpose::Retry,
                    };
                    self.begin_attempt(purpose, Vec::new(), "retry");
                }
                () = changed(live) => {
                    self.refresh_due.get_or_insert_with(|| self.pace.due(Instant::now()));
                }
                () = at(self.refresh_due), if self.refresh.is_none() => {
                    self.refresh_due = None;
                    self.begin_refresh(Vec::new());
                }
                result = listed(&mut self.refresh) => self.refreshed(result),
                () = at(idle_until) => self.close_when_idle(),
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
                if self.current.is_some() || self.snapshot.borrow().listed.is_some() {
                    answer(waiter.done, Ok(()));
                } else if let Some(attempt) = &mut self.attempt {
                    attempt.waiters.push(waiter);
                } else {
                    self.begin_attempt(Purpose::ListOnce, vec![waiter], "its tools are listed");
                }
            }
            Command::Restart(waiter) => {
                self.restart.reset();
                self.spec.forget_secrets();
                self.drop_session_attempt();
                if let Some(current) = self
                    .current
                    .take_if(|current| !current.connection.is_dropped())
                {
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
            Command::Adopt(spec, done) => {
                self.adopt(spec);
                answer(done, Ok(()));
            }
            Command::MakeRoom => self.make_room(),
            Command::Welcome(tenant, done) => {
                self.welcome(&tenant);
                answer(done, Ok(()));
            }
        }
    }

    fn is_running(&self) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| !current.connection.is_dropped())
    }

    /// Moves to a state.
    fn transition(&self, to: State, cause: &str) {
        self.transition_with(to, cause, |_| {});
    }

    /// Moves to a state, with whatever else changes. Snapshot and history change as one: whoever sees
    /// the state finds the events that tell of it, and the other way round.
    fn transition_with(&self, to: State, cause: &str, change: impl FnOnce(&mut Snapshot)) {
        let retry = if to == State::Error {
            self.retry_report()
        } else {
            None
        };
        self.publish(|snapshot| {
            change(snapshot);
            let from = std::mem::replace(&mut snapshot.state, to);
            if from != to {
                self.event(EventKind::State {
                    from,
                    to,
                    cause: cause.to_owned(),
                });
            }
            if let Some(retry) = retry {
                self.event(retry);
            }
        });
    }

    fn publish(&self, change: impl FnOnce(&mut Snapshot)) {
        self.snapshot.send_modify(|snapshot| {
            change(snapshot);
            snapshot.attempted |= self.attempt.is_some();
            snapshot.dormant &= snapshot.state == State::Stopped;
            snapshot.attempt_expected = self.attempt.is_some() || self.retry_at.is_some();
            if self.current.is_none() {
                snapshot.connection = None;
            }
        });
    }

    fn event(&self, kind: EventKind) {
        self.event_of(self.generation, kind);
    }

    /// Tells all tenants of something that belongs to one connection.
    fn event_of(&self, generation: u64, kind: EventKind) {
        self.instance
            .audience
            .push(&self.spec.name, generation, kind);
    }

    fn not_running(&self) -> Error {
        Error::new(ErrorKind::Connect, "not connected").of_server(&self.spec.name)
    }
}

/// The one who waited may have gone.
fn answer(done: Done, result: Result<(), Error>) {
    let _ = done.send(result);
}
