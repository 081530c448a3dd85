//! The system calls this crate needs, each wrapped once so that the rest is free of `unsafe`.
//!
//! What differs between systems is in `linux`, `macos` and `other_unix`, which offer the same
//! functions.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
#[path = "other_unix.rs"]
mod platform;

// On Linux its tests alone.
#[cfg(any(test, not(target_os = "linux")))]
mod fork;

use std::{
    cell::Cell,
    ffi::CString,
    io,
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::Exit;

#[cfg(not(target_os = "linux"))]
pub(crate) use fork::start_process;
#[cfg(target_os = "linux")]
pub(crate) use platform::start_process;
pub(crate) use platform::{
    close_inherited_on_exec, die_with_parent, exit_watch, running_processes, send_to_member,
    without_sigpipe,
};

/// One process that is running, or at least has a running thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) id: u32,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    pub(crate) group: u32,
    /// When it started, in a unit of the system's own: tells apart two owners of one id.
    pub(crate) started: u64,
}

/// Looks whether the child has ended, and leaves its id in use.
pub(crate) fn peek_exit(id: u32) -> Option<Exit> {
    match wait(id, libc::WNOHANG | libc::WNOWAIT) {
        Ok(exit) => exit,
        Err(_) => Some(Exit::Unknown),
    }
}

/// Collects the child, which frees its id. Returns whether it is gone.
pub(crate) fn reap(id: u32) -> bool {
    !matches!(wait(id, libc::WNOHANG), Ok(None))
}

