//! The same interface on platforms where processes cannot be started yet: every start fails, so no
//! process exists.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{Closed, Exit, Grace, Helper, HelperError, HelperOutput, Launch, SpawnError};

/// Starts processes; not on this platform yet.
#[derive(Debug)]
pub struct Engine(());

impl Engine {
    /// An engine whose every start fails.
    ///
    /// # Errors
    ///
    /// None on this platform.
    pub fn shared() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self(())))
    }

    /// Fails.
    ///
    /// # Errors
    ///
    /// Always [`SpawnError::Unsupported`].
    pub async fn spawn(self: &Arc<Self>, _launch: Launch) -> Result<Child, SpawnError> {
        Err(SpawnError::Unsupported)
    }

    /// Fails.
    ///
    /// # Errors
    ///
    /// Always [`SpawnError::Unsupported`].
    pub async fn run(self: &Arc<Self>, _helper: Helper) -> Result<HelperOutput, HelperError> {
        Err(SpawnError::Unsupported.into())
    }
}

/// A started process; there is none on this platform.
#[derive(Debug)]
pub struct Child {
    /// Its standard input.
    pub stdin: ChildInput,
    /// Its standard output.
    pub stdout: ChildOutput,
    /// Its exit, standard error and end.
    pub process: Process,
}

/// The host's end of a process's standard input.
#[derive(Debug)]
pub struct ChildInput(Infallible);

impl AsyncWrite for ChildInput {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}

/// The host's end of a process's standard output.
#[derive(Debug)]
pub struct ChildOutput(Infallible);

impl AsyncRead for ChildOutput {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}

/// A handle on a running process; there is none on this platform.
#[derive(Clone, Debug)]
pub struct Process(Infallible);

impl Process {
    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        match self.0 {}
    }

    /// Waits for the exit of the process.
    pub async fn exited(&self) -> Exit {
        match self.0 {}
    }

    /// How the process ended, if it has.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        match self.0 {}
    }

    /// The last output on standard error.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        match self.0 {}
    }

    /// Waits until standard error is read to its end.
    pub async fn stderr_drained(&self) {
        match self.0 {}
    }

    /// Ends the process.
    pub async fn close(&self, _grace: Grace) -> Closed {
        match self.0 {}
    }
}
