//! Running a helper: read until the shell has ended, then end whatever it started.

use std::{
    ffi::OsString,
    io::{self, Read},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::{io::AsyncReadExt, time};

use crate::{
    ChildOutput, Engine, Exit, Grace, Helper, HelperError, HelperOutput, Process, SpawnError,
    exec::{Order, Stream},
};

const SHELL: &str = "/bin/sh";

/// How long a helper that is stopped may take after SIGTERM.
const TERM_GRACE: Grace = Grace {
    eof: Duration::ZERO,
    term: Duration::from_millis(500),
};

/// Read at once, in bytes.
const CHUNK_BYTES: usize = 8 * 1024;

impl Engine {
    /// Runs a shell command for its output, guarded, with no input and its standard error
    /// discarded.
    ///
    /// The run is over when the shell has ended: what it left in the background is killed, and
    /// neither that nor the background's hold on the output delays the result. Dropping the
    /// future kills everything at once.
    ///
    /// # Errors
    ///
    /// [`HelperError`] when the command cannot be started, fails, prints too much, or takes too
    /// long.
    pub async fn run(self: &Arc<Self>, helper: Helper) -> Result<HelperOutput, HelperError> {
        let order = Order {
            program: PathBuf::from(SHELL),
            args: vec![OsString::from("-c"), helper.command],
            environment: helper.environment,
            directory: helper.directory,
            stdin: Stream::Discarded,
            stdout: Stream::Piped,
            stderr: Stream::Discarded,
            dies_with_parent: true,
        };
        let spawned = self.start(order, true).await?;
        let process = Process::new(spawned.leader, None, Arc::clone(self));
        let pipe = spawned
            .stdout
            .ok_or_else(|| not_started(io::ErrorKind::BrokenPipe.into()))?;
        let stdout = ChildOutput::new(pipe).map_err(not_started)?;

        let collecting = collect(stdout, &process, helper.max_output_bytes);
        let outcome = time::timeout(helper.timeout, collecting)
            .await
            .unwrap_or(Err(HelperError::TimedOut(helper.timeout)));
        let grace = if outcome.is_ok() {
            Grace::NONE
        } else {
            TERM_GRACE
        };
        process.close(grace).await;
        let stdout = outcome?;
        match process.exit().unwrap_or(Exit::Unknown) {
            exit if exit.is_success() => Ok(HelperOutput { stdout }),
            exit => Err(HelperError::Failed(exit)),
        }
    }
}

/// Reads until the shell has ended and everything it wrote is read.
async fn collect(
    mut stdout: ChildOutput,
    process: &Process,
    limit_bytes: usize,
) -> Result<Vec<u8>, HelperError> {
    let mut output = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut keep = |received: &[u8]| {
        output.extend_from_slice(received);
        if output.len() > limit_bytes {
            Err(HelperError::TooLarge { limit_bytes })
        } else {
            Ok(())
        }
    };
    loop {
        tokio::select! {
            _ = process.exited() => break,
            read = stdout.read(&mut chunk) => match read {
                Ok(length @ 1..) => keep(&chunk[..length])?,
                _ => {
                    process.exited().await;
                    return Ok(output);
                }
            },
        }
    }
    // All that the shell and the commands it waited for wrote is in the pipe now. The limit bounds
    // this loop also when something in the background goes on writing.
    let mut present = stdout.into_present().map_err(not_started)?;
    while let Ok(length @ 1..) = present.read(&mut chunk) {
        keep(&chunk[..length])?;
    }
    Ok(output)
}

fn not_started(source: io::Error) -> HelperError {
    SpawnError::System {
        program: PathBuf::from(SHELL),
        source,
    }
    .into()
}
