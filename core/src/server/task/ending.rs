//! Ending connections, and the task itself.

use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Attempt, Command, Task, Waiter, answer};
use crate::connection::Connection;
use crate::event::{EventKind, State};
use crate::server::attempt;
use crate::server::instance::Instance;
use crate::server::spec::ServerSpec;

impl Task {
    /// Ends a connection beside the loop. Its calls fail at once.
    pub(super) fn discard(&mut self, connection: Arc<Connection>) {
        connection.refuse_calls();
        let (instance, spec) = (Arc::clone(&self.instance), Arc::clone(&self.spec));
        let ended = self.begin_ending();
        self.instance.tasks.spawn(async move {
            close(&connection, &instance, &spec).await;
            drop(ended);
        });
    }

    /// Something begins to end. It has ended when the guard is dropped.
    fn begin_ending(&mut self) -> DropGuard {
        self.endings.retain(|ended| !ended.is_cancelled());
        let ended = CancellationToken::new();
        self.endings.push(ended.clone());
        ended.drop_guard()
    }

    /// Waits until what is ending now has ended. What is started meanwhile is not waited for.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let endings = self.endings.clone();
        async move {
            for ended in endings {
                ended.cancelled().await;
            }
        }
    }

    /// Ends an attempt beside the loop. One that connected before it saw the cancel is closed like any other, and keeps
    /// its place until nothing of it is left. Returns those who waited for it.
    pub(super) fn give_up(&mut self, attempt: Attempt) -> Vec<Waiter> {
        attempt.cancel.cancel();
        let (instance, spec) = (Arc::clone(&self.instance), Arc::clone(&self.spec));
        let task = attempt.task;
        let ended = self.begin_ending();
        self.instance.tasks.spawn(async move {
            if let Ok(Ok(connected)) = task.await {
                close(&connected.connection, &instance, &spec).await;
            }
            drop(ended);
        });
        attempt.waiters
    }

    /// Ends a connection beside the loop when its last call has ended.
    pub(super) fn retire(&self, connection: Arc<Connection>) {
        let (instance, spec) = (Arc::clone(&self.instance), Arc::clone(&self.spec));
        let closing = self.instance.closing().clone();
        self.instance.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = connection.drained() => {}
                () = tokio::time::sleep(spec.limits.call_total) => {}
            }
            close(&connection, &instance, &spec).await;
        });
    }

    pub(super) async fn shut_down(mut self) {
        let error = self.instance.closed();
        self.snapshot.send_modify(|snapshot| {
            snapshot.closed = true;
            snapshot.connection = None;
        });
        let attempt = self.attempt.take();
        let refresh = self.refresh.take();
        self.retry_at = None;
        let current = self.current.take();
        if let Some(current) = &current {
            current.connection.refuse_calls();
        }
        if self.snapshot.borrow().state != State::Stopped {
            self.transition(State::Stopped, "closed");
        }
        for done in refresh.into_iter().flat_map(|refresh| refresh.waiters) {
            answer(done, Err(error.clone()));
        }
        for done in std::mem::take(&mut self.refresh_next) {
            answer(done, Err(error.clone()));
        }
        for waiter in std::mem::take(&mut self.after_loss) {
            answer(waiter.done, Err(error.clone()));
        }
        if let Some(attempt) = attempt {
            attempt.cancel.cancel();
            for waiter in attempt.waiters {
                answer(waiter.done, Err(error.clone()));
            }
            if let Ok(Ok(connected)) = attempt.task.await {
                close(&connected.connection, &self.instance, &self.spec).await;
            }
        }
        if let Some(current) = current {
            close(&current.connection, &self.instance, &self.spec).await;
        }
        // Whoever asked just before the end gets an answer, too.
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Start(waiter)
                | Command::Wake(waiter)
                | Command::ListOnce(waiter)
                | Command::Restart(waiter) => answer(waiter.done, Err(error.clone())),
                Command::Refresh(done)
                | Command::ReplaceSession { done, .. }
                | Command::Adopt(_, done)
                | Command::Welcome(_, done) => {
                    answer(done, Err(error.clone()));
                }
                Command::Stop(done) => {
                    let _ = done.send(());
                }
                Command::Abandon(_) | Command::MakeRoom => {}
            }
        }
    }
}

async fn close(connection: &Connection, instance: &Instance, spec: &ServerSpec) {
    let closed = attempt::end(connection, instance, spec).await;
    let (exit, ending, escaped) = match closed {
        Some(closed) => (closed.exit, Some(closed.ending), closed.escaped),
        None => (None, None, Vec::new()),
    };
    let audience = &instance.audience;
    if !escaped.is_empty() {
        let message = format!("processes that left its group were not ended: {escaped:?}");
        audience.push(
            &spec.name,
            connection.generation(),
            EventKind::Note { message },
        );
    }
    let killed = ending == Some(mcp_resident_process::Ending::Killed);
    audience.push(
        &spec.name,
        connection.generation(),
        EventKind::Closed { exit, killed },
    );
}
