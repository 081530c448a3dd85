//! The thread that sees every end: it notices exits, drives all closes, keeps the guardian alive,
//! and reaps.
//!
//! Closes run here and not in tasks, so that no cancelled future and no ending runtime can
//! interrupt one, and so that one look at the system's processes serves all groups that close at
//! the same time.
//!
//! The rule behind everything: a child is collected only after the last signal to its group was
//! sent. As long as it is not collected its id, and with it the id of its group and session,
//! belongs to nobody else.

use std::{
    collections::HashMap,
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::{
    Closed, Exit, Grace, SpawnError,
    closing::KILL_WAIT,
    guardian::{Guardian, Vigil},
    supervised::{Pace, Supervised},
    sys::{self, Interest, Running},
};

type Number = u64;

/// Shared by the engine's threads and the handles of its processes.
pub(crate) struct Supervisor {
    guardian: Guardian,
    table: Mutex<Table>,
    wake_reader: PipeReader,
    wake_writer: PipeWriter,
    host: u32,
}

#[derive(Default)]
struct Table {
    /// By a number of our own: handles outlive the collection of a process, and its id may then be
    /// another's.
    processes: HashMap<Number, Supervised>,
    next_number: Number,
    /// Set when the engine ends: when to stop waiting for processes that do not die.
    end_at: Option<Instant>,
}

/// The one owner of a running child. Dropping it kills the child's group.
pub(crate) struct Leader {
    pub(crate) id: u32,
    number: Number,
    pub(crate) exit: watch::Receiver<Option<Exit>>,
    pub(crate) closed: watch::Receiver<Option<Closed>>,
    supervisor: Arc<Supervisor>,
}

impl Leader {
    /// Asks for a close, or for a shorter one if it already runs.
    pub(crate) fn close(&self, grace: Grace) {
        self.supervisor.close(self.number, grace);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.supervisor.abandon(self.number);
    }
}

impl Supervisor {
    pub(crate) fn new() -> io::Result<Self> {
        let (wake_reader, wake_writer) = io::pipe()?;
        sys::set_nonblocking(wake_reader.as_fd())?;
        sys::set_nonblocking(wake_writer.as_fd())?;
        Ok(Self {
            guardian: Guardian::default(),
            table: Mutex::default(),
            wake_reader,
            wake_writer,
            host: std::process::id(),
        })
    }

    /// Whether the caller runs in the process that started everything here, and not in a fork of
    /// it.
    pub(crate) fn is_in_host(&self) -> bool {
        self.host == std::process::id()
    }

    /// Takes responsibility for a child that was just started.
    ///
    /// Fails, and kills the child, when it was to be guarded and cannot be.
    pub(crate) fn adopt(self: &Arc<Self>, id: u32, guarded: bool) -> Result<Leader, SpawnError> {
        let leader = self.supervise(id, Supervised::new(id, guarded));
        if guarded {
            self.guardian.register(id)?;
        }
        // After the registration, which may have started a guardian that is to be watched as well.
        self.wake();
        Ok(leader)
    }

    fn supervise(self: &Arc<Self>, id: u32, process: Supervised) -> Leader {
        let (exit, closed) = process.subscribe();
        let mut table = self.lock();
        let number = table.next_number;
        table.next_number += 1;
        table.processes.insert(number, process);
        drop(table);
        Leader {
            id,
            number,
            exit,
            closed,
            supervisor: Arc::clone(self),
        }
    }

    fn close(&self, number: Number, grace: Grace) {
        if !self.is_in_host() {
            return;
        }
        if let Some(process) = self.lock().processes.get_mut(&number) {
            process.close(grace, Instant::now());
        }
        self.wake();
    }

    fn abandon(&self, number: Number) {
        // A fork of the host holds copies of all handles, and must not kill what is not its own.
        if !self.is_in_host() {
            return;
        }
        if let Some(process) = self.lock().processes.get_mut(&number) {
            process.kill(Instant::now());
        }
        self.wake();
    }

    /// Kills what is left and lets [`run`](Self::run) return.
    pub(crate) fn end(&self) {
        let mut table = self.lock();
        let now = Instant::now();
        for process in table.processes.values_mut() {
            process.kill(now);
        }
        table.end_at = Some(now + KILL_WAIT);
        drop(table);
        self.wake();
    }

    /// The thread's work, until everything has ended, the guardian last.
    pub(crate) fn run(&self) {
        let mut pace = Pace::new();
        while let Some(timeout) = self.timeout(&pace) {
            self.wait(timeout);
            let now = Instant::now();
            self.guardian.revive(now);
            if self.note_changes() {
                pace.reset(now);
            }
            if self.needs_census(&pace, now) {
                // Taken without the lock: handles never wait for it.
                let census = sys::running_processes().unwrap_or_default();
                self.advance(&census, &pace, now);
                pace.looked(now, Instant::now());
            }
        }
        self.guardian.end();
    }

    /// How long nothing has to be done; `None` when all is done.
    fn timeout(&self, pace: &Pace) -> Option<Option<Duration>> {
        let now = Instant::now();
        let table = self.lock();
        if table
            .end_at
            .is_some_and(|end| table.processes.is_empty() || end <= now)
        {
            return None;
        }
        let mut due = table.end_at;
        let mut earlier =
            |instant: Instant| due = Some(due.map_or(instant, |due| due.min(instant)));
        for process in table.processes.values() {
            process
                .next_action(pace, now)
                .into_iter()
                .for_each(&mut earlier);
        }
        drop(table);
        if let Vigil::RestartAt(instant) = self.guardian.vigil() {
            earlier(instant);
        }
        Some(due.map(|due| due.saturating_duration_since(now)))
    }

    fn wait(&self, timeout: Option<Duration>) {
        let watches: Vec<Arc<OwnedFd>> = self
            .lock()
            .processes
            .values()
            .filter_map(Supervised::exit_watch)
            .collect();
        let vigil = self.guardian.vigil();
        let mut watched: Vec<(BorrowedFd<'_>, Interest)> =
            vec![(self.wake_reader.as_fd(), Interest::Readable)];
        watched.extend(
            watches
                .iter()
                .map(|watch| (watch.as_fd(), Interest::Readable)),
        );
        if let Vigil::Pipe(pipe) = &vigil {
            watched.push((pipe.as_fd(), Interest::Broken));
        }
        sys::poll(&watched, timeout);
        let mut discarded = [0; 64];
        while matches!((&self.wake_reader).read(&mut discarded), Ok(1..)) {}
    }

    /// Publishes exits. Returns whether an exit or a new close calls for an early look.
    fn note_changes(&self) -> bool {
        let mut changed = false;
        for process in self.lock().processes.values_mut() {
            changed |= process.note_changes();
        }
        changed
    }

    fn needs_census(&self, pace: &Pace, now: Instant) -> bool {
        self.lock()
            .processes
            .values()
            .any(|process| process.needs_census(pace, now))
    }

    fn advance(&self, census: &[Running], pace: &Pace, now: Instant) {
        self.lock().processes.retain(|_, process| {
            if !process.needs_census(pace, now) {
                return true;
            }
            let Some(ending) = process.advance(census, now) else {
                return true;
            };
            process.collect(&self.guardian);
            process.report_closed(ending, census, Vec::new());
            false
        });
    }

    fn wake(&self) {
        // A full pipe wakes as well. The reader lives as long as the writer, so the pipe never
        // breaks.
        let _ = (&self.wake_writer).write(&[0]);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{
        Ending,
        exec::{self, Order, Stream},
    };

    #[tokio::test]
    async fn an_exit_that_is_not_reported_is_found_by_looking() {
        let order = Order {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "exec sleep 1000".into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            directory: "/".into(),
            stdin: Stream::Discarded,
            stdout: Stream::Discarded,
            stderr: Stream::Discarded,
            dies_with_parent: false,
        };
        let supervisor = Arc::new(Supervisor::new().expect("the supervisor is made"));
        let id = exec::start(&order).expect("the process starts").id;
        let mut leader = supervisor.supervise(id, Supervised::unreported(id));
        let thread = thread::spawn({
            let supervisor = Arc::clone(&supervisor);
            move || supervisor.run()
        });

        leader.close(Grace {
            eof: Duration::ZERO,
            term: Duration::from_secs(60),
        });
        let closed = leader
            .closed
            .wait_for(Option::is_some)
            .await
            .expect("the supervisor lives")
            .clone();
        let expected = Closed {
            exit: Some(Exit::Signal(libc::SIGTERM)),
            ending: Ending::Terminated,
            survivors: vec![],
            escaped: vec![],
        };
        assert_eq!(closed, Some(expected));

        supervisor.end();
        thread.join().expect("the thread ends");
    }
}
