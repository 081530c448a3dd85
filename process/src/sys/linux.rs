//! Linux: pidfd, parent-death signal, /proc.

use std::{
    ffi::{c_int, c_void},
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    sync::atomic::{AtomicI32, Ordering},
};

use super::{Running, collect, session_of};

/// How a process ends that became no program; nobody looks at it.
const FAILED: c_int = 127;

/// A descriptor that becomes readable when the child ends. `None` before Linux 5.3 and where it is
/// forbidden.
pub(crate) fn exit_watch(id: u32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes no pointers.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
    let descriptor = RawFd::try_from(result)
        .ok()
        .filter(|descriptor| *descriptor >= 0)?;
    // SAFETY: the call has just returned this descriptor, and nothing else knows it.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Starts a process that runs `child`, which becomes a program, or returns the number of the error why
/// it did not. Returns when it is known which.
///
/// The new process shares this one's memory, and this thread stands still meanwhile, as `posix_spawn`
/// does it: a copy of the memory, which is thrown away at once, would take as long as the host is large.
pub(crate) fn start_process(child: &(dyn Fn() -> i32 + Sync)) -> io::Result<u32> {
    /// A few calls deep, with small frames.
    const STACK_BYTES: usize = 64 * 1024;
    const ALIGNMENT: usize = 16;

    struct Start<'c> {
        child: &'c (dyn Fn() -> i32 + Sync),
        failure: AtomicI32,
    }

    extern "C" fn run(start: *mut c_void) -> c_int {
        // SAFETY: the pointer is the one given to clone below, and its thread waits.
        let start = unsafe { &*start.cast::<Start<'_>>() };
        start.failure.store((start.child)(), Ordering::Relaxed);
        // SAFETY: _exit runs no handlers of the host.
        unsafe { libc::_exit(FAILED) }
    }

    let start = Start {
        child,
        failure: AtomicI32::new(0),
    };
    let mut stack = vec![0_u8; STACK_BYTES];
    let top = stack.as_mut_ptr_range().end;
    let top = top.wrapping_sub(top.addr() % ALIGNMENT);
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the sets are initialised before they are read. A handler of the host must not run in the
    // child, which would change the host's memory. The stack outlives the child's use of it, since
    // CLONE_VFORK lets this thread go on only when the child has a memory of its own or has ended; the
    // same holds for `start`. The child keeps to what is allowed there, as its caller sees to.
    let id = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let id = libc::clone(run, top.cast(), flags, (&raw const start).cast_mut().cast());
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        if id < 0 {
            return Err(error);
        }
        id
    };
    match start.failure.into_inner() {
        0 => Ok(id.unsigned_abs()),
        failure => {
            collect(id);
            Err(io::Error::from_raw_os_error(failure))
        }
    }
}

/// Called in the new process: it is killed when the thread that created it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: prctl is async-signal-safe, and this option takes no pointers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Called in the new process: descriptors that the host opened without close-on-exec stay in the
/// host.
pub(crate) fn close_inherited_on_exec() {
    const FIRST_AFTER_STANDARD_STREAMS: u32 = 3;
    // SAFETY: close_range takes no pointers, and with this flag closes nothing yet. Before Linux
    // 5.11 it fails, and the child sees what the host leaks, as it would from any other parent.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST_AFTER_STANDARD_STREAMS,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}

/// Signals a process if it is in the session `session` now. Checked on a handle, so that a reused
/// id is never hit.
pub(crate) fn send_to_member(id: u32, session: u32, signal: i32) {
    let Some(handle) = exit_watch(id) else { return };
    if session_of(id) == Some(session) {
        // SAFETY: pidfd_send_signal accepts a null siginfo, and the handle is open.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                handle.as_raw_fd(),
                signal,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
    }
}

/// All running processes that this one can see; zombies are left out.
pub(crate) fn running_processes() -> io::Result<Vec<Running>> {
    let mut running = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        if !name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        // A process may end between the listing and this read.
        if let Ok(stat) = std::fs::read(entry.path().join("stat")) {
            running.extend(parse_stat(&stat));
        }
    }
    Ok(running)
}

