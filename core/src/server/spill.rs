//! Files of results that are too large for a model, or that are no text (SPEC 2.23).
//!
//! A source has a folder of its own in the one that the host names; only its owner may read what is in it, the oldest files
//! make room for new ones, and the close of the source removes it.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::private_files;

/// The most that is kept at a time, in bytes.
const MAX_KEPT_BYTES: u64 = 256 * 1024 * 1024;
/// The most files that are kept at a time.
const MAX_KEPT_FILES: usize = 1_000;

/// The folder of one source.
#[derive(Debug)]
pub(crate) struct Spill {
    host_directory: PathBuf,
    directory: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    written: u64,
    kept: VecDeque<(PathBuf, u64)>,
    bytes: u64,
    /// Whether the folder was removed, or is about to be.
    removed: bool,
}

impl Spill {
    pub(crate) fn new(host_directory: PathBuf) -> Self {
        let own = format!("mcp-{}-{:08x}", std::process::id(), fastrand::u32(..));
        Self {
            directory: host_directory.join(own),
            host_directory,
            state: Mutex::default(),
        }
    }

    /// Keeps these bytes in a file that is named after the tool. Blocks.
    pub(crate) fn keep(&self, tool: &str, extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let (path, surplus) = self.place(tool, extension, bytes.len() as u64)?;
        for old in surplus {
            // One that somebody removed needs no removal.
            let _ = fs::remove_file(old);
        }
        private_files::make_directory(&self.directory)?;
        let mut options = private_files::options();
        options.write(true).create_new(true);
        options.open(&path)?.write_all(bytes)?;
        if self.lock().removed {
            // The close came in between, and may have looked before the folder was made.
            let _ = fs::remove_dir_all(&self.directory);
            return Err(closed());
        }
        Ok(path)
    }

    /// The path of a new file, and the files that make room for it.
    fn place(&self, tool: &str, extension: &str, size: u64) -> io::Result<(PathBuf, Vec<PathBuf>)> {
        if size > MAX_KEPT_BYTES {
            let message = format!("it is larger than {MAX_KEPT_BYTES} bytes");
            return Err(io::Error::other(message));
        }
        let mut state = self.lock();
        if state.removed {
            return Err(closed());
        }
        state.written += 1;
        let path = self
            .directory
            .join(format!("{:04}-{tool}.{extension}", state.written));
        let mut surplus = Vec::new();
        while state.kept.len() >= MAX_KEPT_FILES || state.bytes + size > MAX_KEPT_BYTES {
            let Some((oldest, bytes)) = state.kept.pop_front() else {
                break;
            };
            state.bytes -= bytes;
            surplus.push(oldest);
        }
        state.kept.push_back((path.clone(), size));
        state.bytes += size;
        Ok((path, surplus))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the source's folder, and the host's when nothing else is in it. Blocks.
    pub(crate) fn remove(&self) {
        self.lock().removed = true;
        // What is not there, or cannot be removed, is no reason for a close to fail.
        let _ = fs::remove_dir_all(&self.directory);
        let _ = fs::remove_dir(&self.host_directory);
    }
}

fn closed() -> io::Error {
    io::Error::other("the source was closed")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn files_are_private_and_gone_after_the_close() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Spill::new(directory.path().join("spill"));
        let path = spill.keep("s_big", "txt", b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert!(path.ends_with("0001-s_big.txt"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&path), 0o600);
            assert_eq!(mode(path.parent().unwrap()), 0o700);
        }
        spill.remove();
        assert!(!directory.path().join("spill").exists());
        spill.keep("s_big", "txt", b"late").unwrap_err();
        assert!(!directory.path().join("spill").exists());
    }

    #[test]
    fn the_oldest_make_room() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Spill::new(directory.path().to_path_buf());
        let first = spill.keep("t", "txt", b"1").unwrap();
        for _ in 1..MAX_KEPT_FILES {
            spill.keep("t", "txt", b"1").unwrap();
        }
        assert!(first.exists());
        spill.keep("t", "txt", b"1").unwrap();
        assert!(!first.exists());
        let refused = spill.place("t", "txt", MAX_KEPT_BYTES + 1);
        assert!(refused.unwrap_err().to_string().contains("larger"));
    }
}
