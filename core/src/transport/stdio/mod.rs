//! A server's standard input and output: one JSON-RPC message a line.
//!
//! Knows nothing of what the messages mean. Two tasks serve a link: a reader that hands each line to
//! the [`Inbound`] in wire order and never waits, and a writer that gives up when the server does not
//! take a byte for longer than the write-stall limit.

mod framing;
mod outgoing;

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

use self::framing::{Line, LineBuffer};
use self::outgoing::Outgoing;
use super::inbound::{Inbound, Origin};
use super::{DropCause, RequestFailure};

/// Capacity that a drained write buffer keeps, in bytes.
const WRITE_BUFFER_KEPT: usize = 1024 * 1024;

/// How long the output of a process that ended is read for what it wrote before. Its end comes at once, unless
/// something that the process had started holds it open.
const READ_AFTER_EXIT: Duration = Duration::from_millis(200);

/// Limits of one link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StdioOptions {
    /// A longer message is refused, in bytes.
    pub(crate) max_message_bytes: usize,
    /// Requests wait while so much is unwritten, in bytes.
    pub(crate) max_unwritten_bytes: usize,
    /// The server must take a byte within this time.
    pub(crate) write_stall: Duration,
}

/// The two pipes of a running server.
#[derive(Debug)]
pub(crate) struct StdioLink {
    outgoing: Arc<Outgoing>,
    tasks: Mutex<Option<Tasks>>,
}

/// Ends with its owner: a task that outlived the link would keep the pipes open.
#[derive(Debug)]
struct Tasks {
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

impl StdioLink {
    /// Starts to serve the pipes. They outlive the process when something that it started inherited them, so `exited`
    /// says when it has ended.
    pub(crate) fn start(
        stdin: impl AsyncWrite + Unpin + Send + 'static,
        stdout: impl AsyncRead + Unpin + Send + 'static,
        exited: impl Future<Output = ()> + Send + 'static,
        options: StdioOptions,
        inbound: Arc<dyn Inbound>,
    ) -> Self {
        let outgoing = Arc::new(Outgoing::new(options.max_unwritten_bytes));
        let drop_signal = Arc::new(DropSignal {
            told: AtomicBool::new(false),
            outgoing: Arc::clone(&outgoing),
            inbound,
        });
        let reader = tokio::spawn(read(
            stdout,
            exited,
            options.max_message_bytes,
            Arc::clone(&drop_signal),
        ));
        let writer = tokio::spawn(write(stdin, options.write_stall, drop_signal));
        Self {
            outgoing,
            tasks: Mutex::new(Some(Tasks { reader, writer })),
        }
    }

    /// Queues a request, waiting for room. Its reply arrives at the [`Inbound`].
    pub(crate) async fn request(&self, body: &[u8]) -> Result<(), RequestFailure> {
        self.outgoing
            .push(body)
            .await
            .map_err(|_| RequestFailure::Closed)
    }

    /// Queues a message that expects no reply.
    pub(crate) fn notify(&self, body: &[u8]) -> Result<(), RequestFailure> {
        self.outgoing
            .push_urgent(body)
            .map_err(|_| RequestFailure::Closed)
    }

    /// Ends the link: what is queued is given up to `flush` to be written, then the server sees the
    /// end of its input.
    pub(crate) async fn close(&self, flush: Duration) {
        self.outgoing.close();
        let tasks = self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(mut tasks) = tasks {
            let _ = tokio::time::timeout(flush, &mut tasks.writer).await;
        }
    }
}

/// Makes a drop visible to all sides, once.
struct DropSignal {
    told: AtomicBool,
    outgoing: Arc<Outgoing>,
    inbound: Arc<dyn Inbound>,
}

impl DropSignal {
    fn set(&self, cause: DropCause) {
        self.outgoing.close();
        if !self.told.swap(true, Ordering::AcqRel) {
            self.inbound.dropped(&cause);
        }
    }
}

async fn read(
    mut stdout: impl AsyncRead + Unpin,
    exited: impl Future<Output = ()>,
    limit: usize,
    signal: Arc<DropSignal>,
) {
    let mut lines = LineBuffer::new(limit);
    let abandoned = async {
        exited.await;
        tokio::time::sleep(READ_AFTER_EXIT).await;
    };
    let ended = tokio::select! {
        biased;
        cause = read_lines(&mut stdout, &mut lines, limit, &signal) => cause,
        () = abandoned => DropCause::ProcessEnded,
    };
    if !matches!(ended, DropCause::MessageTooLong { .. })
        && let Some(line) = lines.finish()
        && !is_cut(&line)
    {
        deliver(line, &signal);
    }
    signal.set(ended);
}

/// Whether a last line without a line break is a message that its server did not live to finish. It answers nothing:
/// whom it was for learns how the server ended.
fn is_cut(line: &Line) -> bool {
    match line {
        Line::Message(message) if matches!(message.first(), Some(b'{' | b'[')) => {
            serde_json::from_slice::<serde::de::IgnoredAny>(message).is_err()
        }
        Line::Message(_) | Line::TooLong { .. } => false,
    }
}

/// Hands over line by line, and says why there are no more.
async fn read_lines(
    stdout: &mut (impl AsyncRead + Unpin),
    lines: &mut LineBuffer,
    limit: usize,
    signal: &DropSignal,
) -> DropCause {
    loop {
        match stdout.read_buf(lines.space()).await {
            Ok(0) => return DropCause::OutputClosed,
            Ok(_) => {}
            Err(error) => return DropCause::ReadFailed(error.to_string()),
        }
        while let Some(line) = lines.next() {
            if !deliver(line, signal) {
                return DropCause::MessageTooLong { limit };
            }
        }
    }
}

/// Hands a line over. False when nobody could say whose overlong reply it was.
fn deliver(line: Line, signal: &DropSignal) -> bool {
    match line {
        Line::Message(message) => {
            signal.inbound.message(message, Origin::Shared);
            true
        }
        Line::TooLong { head } => signal.inbound.too_long(&head),
    }
}

async fn write(mut stdin: impl AsyncWrite + Unpin, stall: Duration, signal: Arc<DropSignal>) {
    let mut batch = Vec::new();
    while signal.outgoing.take(&mut batch).await.is_ok() {
        if let Err(cause) = write_all(&mut stdin, &batch, stall).await {
            return signal.set(cause);
        }
        batch.clear();
        batch.shrink_to(WRITE_BUFFER_KEPT);
    }
    // Dropping the pipe is the server's end of file.
}

async fn write_all(
    stdin: &mut (impl AsyncWrite + Unpin),
    mut rest: &[u8],
    stall: Duration,
) -> Result<(), DropCause> {
    while !rest.is_empty() {
        // The limit is on one write and not on the batch: a slow reader that reads is no stall.
        match tokio::time::timeout(stall, stdin.write(rest)).await {
            Ok(Ok(0)) => return Err(DropCause::WriteFailed("the pipe takes nothing".to_owned())),
            Ok(Ok(written)) => rest = &rest[written..],
            Ok(Err(error)) => return Err(DropCause::WriteFailed(error.to_string())),
            Err(_) => return Err(DropCause::WriteStalled(stall)),
        }
    }
    match tokio::time::timeout(stall, stdin.flush()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(DropCause::WriteFailed(error.to_string())),
        Err(_) => Err(DropCause::WriteStalled(stall)),
    }
}
