//! A new process on systems on which it cannot share the memory of its host for a moment.

use std::{
    io::{self, Read as _},
    os::fd::AsRawFd,
};

use super::{beyond_standard_streams, collect};

/// How a process ends that became no program; nobody looks at it.
const FAILED: i32 = 127;

/// Starts a process that runs `child`, which becomes a program, or returns the number of the error why
/// it did not. Returns when it is known which.
pub(crate) fn start_process(child: &(dyn Fn() -> i32 + Sync)) -> io::Result<u32> {
    let (mut report, writer) = io::pipe()?;
    let writer = beyond_standard_streams(writer.into())?;
    // SAFETY: the child keeps to what is allowed after a fork, as its caller sees to, and so do the
    // write and the end.
    let id = unsafe { libc::fork() };
    if id == 0 {
        let failure = child().to_ne_bytes();
        // SAFETY: the buffer is as long as said. _exit runs no handlers of the host.
        unsafe {
            libc::write(writer.as_raw_fd(), failure.as_ptr().cast(), failure.len());
            libc::_exit(FAILED)
        }
    }
    if id < 0 {
        return Err(io::Error::last_os_error());
    }
    drop(writer);
    let mut failure = [0; 4];
    match report.read_exact(&mut failure) {
        // The end of the pipe: it was closed when the program ran.
        Err(_) => Ok(id.unsigned_abs()),
        Ok(()) => {
            collect(id);
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(failure)))
        }
    }
}