fn wait(id: u32, options: i32) -> io::Result<Option<Exit>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let info = loop {
        // SAFETY: `info` is writable for the call; an all-zero siginfo_t is a valid value, and
        // stays when nothing has ended.
        let result =
            unsafe { libc::waitid(libc::P_PID, id, info.as_mut_ptr(), libc::WEXITED | options) };
        if result == 0 {
            // SAFETY: initialised with zeros above and by the call.
            break unsafe { info.assume_init() };
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    // SAFETY: for a result of waitid these fields are the ones that are set; for no result they are
    // zero.
    let (ended, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok(match (ended, info.si_code) {
        (0, _) => None,
        (_, libc::CLD_EXITED) => Some(Exit::Code(status)),
        _ => Some(Exit::Signal(status)),
    })
}

/// A host that closed its own standard streams gets their numbers for new descriptors. The child
/// must not overwrite one that it still needs.
pub(crate) fn beyond_standard_streams(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > libc::STDERR_FILENO {
        return Ok(descriptor);
    }
    // The copies that are made on the way are closed at the end.
    let mut copies = vec![descriptor];
    loop {
        let copy = copies[copies.len() - 1].try_clone()?;
        if copy.as_raw_fd() > libc::STDERR_FILENO {
            return Ok(copy);
        }
        copies.push(copy);
    }
}

/// Collects a child that is about to end.
fn collect(id: libc::pid_t) {
    // Whatever the error is, there is nothing to collect.
    let _ = u32::try_from(id).map(|id| wait(id, 0));
}

/// Signals a process group. The caller makes sure that the id is still in use by its own child.
pub(crate) fn signal_group(id: u32, signal: i32) {
    let Ok(group) = libc::pid_t::try_from(id) else {
        return;
    };
    // 0, 1 and -1 have special meanings for kill; a child never has them.
    if group > 1 {
        // SAFETY: kill takes no pointers. That the group is empty or all zombies is no failure.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Signals one process that is the caller's own unreaped child.
pub(crate) fn signal_child(id: u32, signal: i32) {
    if let Ok(process) = libc::pid_t::try_from(id)
        && process > 1
    {
        // SAFETY: kill takes no pointers.
        unsafe { libc::kill(process, signal) };
    }
}

/// Waits until one of the descriptors has something to report, at most `timeout` (for ever with
/// `None`).
pub(crate) fn poll(watched: &[(BorrowedFd<'_>, Interest)], timeout: Option<Duration>) {
    let mut entries: Vec<libc::pollfd> = watched
        .iter()
        .map(|(descriptor, interest)| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: match interest {
                Interest::Readable => libc::POLLIN,
                Interest::Broken => 0,
            },
            revents: 0,
        })
        .collect();
    // Rounded up, so that a deadline has passed when the wait ends.
    let milliseconds = timeout.map_or(-1, |timeout| {
        i32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
    });
    // SAFETY: the pointer and the count describe `entries`. Errors and interruptions only make the
    // caller look early.
    unsafe {
        libc::poll(
            entries.as_mut_ptr(),
            entries.len() as libc::nfds_t,
            milliseconds,
        )
    };
}

/// What a descriptor is watched for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    Readable,
    /// The other end is gone.
    Broken,
}

/// Waits for the end of the caller's own child, at most `limit`, without collecting it.
pub(crate) fn wait_for_exit(id: u32, limit: Duration) -> Option<Exit> {
    /// How often to look on a system that cannot report it.
    const LOOK_EVERY: Duration = Duration::from_millis(5);
    let deadline = std::time::Instant::now() + limit;
    let watch = exit_watch(id);
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let exit = peek_exit(id);
        if exit.is_some() || left.is_zero() {
            return exit;
        }
        match &watch {
            Some(watch) => poll(
                &[(std::os::fd::AsFd::as_fd(watch), Interest::Readable)],
                Some(left),
            ),
            None => poll(&[], Some(left.min(LOOK_EVERY))),
        }
    }
}

pub(crate) fn set_nonblocking(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: fcntl with these commands takes no pointers, and the descriptor is open.
    let result = unsafe {
        let flags = libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL);
        if flags < 0 {
            flags
        } else {
            libc::fcntl(
                descriptor.as_raw_fd(),
                libc::F_SETFL,
                flags | libc::O_NONBLOCK,
            )
        }
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Keeps the host's signal handlers off the calling thread. SIGPIPE is blocked with the rest, so a
/// write to a broken pipe from this thread is an error and never the end of the host.
pub(crate) fn block_signals_on_this_thread() {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigfillset initialises the set before pthread_sigmask reads it. Signals that report a
    // fault of this very thread stay deliverable.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
    }
    SIGNALS_BLOCKED.set(true);
}

thread_local! {
    static SIGNALS_BLOCKED: Cell<bool> = const { Cell::new(false) };
}

/// Whether [`block_signals_on_this_thread`] was called on this thread.
#[cfg(target_os = "linux")]
fn signals_are_blocked() -> bool {
    SIGNALS_BLOCKED.get()
}

/// A number that a process and those forked from it do not share, from the first time on that it is asked for. Forks
/// that go around the C library do not count.
pub(crate) fn fork_generation() -> u64 {
    static FORKS: AtomicU64 = AtomicU64::new(0);
    static IS_COUNTED: OnceLock<bool> = OnceLock::new();
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler only adds to an atomic number, which is allowed after a fork.
    let register = || unsafe { libc::pthread_atfork(None, None, Some(count)) == 0 };
    if *IS_COUNTED.get_or_init(register) {
        FORKS.load(Ordering::Relaxed)
    } else {
        std::process::id().into()
    }
}

pub(crate) fn is_executable(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: the path is a NUL-terminated string that lives through the call.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

/// The session that a process belongs to now.
fn session_of(id: u32) -> Option<u32> {
    let id = libc::pid_t::try_from(id).ok()?;
    // SAFETY: getsid takes no pointers.
    u32::try_from(unsafe { libc::getsid(id) }).ok()
}

#[cfg(test)]
mod tests {
    use std::{ffi::CString, ptr};

    use super::*;

    /// What a child does that runs this program.
    fn exec(program: &str) -> impl Fn() -> i32 + Sync {
        let program = CString::new(program).unwrap();
        move || {
            let arguments = [program.as_ptr(), ptr::null()];
            // SAFETY: the program's name is alive, and both lists end with a null pointer.
            unsafe {
                libc::execve(
                    program.as_ptr(),
                    arguments.as_ptr(),
                    arguments[1..].as_ptr(),
                )
            };
            io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or_default()
        }
    }

    #[test]
    fn a_process_becomes_a_program_or_says_why_not() {
        type Start = fn(&(dyn Fn() -> i32 + Sync)) -> io::Result<u32>;
        for start in [start_process as Start, fork::start_process] {
            let id = start(&exec("/bin/true")).unwrap();
            assert_eq!(wait(id, 0).unwrap(), Some(Exit::Code(0)));
            let error = start(&exec("/nowhere")).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        }
    }
}
