//! Ctrl-C: the first one ends things in order, the second one at once.

use mcp_resident::CancellationToken;

use crate::exit::Exit;

/// Cancelled by the first signal that asks the program to end.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(CancellationToken);

impl Interrupt {
    /// Listens from now on. Needs a runtime, whose end also ends the listening.
    pub(crate) fn listen() -> Self {
        let token = CancellationToken::new();
        let cancelled = token.clone();
        tokio::spawn(async move {
            let Ok(mut requests) = EndRequests::new() else {
                return;
            };
            requests.next().await;
            cancelled.cancel();
            requests.next().await;
            // The guardian ends what is still running.
            std::process::exit(Exit::Cancelled.code().into());
        });
        Self(token)
    }

    pub(crate) fn token(&self) -> CancellationToken {
        self.0.clone()
    }

    pub(crate) async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

/// The signals by which a terminal, a person or a supervisor ends a program.
#[cfg(unix)]
struct EndRequests {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl EndRequests {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct EndRequests;

#[cfg(not(unix))]
impl EndRequests {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
