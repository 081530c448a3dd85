//! `mcp.log`: what happened to servers and what they said, for people who look later (SPEC 2.24).
//!
//! Lines go through a bounded queue to a thread of their own, so that a slow disk delays nobody. The file is opened for each
//! batch, so several sources, in several processes, may share it.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use super::Event;
use crate::private_files;

/// The name of the file in the host's directory.
const FILE: &str = "mcp.log";
/// A file that has become larger is kept as `mcp.log.1`, in the place of the one before, and a new one is begun.
const MAX_FILE_BYTES: u64 = 5 * 1024 * 1024;
/// Lines that may wait for the disk; more are left out and counted.
const MAX_WAITING_LINES: usize = 4_096;
/// The longest line that is written, in bytes.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// The log of one source.
#[derive(Clone)]
pub(crate) struct FileLog(Arc<Shared>);

struct Shared {
    lines: Mutex<Option<SyncSender<String>>>,
    left_out: Arc<AtomicU64>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl FileLog {
    /// A log in this directory, which is made when something is written.
    pub(crate) fn new(directory: PathBuf) -> io::Result<Self> {
        let (lines, waiting) = mpsc::sync_channel(MAX_WAITING_LINES);
        let left_out = Arc::<AtomicU64>::default();
        let missed = Arc::clone(&left_out);
        let writer = thread::Builder::new()
            .name("mcp-log".to_owned())
            .spawn(move || write_all(&directory, &waiting, &missed))?;
        Ok(Self(Arc::new(Shared {
            lines: Mutex::new(Some(lines)),
            left_out,
            writer: Mutex::new(Some(writer)),
        })))
    }

    pub(crate) fn event(&self, event: &Event) {
        self.line(event.at, &event.server, event.generation, &event.kind);
    }

    /// A line that a server wrote to its standard error.
    pub(crate) fn stderr(&self, server: &str, generation: u64, line: &str) {
        let said = format_args!("stderr: {line}");
        self.line(SystemTime::now(), server, generation, &said);
    }

    fn line(&self, at: SystemTime, server: &str, generation: u64, what: &dyn fmt::Display) {
        let at = humantime::format_rfc3339_millis(at);
        let text = format!("{at} {server}#{generation} {what}");
        // One entry is one line, whatever is in it.
        let mut line = text.replace(['\n', '\r'], " ");
        if line.len() > MAX_LINE_BYTES {
            let mut places = (0..=MAX_LINE_BYTES).rev();
            line.truncate(places.find(|at| line.is_char_boundary(*at)).unwrap_or(0));
        }
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let queued = lines.as_ref().map(|lines| lines.try_send(line));
        if matches!(queued, Some(Err(mpsc::TrySendError::Full(_)))) {
            self.0.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes what waits and ends the thread. Blocks.
    pub(crate) fn finish(&self) {
        drop(
            self.0
                .lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let writer = self
            .0
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // One that panicked wrote what it could.
        let _ = writer.map(JoinHandle::join);
    }
}

impl fmt::Debug for FileLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileLog").finish_non_exhaustive()
    }
}

/// The writer's whole life.
fn write_all(directory: &Path, waiting: &Receiver<String>, left_out: &AtomicU64) {
    while let Ok(first) = waiting.recv() {
        let mut text = first + "\n";
        for line in waiting.try_iter() {
            text.push_str(&line);
            text.push('\n');
        }
        match left_out.swap(0, Ordering::Relaxed) {
            0 => {}
            count => text.push_str(&format!(
                "({count} lines were left out: the disk is too slow)\n"
            )),
        }
        // A log that cannot be written is no reason for anything else to fail.
        let _ = append(directory, text.as_bytes());
    }
}

fn append(directory: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = directory.join(FILE);
    private_files::make_directory(directory)?;
    if fs::metadata(&path).is_ok_and(|file| file.len() > MAX_FILE_BYTES) {
        fs::rename(&path, directory.join(format!("{FILE}.1")))?;
    }
    let mut options = private_files::options();
    options.append(true).create(true);
    options.open(&path)?.write_all(bytes)
}

/// Makes lines of the bytes of a stream, each handed on when it is complete. Of one that is too long only the beginning is,
/// with the word that its end was cut off: a secret may stand there.
pub(crate) struct Lines<F: FnMut(&str, bool)> {
    kept: Vec<u8>,
    /// Whether the rest of a line that was too long is being left out.
    skipping: bool,
    hand: F,
}

impl<F: FnMut(&str, bool)> Lines<F> {
    pub(crate) fn new(hand: F) -> Self {
        Self {
            kept: Vec::new(),
            skipping: false,
            hand,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = part.ends_with(b"\n");
            if !self.skipping {
                let room = MAX_LINE_BYTES.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&part[..part.len().min(room)]);
                self.skipping = part.len() > room;
                if is_end || self.skipping {
                    self.flush();
                }
            }
            self.skipping &= !is_end;
        }
    }

    fn flush(&mut self) {
        let text = String::from_utf8_lossy(&self.kept);
        // What is left of a character that was cut in two.
        let line = match self.skipping {
            true => text.trim_end_matches(char::REPLACEMENT_CHARACTER),
            false => text.trim_end(),
        };
        if !line.is_empty() {
            (self.hand)(line, self.skipping);
        }
        self.kept.clear();
    }
}

impl<F: FnMut(&str, bool)> Drop for Lines<F> {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventKind, EventLog};

    fn text(directory: &Path) -> String {
        fs::read_to_string(directory.join(FILE)).unwrap()
    }

    #[test]
    fn events_and_lines_are_there_when_it_is_finished() {
        let directory = tempfile::tempdir().unwrap();
        let log = FileLog::new(directory.path().join("logs")).unwrap();
        let events = EventLog::new(4, None);
        let server: Arc<str> = "s".into();
        let message = "first\nline".to_owned();
        events.push(&server, 2, EventKind::Note { message });
        log.event(&events.after(0)[0]);
        log.stderr("s", 2, "said");
        log.finish();
        log.stderr("s", 2, "too late");
        let text = text(&directory.path().join("logs"));
        let lines: Vec<&str> = text
            .lines()
            .map(|line| line.split_once(' ').unwrap().1)
            .collect();
        assert_eq!(lines, ["s#2 first line", "s#2 stderr: said"]);
        assert!(text.starts_with("20") && text.contains('Z'));
    }

    #[test]
    fn a_large_file_makes_room_for_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let large = vec![b'x'; MAX_FILE_BYTES as usize + 1];
        append(directory.path(), &large).unwrap();
        append(directory.path(), b"new\n").unwrap();
        assert_eq!(text(directory.path()), "new\n");
        let kept = fs::metadata(directory.path().join("mcp.log.1")).unwrap();
        assert_eq!(kept.len(), MAX_FILE_BYTES + 1);
    }

    #[test]
    fn lines_are_put_together_and_bounded() {
        let mut seen = Vec::new();
        let mut lines = Lines::new(|line: &str, is_cut: bool| seen.push((line.to_owned(), is_cut)));
        lines.push(b"a");
        lines.push(b"b\r\n\ncd");
        lines.push(b"\n");
        lines.push(&vec![b'x'; MAX_LINE_BYTES - 1]);
        lines.push("ß and what is left out".as_bytes());
        lines.push(b" of it\nnext");
        drop(lines);
        assert_eq!(
            seen[..2],
            [("ab".to_owned(), false), ("cd".to_owned(), false)]
        );
        assert_eq!(seen[2], ("x".repeat(MAX_LINE_BYTES - 1), true));
        assert_eq!(seen[3..], [("next".to_owned(), false)]);
    }
}
