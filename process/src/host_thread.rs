//! What a host's own threads and forks mean for a library that has threads.

/// Keeps the host's signal handlers off the calling thread, for threads that belong to a library. Writes to servers cost
/// less on it: a pipe that nobody reads is an error there without further precautions.
pub fn block_signals_on_this_thread() {
    #[cfg(unix)]
    crate::sys::block_signals_on_this_thread();
}

/// A number that a process does not share with those forked from it, from the first time on that it is asked for. Asking
/// costs no system call. A fork that goes around the C library is not noticed.
pub fn fork_generation() -> u64 {
    #[cfg(unix)]
    return crate::sys::fork_generation();
    #[cfg(not(unix))]
    0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_fork_has_a_generation_of_its_own() {
        let before = fork_generation();
        // SAFETY: the child only reads an atomic number and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let differs = fork_generation() != before;
            // SAFETY: ends the child without running anything of its parent's.
            unsafe { libc::_exit(i32::from(!differs)) };
        }
        let mut status = -1;
        // SAFETY: the status is writable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(fork_generation(), before);
    }

    #[test]
    fn a_broken_pipe_is_an_error_on_a_thread_that_blocks_signals() {
        use std::io::Write;
        let thread = std::thread::spawn(|| {
            block_signals_on_this_thread();
            let (reader, mut writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            writer.write(b"x").expect_err("nobody reads").kind()
        });
        let kind = thread.join().expect("it ends");
        assert_eq!(kind, std::io::ErrorKind::BrokenPipe);
    }
}
