//! The queue in which everything arrives that a host is told.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use mcp_resident::{Answer, CancellationToken, Event, RawJson, Request};
use tokio::sync::oneshot;

use crate::io_thread::{IoThread, lock};
use crate::operation::{OperationId, Outcome};

/// Names an observer of a source's events. Never given twice in a process.
pub type SubscriptionId = u64;
/// Names a question of a server. Never given twice in a process.
pub type QuestionId = u64;

/// How many events and notices of progress may wait for a host that takes none. More of them are counted and left out;
/// outcomes and questions always arrive.
pub const MAX_WAITING_EVENTS: usize = 4_096;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An id that no operation, subscription, question or tool of this process has had.
pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// One thing that a host is told.
#[derive(Debug)]
#[non_exhaustive]
pub enum Delivery {
    /// An operation has ended. Comes exactly once for each, after everything else that belongs to it.
    Completed {
        /// Which one.
        operation: OperationId,
        /// How.
        outcome: Outcome,
    },
    /// A call made progress.
    Progress {
        /// The call.
        operation: OperationId,
        /// The `params` of the server's notification.
        params: RawJson,
    },
    /// Something happened to a server.
    Event {
        /// The observer.
        subscription: SubscriptionId,
        /// What.
        event: Event,
    },
    /// Events were left out before this one because too many were waiting. The source's history has them.
    Missed {
        /// The observer.
        subscription: SubscriptionId,
        /// How many.
        count: u64,
    },
    /// A server asks a person. [`Queue::answer`] answers.
    Question {
        /// Names the question.
        question: QuestionId,
        /// The load whose host is asked, so that a host with several sources knows which of them it is about.
        load: OperationId,
        /// What is asked.
        request: Request,
    },
    /// A question needs no answer any more: it expired, or its call has ended.
    QuestionEnded {
        /// Which one.
        question: QuestionId,
    },
}

/// Where the outcomes, events and questions of a host's operations arrive, in order.
///
/// A host has one for each of its own event loops, or one for everything.
pub struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    waker: Option<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    deliveries: VecDeque<Delivery>,
    /// How many of them are events or progress.
    waiting_events: usize,
    /// Events that were left out, by observer.
    missed: HashMap<SubscriptionId, u64>,
    /// Whether the host was woken, or will be, and has not emptied the queue since.
    woken: bool,
    operations: HashMap<OperationId, CancellationToken>,
    questions: HashMap<QuestionId, oneshot::Sender<Answer>>,
    closed: bool,
}

impl Queue {
    /// A queue whose host is woken by `waker` when something arrives in an empty queue. It is called on the I/O thread,
    /// or on the thread that starts an operation, and must return at once: write to a pipe, post to an event loop.
    pub fn with_waker(waker: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Self::new(Some(Box::new(waker)))
    }

    /// A queue that a thread of the host waits for, with [`wait`](Self::wait).
    pub fn blocking() -> Arc<Self> {
        Self::new(None)
    }

