//! Any other Unix: only what POSIX offers. A close is judged on the leader, and the group is still
//! killed at its end.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use super::{Running, session_of};

/// POSIX has no such descriptor; ends are found by looking.
pub(crate) fn exit_watch(_id: u32) -> Option<OwnedFd> {
    None
}

/// POSIX has no parent-death signal.
pub(crate) fn die_with_parent() -> io::Result<()> {
    Ok(())
}

/// POSIX has no such call.
pub(crate) fn close_inherited_on_exec() {}

/// Signals a process if it is in the session `session` now.
pub(crate) fn send_to_member(id: u32, session: u32, signal: i32) {
    if session_of(id) == Some(session) {
        super::signal_child(id, signal);
    }
}

/// POSIX cannot list processes.
pub(crate) fn running_processes() -> io::Result<Vec<Running>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The host's own treatment of SIGPIPE applies.
pub(crate) fn without_sigpipe<T>(
    _pipe: BorrowedFd<'_>,
    write: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    write()
}
