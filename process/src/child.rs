//! A started process with its streams.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::unix::pipe,
};

use crate::{Process, sys};

/// A started process: its streams, and the handle that decides how long it lives.
#[derive(Debug)]
pub struct Child {
    /// Its standard input.
    pub stdin: ChildInput,
    /// Its standard output.
    pub stdout: ChildOutput,
    /// Its exit, standard error and end.
    pub process: Process,
}

/// The host's end of a process's standard input. Shutting it down or dropping it is the end of
/// file.
///
/// A write after the reader has gone is an error of kind `BrokenPipe`, and raises no SIGPIPE in the
/// host.
#[derive(Debug)]
pub struct ChildInput {
    /// `None` after the shutdown.
    pipe: Option<pipe::Sender>,
}

impl ChildInput {
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            pipe: Some(pipe::Sender::from_owned_fd(pipe)?),
        })
    }
}

impl AsyncWrite for ChildInput {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(pipe) = &self.pipe else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        loop {
            ready!(pipe.poll_write_ready(context))?;
            match sys::without_sigpipe(pipe.as_fd(), || pipe.try_write(bytes)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// Nothing is buffered.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pipe = None;
        Poll::Ready(Ok(()))
    }
}

/// The host's end of a process's standard output.
#[derive(Debug)]
pub struct ChildOutput(pipe::Receiver);

impl ChildOutput {
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        pipe::Receiver::from_owned_fd(pipe).map(Self)
    }

    /// Gives up waiting: the rest is what is already in the pipe, then comes an error of kind
    /// `WouldBlock`.
    ///
    /// The runtime's own non-blocking read may report an empty pipe only because it has not looked
    /// yet.
    pub(crate) fn into_present(self) -> io::Result<File> {
        self.0.into_nonblocking_fd().map(File::from)
    }
}

impl AsyncRead for ChildOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}
