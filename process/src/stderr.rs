//! Standard error of one process: always read, so that the process never blocks on it, and its end
//! kept.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{io::AsyncReadExt, net::unix::pipe, sync::watch, task::AbortHandle};

use crate::{StderrOptions, StderrSink};

/// Most that is read at once, and most that a sink receives at once, in bytes.
const CHUNK_BYTES: usize = 8 * 1024;

/// Reads a process's standard error as long as it is kept: a descendant may hold the stream open
/// for ever.
pub(crate) struct Stderr {
    ring: Arc<Mutex<Ring>>,
    open: watch::Receiver<()>,
    reader: AbortHandle,
}

impl Stderr {
    /// Starts reading. Must be called within a runtime.
    pub(crate) fn drain(pipe: pipe::Receiver, options: StderrOptions) -> Self {
        let ring = Arc::new(Mutex::new(Ring::new(options.ring_bytes)));
        let (still_open, open) = watch::channel(());
        let reader = tokio::spawn(drain(pipe, Arc::clone(&ring), options.sink, still_open));
        Self {
            ring,
            open,
            reader: reader.abort_handle(),
        }
    }

    /// The last bytes as text; what cannot be text is replaced.
    pub(crate) fn tail(&self) -> String {
        lock(&self.ring).tail()
    }

    /// Waits for the end of the stream, or of the runtime that reads it.
    pub(crate) async fn drained(&self) {
        let mut open = self.open.clone();
        while open.changed().await.is_ok() {}
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn drain(
    mut pipe: pipe::Receiver,
    ring: Arc<Mutex<Ring>>,
    mut sink: Option<StderrSink>,
    _still_open: watch::Sender<()>,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
        let received = &chunk[..length];
        lock(&ring).push(received);
        if let Some(callback) = &sink
            && catch_unwind(AssertUnwindSafe(|| callback(received))).is_err()
        {
            sink = None;
        }
    }
}

fn lock(ring: &Mutex<Ring>) -> MutexGuard<'_, Ring> {
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last `limit` bytes of a stream.
struct Ring {
    bytes: VecDeque<u8>,
    limit: usize,
    /// Whether the beginning of the stream is lost.
    cut: bool,
}

impl Ring {
    fn new(limit: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            limit,
            cut: false,
        }
    }

    fn push(&mut self, received: &[u8]) {
        let kept = &received[received.len().saturating_sub(self.limit)..];
        let surplus = (self.bytes.len() + kept.len()).saturating_sub(self.limit);
        self.cut |= surplus > 0 || kept.len() < received.len();
        self.bytes.drain(..surplus);
        self.bytes.extend(kept);
    }

    /// Starts at a line when the beginning is lost, or at least at a character.
    fn tail(&self) -> String {
        let mut bytes: Vec<u8> = self.bytes.iter().copied().collect();
        if self.cut {
            let next_line = bytes
                .iter()
                .position(|&byte| byte == b'\n')
                .map(|end| end + 1);
            let start = match next_line {
                Some(start) if start < bytes.len() => start,
                _ => bytes
                    .iter()
                    .position(|&byte| !is_continuation(byte))
                    .unwrap_or(bytes.len()),
            };
            bytes.drain(..start);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, chunks: &[&str]) -> String {
        let mut ring = Ring::new(limit);
        for chunk in chunks {
            ring.push(chunk.as_bytes());
            assert!(ring.bytes.len() <= limit);
        }
        ring.tail()
    }

    #[test]
    fn keeps_all_of_a_short_stream() {
        assert_eq!(tail(16, &["one\n", "two\n"]), "one\ntwo\n");
    }

    #[test]
    fn starts_at_a_line_once_the_beginning_is_lost() {
        assert_eq!(tail(8, &["first\n", "second\n"]), "second\n");
        assert_eq!(tail(8, &["first\nsecond\n", "3\n"]), "3\n");
    }

    #[test]
    fn starts_at_a_character_when_there_is_no_line() {
        assert_eq!(tail(5, &["ääää"]), "ää");
        assert_eq!(tail(4, &["abcdefg\n"]), "efg\n");
    }

    #[test]
    fn keeps_nothing_when_nothing_may_be_kept() {
        assert_eq!(tail(0, &["abc"]), "");
    }
}
