//! The engine: what all processes of one host share, kept alive by their handles.

use std::{
    fmt, io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError, Weak, mpsc as std_mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{
    net::unix::pipe,
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use crate::{
    Child, ChildInput, ChildOutput, Launch, Process, SpawnError,
    exec::{Order, Stream},
    spawner::{self, Job, Spawned},
    stderr::Stderr,
    supervisor::Supervisor,
    sys,
};

/// How long the end of the engine waits for one of its threads; one that hangs in the system is
/// left behind.
const THREAD_END_LIMIT: Duration = Duration::from_secs(5);

/// Starts processes and sees them end: one thread for each, and one guardian for all.
///
/// It ends with the last reference, which includes every [`Process`]. That drop waits, normally for
/// a few milliseconds, until threads and guardian have ended.
pub struct Engine {
    supervisor: Arc<Supervisor>,
    /// `None` only while the engine ends.
    jobs: Option<mpsc::Sender<Job>>,
    spawner: Option<Worker>,
    supervisor_thread: Option<Worker>,
}

impl Engine {
    /// The engine of this host process; it is created when there is none.
    ///
    /// # Errors
    ///
    /// The system refuses a pipe or a thread.
    pub fn shared() -> io::Result<Arc<Self>> {
        static SHARED: Mutex<Weak<Engine>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = shared.upgrade() {
            if engine.supervisor.is_in_host() {
                return Ok(engine);
            }
            // The copy that a fork made: its threads are not here, and what it owns is not ours to
            // end.
            std::mem::forget(engine);
        }
        let engine = Arc::new(Self::new()?);
        *shared = Arc::downgrade(&engine);
        Ok(engine)
    }

    fn new() -> io::Result<Self> {
        let supervisor = Arc::new(Supervisor::new()?);
        let (jobs, queue) = mpsc::channel(spawner::QUEUE);
        let mut engine = Self {
            supervisor,
            jobs: Some(jobs),
            spawner: None,
            supervisor_thread: None,
        };
        let supervisor = Arc::clone(&engine.supervisor);
        engine.supervisor_thread = Some(Worker::start("mcp-supervisor", move || supervisor.run())?);
        let supervisor = Arc::clone(&engine.supervisor);
        engine.spawner = Some(Worker::start("mcp-spawner", move || {
            spawner::run(queue, &supervisor)
        })?);
        Ok(engine)
    }

    /// Starts a process.
    ///
    /// When the future is dropped before it is done, the process is not started or killed.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] says what is missing or wrong, and what to do.
    pub async fn spawn(self: &Arc<Self>, launch: Launch) -> Result<Child, SpawnError> {
        let order = Order {
            program: launch.program,
            args: launch.args,
            environment: launch.environment,
            directory: launch.directory,
            stdin: Stream::Piped,
            stdout: Stream::Piped,
            stderr: Stream::Piped,
            dies_with_parent: true,
        };
        let program = order.program.clone();
        let system = |source| SpawnError::System {
            program: program.clone(),
            source,
        };
        let Spawned {
            leader,
            stdin,
            stdout,
            stderr,
        } = self.start(order, launch.guarded).await?;
        let stdin = ChildInput::new(piped(stdin).map_err(system)?).map_err(system)?;
        let stdout = ChildOutput::new(piped(stdout).map_err(system)?).map_err(system)?;
        let stderr =
            pipe::Receiver::from_owned_fd(piped(stderr).map_err(system)?).map_err(system)?;
        let stderr = Stderr::drain(stderr, launch.stderr);
        Ok(Child {
            stdin,
            stdout,
            process: Process::new(leader, Some(stderr), Arc::clone(self)),
        })
    }

    /// Has the spawner start what is ordered.
    pub(crate) async fn start(&self, order: Order, guarded: bool) -> Result<Spawned, SpawnError> {
        Handle::try_current().map_err(|_| SpawnError::NoRuntime)?;
        if !self.supervisor.is_in_host() {
            return Err(SpawnError::Forked);
        }
        let jobs = self.jobs.as_ref().ok_or(SpawnError::EngineEnded)?;
        let (reply, answer) = oneshot::channel();
        jobs.send(Job {
            order,
            guarded,
            reply,
        })
        .await
        .map_err(|_| SpawnError::EngineEnded)?;
        answer.await.map_err(|_| SpawnError::EngineEnded)?
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let spawner = self.spawner.take();
        let supervisor_thread = self.supervisor_thread.take();
        if !self.supervisor.is_in_host() {
            // In a fork of the host the threads do not exist; waiting for them would never end.
            std::mem::forget((spawner, supervisor_thread));
            return;
        }
        // The spawner first: what it has just started still needs the supervisor.
        self.jobs = None;
        spawner.into_iter().for_each(Worker::join);
        self.supervisor.end();
        supervisor_thread.into_iter().for_each(Worker::join);
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// A thread that can be waited for within a limit.
struct Worker {
    thread: JoinHandle<()>,
    /// Disconnected when the work is done. The lock only makes the engine shareable.
    ended: Mutex<std_mpsc::Receiver<()>>,
}

impl Worker {
    fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (running, ended) = std_mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                sys::block_signals_on_this_thread();
                work();
                drop(running);
            })?;
        Ok(Self {
            thread,
            ended: Mutex::new(ended),
        })
    }

    fn join(self) {
        let ended = self
            .ended
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(THREAD_END_LIMIT) != Err(std_mpsc::RecvTimeoutError::Timeout) {
            // A panic was reported when it happened.
            let _ = self.thread.join();
        }
    }
}

/// The host's end of a stream that was ordered as a pipe.
fn piped(pipe: Option<OwnedFd>) -> io::Result<OwnedFd> {
    pipe.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
}
