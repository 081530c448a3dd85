//! The one thread that starts processes.
//!
//! A parent-death signal follows the thread that started the child, so that thread has to live as
//! long as the engine. It is separate from the supervisor's because starting can block, for example
//! on a file system that hangs.

use std::{os::fd::OwnedFd, sync::Arc};

use tokio::sync::{mpsc, oneshot};

use crate::{
    SpawnError,
    exec::{self, Order},
    interpreter,
    supervisor::{Leader, Supervisor},
};

/// How many starts may wait for the thread; further callers wait for a place.
pub(crate) const QUEUE: usize = 64;

/// One start to be done.
pub(crate) struct Job {
    pub(crate) order: Order,
    pub(crate) guarded: bool,
    pub(crate) reply: oneshot::Sender<Result<Spawned, SpawnError>>,
}

/// A process that runs and is owned.
pub(crate) struct Spawned {
    pub(crate) leader: Leader,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

/// The thread's work, until the engine drops the sender.
pub(crate) fn run(mut jobs: mpsc::Receiver<Job>, supervisor: &Arc<Supervisor>) {
    while let Some(job) = jobs.blocking_recv() {
        if !job.reply.is_closed() {
            // A caller that has gone drops the answer, and with it the process.
            let _ = job.reply.send(spawn(&job.order, job.guarded, supervisor));
        }
    }
}

fn spawn(
    order: &Order,
    guarded: bool,
    supervisor: &Arc<Supervisor>,
) -> Result<Spawned, SpawnError> {
    if !order.program.as_os_str().as_encoded_bytes().contains(&b'/') {
        return Err(SpawnError::BareName(order.program.clone()));
    }
    interpreter::check_env_script(&order.program, &order.environment, &order.directory)?;
    let started = exec::start(order)?;
    let leader = supervisor.adopt(started.id, guarded)?;
    Ok(Spawned {
        leader,
        stdin: started.stdin,
        stdout: started.stdout,
        stderr: started.stderr,
    })
}
