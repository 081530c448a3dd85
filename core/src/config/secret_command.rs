//! Secrets that a command prints: `!pass show github` as the value of a header or variable.
//!
//! Several servers often name the same command, and a command may ask a person to unlock a key store. So one run
//! serves all who wait for it, its output is kept in memory until it is forgotten, and a failure is not kept at all.
//! How a command is run is the business of a [`CommandRunner`].

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};

use super::definition::ServerDefinition;
use super::limits::Limits;

/// How long a command may run unless a limit says otherwise: 10 s.
pub const SECRET_COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// The most that a command may print: 64 KiB.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;

/// What a runner has on top of the timeout to end a command that ignores a first signal.
const ENDING_ALLOWANCE: Duration = Duration::from_secs(5);

/// One command to run.
#[derive(Clone)]
#[non_exhaustive]
pub struct SecretCommand {
    /// The text for `/bin/sh -c`.
    pub text: String,
    /// Its whole environment; nothing else is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// After this it is ended, with everything it started.
    pub timeout: Duration,
    /// After this many bytes of output it is ended, with everything it started.
    pub max_output_bytes: usize,
}

impl fmt::Debug for SecretCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretCommand")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// Runs commands.
///
/// Standard input is closed, standard error is thrown away. A run that is dropped ends its command, with everything
/// it started.
#[async_trait]
pub trait CommandRunner: Send + Sync {
    /// Runs a command to its end and gives what it printed.
    ///
    /// # Errors
    ///
    /// When it fails; the error holds nothing of what it printed.
    async fn run(&self, command: SecretCommand) -> Result<Vec<u8>, CommandFailure>;
}

/// Why a command gave no secret. Neither its text nor its output is in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandFailure {
    /// It could not be started.
    #[error("the command cannot be started: {0}")]
    NotStarted(String),
    /// It ended in another way than by exit code 0.
    #[error("the command ended with {0}")]
    Ended(String),
    /// It took too long.
    #[error("the command did not end within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// It printed too much.
    #[error("the command printed more than {0} bytes")]
    TooLarge(usize),
    /// It printed nothing.
    #[error("the command printed nothing")]
    Empty,
    /// It printed something that is no text.
    #[error("the command printed something that is not UTF-8 text")]
    NotText,
}

type Outcome = Result<Arc<str>, CommandFailure>;
type Run = BoxFuture<'static, Outcome>;

enum Slot {
    /// Held weakly: when nobody waits any more, the run is dropped.
    Running {
        run: WeakShared<Run>,
        id: u64,
    },
    Known(Arc<str>),
}

/// A relative path in a command means another file in another directory.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    text: String,
    directory: PathBuf,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<Key, Slot>,
    last_id: u64,
}

/// The commands of one host, and what they printed.
pub struct SecretCommands {
    runner: Arc<dyn CommandRunner>,
    slots: Arc<Mutex<Slots>>,
}

impl fmt::Debug for SecretCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretCommands").finish_non_exhaustive()
    }
}

impl SecretCommands {
    /// Commands that are run by `runner`.
    #[must_use]
    pub fn new(runner: Arc<dyn CommandRunner>) -> Self {
        Self {
            runner,
            slots: Arc::default(),
        }
    }

    /// What the command prints, without one trailing line break. All who ask while it runs in the same directory
    /// share the run, and all who ask later get the same output, until it is forgotten.
    ///
    /// # Errors
    ///
    /// When it fails. The next one to ask runs it again.
    pub async fn output(&self, command: SecretCommand) -> Result<Arc<str>, CommandFailure> {
        let key = Key {
            text: command.text.clone(),
            directory: command.directory.clone(),
        };
        let run = {
            let mut slots = lock(&self.slots);
            match slots.by_key.get(&key) {
                Some(Slot::Known(secret)) => return Ok(Arc::clone(secret)),
                Some(Slot::Running { run, .. }) => run.upgrade(),
                None => None,
            }
            .unwrap_or_else(|| self.start(&mut slots, key, command))
        };
        run.await
    }

    /// Forgets what a command printed; the next one to ask runs it again. A run under way still serves those who wait.
    pub fn forget(&self, text: &str) {
        lock(&self.slots).by_key.retain(|key, _| key.text != text);
    }

    /// Forgets what the commands of one server printed: after a 401, or for a restart that was asked for.
    pub fn forget_those_of(&self, definition: &ServerDefinition) {
        definition
            .secret_commands()
            .for_each(|text| self.forget(text));
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        lock(&self.slots).by_key.clear();
    }

    fn start(&self, slots: &mut Slots, key: Key, command: SecretCommand) -> Shared<Run> {
        slots.last_id += 1;
        let id = slots.last_id;
        let (runner, shared_slots, settled) = (
            Arc::clone(&self.runner),
            Arc::clone(&self.slots),
            key.clone(),
        );
        let run = async move {
            let outcome = run_bounded(runner.as_ref(), command).await;
            settle(&mut lock(&shared_slots), &settled, id, &outcome);
            outcome
        };
        let run = run.boxed().shared();
        if let Some(weak) = run.downgrade() {
            slots.by_key.insert(key, Slot::Running { run: weak, id });
        }
        run
    }
}

/// Keeps a success and drops a failure, unless the run was forgotten meanwhile.
fn settle(slots: &mut Slots, key: &Key, finished: u64, outcome: &Outcome) {
    let is_current =
        matches!(slots.by_key.get(key), Some(Slot::Running { id, .. }) if *id == finished);
    if !is_current {
        return;
    }
    match outcome {
        Ok(secret) => slots
            .by_key
            .insert(key.clone(), Slot::Known(Arc::clone(secret))),
        Err(_) => slots.by_key.remove(key),
    };
}

async fn run_bounded(runner: &dyn CommandRunner, command: SecretCommand) -> Outcome {
    let (timeout, max_bytes) = (command.timeout, command.max_output_bytes);
    let bytes = tokio::time::timeout(
        timeout.saturating_add(ENDING_ALLOWANCE),
        runner.run(command),
    )
    .await
    .map_err(|_| CommandFailure::TimedOut(timeout))??;
    if bytes.len() > max_bytes {
        return Err(CommandFailure::TooLarge(max_bytes));
    }
    let text = String::from_utf8(bytes).map_err(|_| CommandFailure::NotText)?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| {
        line.strip_suffix('\r').unwrap_or(line)
    });
    if text.is_empty() {
        Err(CommandFailure::Empty)
    } else {
        Ok(Arc::from(text))
    }
}

fn lock(slots: &Mutex<Slots>) -> MutexGuard<'_, Slots> {
    // No code runs under the lock that could leave the map half changed.
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SecretCommand {
    /// A command with the default limits.
    #[must_use]
    pub fn new(
        text: impl Into<String>,
        environment: Vec<(OsString, OsString)>,
        directory: PathBuf,
    ) -> Self {
        Self {
            text: text.into(),
            environment,
            directory,
            timeout: SECRET_COMMAND_TIMEOUT,
            max_output_bytes: MAX_SECRET_BYTES,
        }
    }

    /// The same with the limits of one server.
    #[must_use]
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.timeout = limits.secret_command;
        self
    }
}

/// The command in a value of env or headers; `!!` begins a text that itself begins with `!`.
pub(crate) fn command_in(value: &str) -> Option<&str> {
    value
        .strip_prefix('!')
        .filter(|rest| !rest.starts_with('!'))
}
