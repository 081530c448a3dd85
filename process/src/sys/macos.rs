//! macOS: kqueue, libproc. There is no parent-death signal; the guardian and the end of input stand
//! in for it.

use std::{
    ffi::c_void,
    io,
    mem::{MaybeUninit, size_of},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
};

use super::{Running, session_of};

/// A descriptor that becomes readable when the child ends.
pub(crate) fn exit_watch(id: u32) -> Option<OwnedFd> {
    // SAFETY: kqueue takes no pointers; a descriptor that it returns is known to nothing else.
    let queue = unsafe {
        let descriptor = libc::kqueue();
        if descriptor < 0 {
            return None;
        }
        OwnedFd::from_raw_fd(descriptor)
    };
    let subscription = libc::kevent {
        ident: id as libc::uintptr_t,
        filter: libc::EVFILT_PROC,
        flags: libc::EV_ADD,
        fflags: libc::NOTE_EXIT,
        data: 0,
        udata: ptr::null_mut(),
    };
    // SAFETY: one subscription is read, no event is written, and the queue is open.
    let result = unsafe {
        libc::kevent(
            queue.as_raw_fd(),
            &subscription,
            1,
            ptr::null_mut(),
            0,
            ptr::null(),
        )
    };
    (result >= 0).then_some(queue)
}

/// macOS has no such signal.
pub(crate) fn die_with_parent() -> io::Result<()> {
    Ok(())
}

/// macOS cannot do this in one safe call after a fork.
pub(crate) fn close_inherited_on_exec() {}

/// Signals a process if it is in the session `session` now.
pub(crate) fn send_to_member(id: u32, session: u32, signal: i32) {
    if session_of(id) == Some(session) {
        super::signal_child(id, signal);
    }
}

/// All running processes that this one can see; zombies are left out.
pub(crate) fn running_processes() -> io::Result<Vec<Running>> {
    /// Room for processes that start between counting and listing.
    const SPARE: usize = 64;
    // SAFETY: without a buffer the call only counts.
    let count = unsafe { libc::proc_listallpids(ptr::null_mut(), 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    let mut ids: Vec<libc::pid_t> = vec![0; count + SPARE];
    let bytes = i32::try_from(ids.len() * size_of::<libc::pid_t>()).unwrap_or(i32::MAX);
    // SAFETY: the buffer is writable for `bytes` bytes.
    let listed = unsafe { libc::proc_listallpids(ids.as_mut_ptr().cast::<c_void>(), bytes) };
    ids.truncate(usize::try_from(listed).map_err(|_| io::Error::last_os_error())?);
    Ok(ids.into_iter().filter_map(describe).collect())
}

fn describe(id: libc::pid_t) -> Option<Running> {
    let size = i32::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    // SAFETY: the buffer is writable for `size` bytes, and an all-zero value of this plain
    // structure is valid.
    let info = unsafe {
        let written = libc::proc_pidinfo(
            id,
            libc::PROC_PIDTBSDINFO,
            0,
            info.as_mut_ptr().cast::<c_void>(),
            size,
        );
        if written != size {
            return None;
        }
        info.assume_init()
    };
    if info.pbi_status == libc::SZOMB {
        return None;
    }
    Some(Running {
        id: info.pbi_pid,
        parent: info.pbi_ppid,
        session: session_of(info.pbi_pid)?,
        group: info.pbi_pgid,
        started: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
    })
}

/// Runs a write to a pipe so that a missing reader is an error and never a signal to the host.
pub(crate) fn without_sigpipe<T>(
    pipe: BorrowedFd<'_>,
    write: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    // SAFETY: this command takes no pointers, and the descriptor is open. It is a property of the
    // pipe that stays.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETNOSIGPIPE, 1) };
    write()
}