/// Reads /proc/ID/stat; `None` for a zombie. The name in parentheses may contain anything, also
/// parentheses.
fn parse_stat(stat: &[u8]) -> Option<Running> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let id = std::str::from_utf8(stat.split(|&byte| byte == b' ').next()?)
        .ok()?
        .parse()
        .ok()?;
    let fields: Vec<&str> = std::str::from_utf8(&stat[name_end + 1..])
        .ok()?
        .split_ascii_whitespace()
        .collect();
    let [state, parent, group, session, ..] = fields[..] else {
        return None;
    };
    let threads: u32 = fields.get(17)?.parse().ok()?;
    // When only the first thread has ended, the process shows as a zombie although it runs.
    if matches!(state, "Z" | "X" | "x") && threads <= 1 {
        return None;
    }
    Some(Running {
        id,
        parent: parent.parse().ok()?,
        session: session.parse().ok()?,
        group: group.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Runs a write to a pipe so that a missing reader is an error and never a signal to the host,
/// whatever the host does about SIGPIPE: the signal is blocked on this thread, and one that this
/// write caused is taken back. A thread that never unblocks it is spared the three calls.
pub(crate) fn without_sigpipe<T>(
    _pipe: BorrowedFd<'_>,
    write: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    if super::signals_are_blocked() {
        return write();
    }
    let mut pipe_signal = MaybeUninit::<libc::sigset_t>::uninit();
    let mut previous = MaybeUninit::<libc::sigset_t>::uninit();
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: every set is initialised by the call that fills it before another one reads it.
    let (was_blocked, was_pending) = unsafe {
        libc::sigemptyset(pipe_signal.as_mut_ptr());
        libc::sigaddset(pipe_signal.as_mut_ptr(), libc::SIGPIPE);
        libc::sigemptyset(previous.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, pipe_signal.as_ptr(), previous.as_mut_ptr());
        libc::sigemptyset(pending.as_mut_ptr());
        libc::sigpending(pending.as_mut_ptr());
        (
            libc::sigismember(previous.as_ptr(), libc::SIGPIPE) == 1,
            libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1,
        )
    };
    let result = write();
    let broken = matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
    // SAFETY: the sets were initialised above; a null siginfo is allowed; a zero timeout never
    // waits.
    unsafe {
        if broken && !was_pending {
            let no_wait = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            libc::sigtimedwait(pipe_signal.as_ptr(), std::ptr::null_mut(), &no_wait);
        }
        if !was_blocked {
            libc::pthread_sigmask(
                libc::SIG_UNBLOCK,
                pipe_signal.as_ptr(),
                std::ptr::null_mut(),
            );
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_name_with_parentheses_and_spaces() {
        let stat = b"42 (a) b) (c) S 7 40 39 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 99 1000 1 1\n";
        let expected = Running {
            id: 42,
            parent: 7,
            session: 39,
            group: 40,
            started: 99,
        };
        assert_eq!(parse_stat(stat), Some(expected));
    }

    #[test]
    fn a_zombie_runs_only_while_it_has_other_threads() {
        assert_eq!(
            parse_stat(b"42 (x) Z 7 40 39 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 99 0\n"),
            None
        );
        assert!(parse_stat(b"42 (x) Z 7 40 39 0 -1 0 1 2 3 4 5 6 7 8 20 0 2 0 99 0\n").is_some());
    }

    #[test]
    fn sees_itself() {
        let own = std::process::id();
        assert!(
            running_processes()
                .expect("/proc is readable")
                .iter()
                .any(|process| process.id == own)
        );
    }

    #[test]
    fn a_broken_pipe_is_an_error_and_no_signal() {
        use std::{io::Write, os::fd::AsFd};
        // SAFETY: signal and sigpending take valid arguments. From here on SIGPIPE would end the
        // tests.
        let pending = || unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
            libc::sigpending(pending.as_mut_ptr());
            libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
        };
        assert!(!pending());
        let (reader, writer) = std::io::pipe().expect("a pipe is made");
        drop(reader);
        let result = without_sigpipe(writer.as_fd(), || (&writer).write(b"x"));
        assert_eq!(
            result.expect_err("nobody reads").kind(),
            io::ErrorKind::BrokenPipe
        );
        assert!(!pending());
    }
}