    fn new(waker: Option<Box<dyn Fn() + Send + Sync>>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            arrived: Condvar::new(),
            waker,
        })
    }

    /// The oldest deliveries, at most `most`; none when nothing waits. Take until fewer come than asked for: only then
    /// is the host woken again.
    pub fn take(&self, most: usize) -> Vec<Delivery> {
        let mut state = lock(&self.state);
        let count = most.min(state.deliveries.len());
        let taken: Vec<Delivery> = state.deliveries.drain(..count).collect();
        state.waiting_events -= taken.iter().filter(|delivery| delivery.is_event()).count();
        if taken.len() < most {
            state.woken = false;
        }
        taken
    }

    /// Waits until something is there, at most `timeout`. Returns whether something is. A closed queue returns at once.
    pub fn wait(&self, timeout: Duration) -> bool {
        let state = lock(&self.state);
        let nothing = |state: &mut State| state.deliveries.is_empty() && !state.closed;
        let (state, _) = self
            .arrived
            .wait_timeout_while(state, timeout, nothing)
            .unwrap_or_else(PoisonError::into_inner);
        !state.deliveries.is_empty()
    }

    /// Cancels an operation; its outcome still arrives. Returns whether it was running.
    pub fn cancel(&self, operation: OperationId) -> bool {
        let token = lock(&self.state).operations.get(&operation).cloned();
        token.is_some_and(|token| {
            token.cancel();
            true
        })
    }

    /// Answers a question. Returns whether it was still open.
    pub fn answer(&self, question: QuestionId, answer: Answer) -> bool {
        let open = lock(&self.state).questions.remove(&question);
        open.is_some_and(|open| open.send(answer).is_ok())
    }

    /// How many operations have been started here and not completed.
    pub fn running(&self) -> usize {
        lock(&self.state).operations.len()
    }

    /// Cancels everything that runs here and takes no further deliveries. Whoever waits returns.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.deliveries.clear();
        state.waiting_events = 0;
        // A sender that is dropped is the answer that nobody answers.
        state.questions.clear();
        let operations = std::mem::take(&mut state.operations);
        drop(state);
        for token in operations.values() {
            token.cancel();
        }
        self.arrived.notify_all();
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Notes an operation that starts.
    pub(crate) fn begin(&self, token: CancellationToken) -> OperationId {
        let operation = next_id();
        lock(&self.state).operations.insert(operation, token);
        operation
    }

    /// Delivers how an operation ended.
    pub(crate) fn complete(
        self: &Arc<Self>,
        thread: Option<&IoThread>,
        operation: OperationId,
        outcome: Outcome,
    ) {
        let mut state = lock(&self.state);
        state.operations.remove(&operation);
        // With nothing else on its way there is nothing to wait for that could be delivered with a call. What changes a
        // server has events, which the host is to have by then.
        let is_alone = state.operations.is_empty() && matches!(outcome, Outcome::Called(_));
        let thread = thread.filter(|_| !is_alone);
        let completed = Delivery::Completed { operation, outcome };
        self.push(state, thread, completed);
    }

    /// Opens a question. The receiver fails when nobody will answer.
    pub(crate) fn ask(
        self: &Arc<Self>,
        thread: &IoThread,
        load: OperationId,
        request: Request,
    ) -> (QuestionId, oneshot::Receiver<Answer>) {
        let question = next_id();
        let (sender, receiver) = oneshot::channel();
        let mut state = lock(&self.state);
        if !state.closed {
            state.questions.insert(question, sender);
            let asked = Delivery::Question {
                question,
                load,
                request,
            };
            self.push(state, Some(thread), asked);
        }
        (question, receiver)
    }

    /// Tells the host that a question needs no answer, unless it was answered.
    pub(crate) fn end_question(self: &Arc<Self>, thread: &IoThread, question: QuestionId) {
        let mut state = lock(&self.state);
        if state.questions.remove(&question).is_some() {
            self.push(state, Some(thread), Delivery::QuestionEnded { question });
        }
    }

    /// Delivers progress, unless too much is waiting.
    pub(crate) fn progress(
        self: &Arc<Self>,
        thread: &IoThread,
        operation: OperationId,
        params: RawJson,
    ) {
        let mut state = lock(&self.state);
        if state.waiting_events < MAX_WAITING_EVENTS {
            state.waiting_events += 1;
            let progress = Delivery::Progress { operation, params };
            self.push(state, Some(thread), progress);
        }
    }

    /// Delivers an event, unless too many are waiting.
    pub(crate) fn event(
        self: &Arc<Self>,
        thread: &IoThread,
        subscription: SubscriptionId,
        event: Event,
    ) {
        let mut state = lock(&self.state);
        if state.waiting_events >= MAX_WAITING_EVENTS {
            *state.missed.entry(subscription).or_default() += 1;
            return;
        }
        if let Some(count) = state.missed.remove(&subscription) {
            let missed = Delivery::Missed {
                subscription,
                count,
            };
            state.deliveries.push_back(missed);
        }
        state.waiting_events += 1;
        let event = Delivery::Event {
            subscription,
            event,
        };
        self.push(state, Some(thread), event);
    }

    fn push(
        self: &Arc<Self>,
        mut state: std::sync::MutexGuard<'_, State>,
        thread: Option<&IoThread>,
        delivery: Delivery,
    ) {
        if state.closed {
            return;
        }
        state.deliveries.push_back(delivery);
        let first = !std::mem::replace(&mut state.woken, true);
        drop(state);
        match thread {
            _ if !first => {}
            Some(thread) => thread.wake_later(self),
            None => self.wake(),
        }
    }

    /// Wakes the host.
    pub(crate) fn wake(&self) {
        match &self.waker {
            Some(waker) => waker(),
            None => self.arrived.notify_all(),
        }
    }
}

impl Delivery {
    fn is_event(&self) -> bool {
        matches!(self, Self::Progress { .. } | Self::Event { .. })
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        formatter
            .debug_struct("Queue")
            .field("waiting", &state.deliveries.len())
            .field("running", &state.operations.len())
            .finish_non_exhaustive()
    }
}
