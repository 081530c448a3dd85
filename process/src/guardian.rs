//! The guardian: a shell that outlives the host just long enough to kill what the host left behind.
//!
//! A parent-death signal reaches only direct children. The guardian blocks on a pipe whose other
//! end only the host holds, is told which groups live, and kills them when the pipe ends. It does
//! nothing else, and it knows nothing of members that left their group. A fork of the host that
//! lives on holds the pipe as well and delays its end.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    SpawnError,
    exec::{self, Order, Stream},
    sys,
};

/// Takes the groups that already live as arguments, reads `+ID` and `-ID` until the pipe ends, then
/// kills every group that is left. POSIX shell, builtins only.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=" $* "
while read -r line; do
  id=${line#?}
  case $line in
    +*) groups="$groups$id " ;;
    -*) case $groups in *" $id "*) groups="${groups%%" $id "*} ${groups#*" $id "}" ;; esac ;;
  esac
done
for id in $groups; do kill -s KILL -- "-$id"; done
"#;

/// The script's own name among its arguments.
const NAME: &str = "mcp-guardian";

/// A guardian that dies is replaced at most this often.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// How long the guardian may take to end when it is no longer needed.
const END_LIMIT: Duration = Duration::from_secs(1);

/// Started with the first group it is told of.
///
/// All calls come from the engine's own threads, where SIGPIPE is blocked.
#[derive(Default)]
pub(crate) struct Guardian {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shell: Option<Shell>,
    groups: BTreeSet<u32>,
    last_start: Option<Instant>,
}

struct Shell {
    id: u32,
    pipe: Arc<File>,
}

/// What the engine has to wait for on the guardian's behalf.
pub(crate) enum Vigil {
    /// Nothing.
    None,
    /// This pipe breaks when the guardian dies.
    Pipe(Arc<File>),
    /// The guardian is dead, and may be started again at this time.
    RestartAt(Instant),
}

impl Guardian {
    /// Puts a group under guard.
    pub(crate) fn register(&self, id: u32) -> Result<(), SpawnError> {
        let mut state = self.lock();
        state.groups.insert(id);
        let result = match state.tell('+', id) {
            Ok(()) => Ok(()),
            Err(_) => state.start(),
        };
        if result.is_err() {
            state.groups.remove(&id);
        }
        result
    }

    /// Takes a group out of guard; to be called before its id can be reused.
    pub(crate) fn forget(&self, id: u32) {
        let mut state = self.lock();
        if state.groups.remove(&id) && state.tell('-', id).is_err() {
            state.discard();
        }
    }

    pub(crate) fn vigil(&self) -> Vigil {
        let state = self.lock();
        match (&state.shell, state.last_start) {
            (Some(shell), _) => Vigil::Pipe(Arc::clone(&shell.pipe)),
            (None, Some(last)) if !state.groups.is_empty() => {
                Vigil::RestartAt(last + RESTART_PAUSE)
            }
            _ => Vigil::None,
        }
    }

    /// Replaces a guardian that died, with all groups under guard.
    pub(crate) fn revive(&self, now: Instant) {
        let mut state = self.lock();
        if state
            .shell
            .as_ref()
            .is_some_and(|shell| sys::peek_exit(shell.id).is_some())
        {
            state.discard();
        }
        let may_start = state
            .last_start
            .is_some_and(|last| last + RESTART_PAUSE <= now);
        if state.shell.is_none() && may_start && !state.groups.is_empty() {
            // A failure leaves no shell, so the next pause leads here again.
            let _ = state.start();
        }
    }

    /// Ends and collects the guardian. Groups that were not forgotten are killed by it.
    pub(crate) fn end(&self) {
        let Some(Shell { id, pipe }) = self.lock().shell.take() else {
            return;
        };
        drop(pipe);
        if sys::wait_for_exit(id, END_LIMIT).is_none() {
            kill_and_collect(id);
        }
        sys::reap(id);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn start(&mut self) -> Result<(), SpawnError> {
        self.discard();
        self.last_start = Some(Instant::now());
        // As arguments, so that there is no moment in which a new guardian knows nothing.
        let groups = self.groups.iter().map(|id| id.to_string().into());
        let started = exec::start(&Order {
            program: PathBuf::from("/bin/sh"),
            args: ["-c", SCRIPT, NAME]
                .map(OsString::from)
                .into_iter()
                .chain(groups)
                .collect(),
            environment: Vec::new(),
            directory: PathBuf::from("/"),
            stdin: Stream::Piped,
            stdout: Stream::Discarded,
            stderr: Stream::Discarded,
            dies_with_parent: false,
        })
        .map_err(|error| SpawnError::Guardian(io::Error::other(error)))?;
        let pipe = started
            .stdin
            .ok_or_else(|| io::ErrorKind::BrokenPipe.into())
            .and_then(|pipe| sys::set_nonblocking(pipe.as_fd()).map(|()| pipe));
        match pipe {
            Ok(pipe) => {
                self.shell = Some(Shell {
                    id: started.id,
                    pipe: Arc::new(pipe.into()),
                });
                Ok(())
            }
            Err(error) => {
                kill_and_collect(started.id);
                Err(SpawnError::Guardian(error))
            }
        }
    }

    /// Never waits: a guardian that does not read is as good as dead.
    fn tell(&self, verb: char, id: u32) -> io::Result<()> {
        let Some(shell) = &self.shell else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // One write of less than PIPE_BUF bytes is written whole or not at all.
        (&*shell.pipe)
            .write(format!("{verb}{id}\n").as_bytes())
            .map(drop)
    }

    /// Killed before its pipe is closed, because it would take the end of the pipe for the end of
    /// the host.
    fn discard(&mut self) {
        if let Some(shell) = self.shell.take() {
            kill_and_collect(shell.id);
        }
    }
}

fn kill_and_collect(id: u32) {
    sys::signal_child(id, libc::SIGKILL);
    sys::wait_for_exit(id, END_LIMIT);
    sys::reap(id);
}
