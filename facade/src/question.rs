//! Questions of servers, handed to the host and answered by id.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use mcp_resident::{Answer, Reason, Request, WaitFor};

use crate::io_thread::{IoThread, Lease};
use crate::operation::OperationId;
use crate::queue::{QuestionId, Queue};

/// Asks the host through its queue.
pub(crate) struct Asker {
    queue: Arc<Queue>,
    load: OperationId,
    /// Not a lease: a server that may ask must not keep the thread alive.
    thread: Weak<IoThread>,
}

impl Asker {
    pub(crate) fn new(queue: &Arc<Queue>, load: OperationId, thread: &Lease) -> Self {
        Self {
            queue: Arc::clone(queue),
            load,
            thread: Arc::downgrade(thread),
        }
    }
}

impl WaitFor for Asker {
    fn wait_for<'a, 'f>(
        &'a self,
        request: Request,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let id = request.id.clone();
            let Some(thread) = self.thread.upgrade() else {
                return Answer::refuse(id, Reason::Cancelled);
            };
            let (question, answered) = self.queue.ask(&thread, self.load, request);
            let _open = Open {
                asker: self,
                question,
            };
            drop(thread);
            match answered.await {
                Ok(answer) => answer,
                Err(_) => Answer::refuse(id, Reason::Cancelled),
            }
        })
    }
}

/// Tells the host when nobody waits for its answer any more.
struct Open<'a> {
    asker: &'a Asker,
    question: QuestionId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(thread) = self.asker.thread.upgrade() {
            self.asker.queue.end_question(&thread, self.question);
        }
    }
}
