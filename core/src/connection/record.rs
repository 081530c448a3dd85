//! Calls as records: each has ordered events and exactly one outcome.
//!
//! Reply, cancel, deadline, drop and close race on the same record, and whoever takes it out of the
//! [`CallTable`] decides the outcome; everybody else comes too late and knows it. Progress stands
//! before the outcome in the record, so a caller never sees an event of a call after its end.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

use super::DropReason;

/// The first id of a lane request. Below it are the ids of the conversation, which count up from 0;
/// all of them fit 31 bits, for servers that keep ids in an `int`.
pub(crate) const FIRST_ID: u64 = 1 << 30;

/// Progress notifications that one call may be behind with. Older ones go first: the newest says
/// most.
const MAX_UNREAD_PROGRESS: usize = 64;

/// What happens to a call, in order.
#[derive(Debug)]
pub(crate) enum CallEvent {
    /// The `params` of a progress notification, as sent.
    Progress(Bytes),
    /// A person is being asked: the call's clock stands still.
    Asking,
    /// The person has answered.
    Answered,
    /// The end of the call. Nothing follows.
    Settled(Outcome),
}

/// How a call ended, seen from the wire.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The whole reply, as received.
    Reply(Bytes),
    /// The reply was longer than the limit, in bytes.
    TooLarge(usize),
    /// The connection ended by itself.
    Dropped(Arc<DropReason>),
    /// The connection was closed by its owner.
    Closed,
}

/// Why a table admits no more calls.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// The connection ended; why is being found out.
    Dropping,
    /// The connection ended.
    Dropped(Arc<DropReason>),
    /// The connection was closed by its owner.
    Closed,
}

/// The calls that are running on one connection.
#[derive(Debug, Default)]
pub(crate) struct CallTable {
    state: Mutex<TableState>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct TableState {
    records: HashMap<u64, Arc<Record>, BuildHasherDefault<IdHasher>>,
    issued: u64,
    ended: Option<Ended>,
}

impl CallTable {
    /// Opens a record for a call that is about to be sent.
    pub(crate) fn open(self: &Arc<Self>) -> Result<Ticket, Ended> {
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        let id = FIRST_ID + state.issued % FIRST_ID;
        state.issued += 1;
        let record = Arc::new(Record::default());
        state.records.insert(id, Arc::clone(&record));
        Ok(Ticket {
            table: Arc::clone(self),
            id,
            record,
        })
    }

    /// Settles the call of this id. False when there is none, or it is settled already.
    pub(crate) fn settle(&self, id: u64, outcome: Outcome) -> bool {
        match self.remove(id) {
            Some(record) => {
                record.push(CallEvent::Settled(outcome));
                true
            }
            None => false,
        }
    }

    /// Tells the call of this id of its progress. False when there is none.
    pub(crate) fn progress(&self, id: u64, params: Bytes) -> bool {
        let record = self.lock().records.get(&id).cloned();
        record
            .map(|record| record.push(CallEvent::Progress(params)))
            .is_some()
    }

    /// The records whose clock stops while a person is asked: the one whose id is known, or all.
    pub(crate) fn stop_clocks(&self, id: Option<u64>) -> StoppedClocks {
        let records: Vec<_> = {
            let state = self.lock();
            match id {
                Some(id) => state.records.get(&id).cloned().into_iter().collect(),
                None => state.records.values().cloned().collect(),
            }
        };
        for record in &records {
            record.push(CallEvent::Asking);
        }
        StoppedClocks(records)
    }

    /// Waits until no call is running.
    pub(crate) async fn drained(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.len() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// How many calls are running.
    pub(crate) fn len(&self) -> usize {
        self.lock().records.len()
    }

    /// Admits no call from now on. Those that run are settled by [`end`](Self::end).
    pub(crate) fn refuse(&self) {
        let mut state = self.lock();
        if state.ended.is_none() {
            state.ended = Some(Ended::Dropping);
        }
    }

    /// The same when no call is running; says whether that is so.
    pub(crate) fn refuse_when_unused(&self) -> bool {
        let mut state = self.lock();
        let unused = state.records.is_empty();
        if unused && state.ended.is_none() {
            state.ended = Some(Ended::Closed);
        }
        unused
    }

    /// Settles all calls and admits none from now on.
    pub(crate) fn end(&self, ended: Ended) {
        let outcome = match &ended {
            Ended::Dropping => return self.refuse(),
            Ended::Dropped(reason) => Outcome::Dropped(Arc::clone(reason)),
            Ended::Closed => Outcome::Closed,
        };
        let records = {
            let mut state = self.lock();
            if !matches!(state.ended, Some(Ended::Dropped(_) | Ended::Closed)) {
                state.ended = Some(ended);
            }
            std::mem::take(&mut state.records)
        };
        self.emptied.notify_waiters();
        for record in records.into_values() {
            record.push(CallEvent::Settled(outcome.clone()));
        }
    }

    fn remove(&self, id: u64) -> Option<Arc<Record>> {
        let (record, emptied) = {
            let mut state = self.lock();
            (state.records.remove(&id), state.records.is_empty())
        };
        if emptied {
            self.emptied.notify_waiters();
        }
        record
    }

    fn lock(&self) -> MutexGuard<'_, TableState> {
        // Each change is one insertion or removal, so a panic elsewhere leaves the table whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clocks that stand still until this is dropped.
#[derive(Debug)]
pub(crate) struct StoppedClocks(Vec<Arc<Record>>);

impl Drop for StoppedClocks {
    fn drop(&mut self) {
        for record in &self.0 {
            record.push(CallEvent::Answered);
        }
    }
}

#[derive(Debug, Default)]
struct Record {
    state: Mutex<RecordState>,
}

#[derive(Debug, Default)]
struct RecordState {
    events: VecDeque<CallEvent>,
    unread_progress: usize,
    waker: Option<Waker>,
}

impl RecordState {
    fn pop(&mut self) -> Option<CallEvent> {
        let event = self.events.pop_front();
        if matches!(event, Some(CallEvent::Progress(_))) {
            self.unread_progress -= 1;
        }
        event
    }
}

impl Record {
    fn push(&self, event: CallEvent) {
        let waker = {
            let mut state = self.lock();
            if matches!(event, CallEvent::Progress(_)) {
                if state.unread_progress == MAX_UNREAD_PROGRESS {
                    let oldest = state
                        .events
                        .iter()
                        .position(|event| matches!(event, CallEvent::Progress(_)));
                    oldest.map(|oldest| state.events.remove(oldest));
                } else {
                    state.unread_progress += 1;
                }
            }
            state.events.push_back(event);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll_event(&self, context: &mut Context<'_>) -> Poll<CallEvent> {
        let mut state = self.lock();
        match state.pop() {
            Some(event) => Poll::Ready(event),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecordState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller's side of a record.
#[derive(Debug)]
pub(crate) struct Ticket {
    table: Arc<CallTable>,
    id: u64,
    record: Arc<Record>,
}

impl Ticket {
    /// The id of the request on the wire, and its progress token.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The next event. After [`CallEvent::Settled`] it waits for ever.
    pub(crate) async fn next(&mut self) -> CallEvent {
        poll_fn(|context| self.record.poll_event(context)).await
    }

    /// Takes the record out, so that its outcome is the caller's to decide. When another side was
    /// faster, its outcome is returned and counts.
    pub(crate) fn withdraw(&mut self) -> Result<(), Outcome> {
        if self.table.remove(self.id).is_some() {
            return Ok(());
        }
        let mut state = self.record.lock();
        while let Some(event) = state.pop() {
            if let CallEvent::Settled(outcome) = event {
                return Err(outcome);
            }
        }
        // Settled and read: nobody withdraws a call whose outcome it has seen.
        Err(Outcome::Closed)
    }
}

/// Ids are already spread evenly; one multiplication is all the hashing they need.
#[derive(Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Arc<CallTable> {
        Arc::new(CallTable::default())
    }

    #[tokio::test]
    async fn progress_comes_before_the_outcome_however_late_it_is_read() {
        let table = table();
        let mut ticket = table.open().unwrap();
        for step in 0..100u8 {
            table.progress(ticket.id(), Bytes::copy_from_slice(&[step]));
        }
        assert!(table.settle(ticket.id(), Outcome::Reply(Bytes::from_static(b"r"))));
        let mut steps = Vec::new();
        loop {
            match ticket.next().await {
                CallEvent::Progress(step) => steps.push(step[0]),
                CallEvent::Settled(Outcome::Reply(_)) => break,
                other => panic!("unexpected {other:?}"),
            }
        }
        assert_eq!(steps, (36..100).collect::<Vec<u8>>());
    }

    #[tokio::test]
    async fn exactly_one_side_decides_the_outcome() {
        let table = table();
        let mut ticket = table.open().unwrap();
        assert!(table.settle(ticket.id(), Outcome::Reply(Bytes::new())));
        assert!(!table.settle(ticket.id(), Outcome::Closed));
        assert!(matches!(ticket.withdraw(), Err(Outcome::Reply(_))));

        let mut ticket = table.open().unwrap();
        assert!(ticket.withdraw().is_ok());
        assert!(!table.settle(ticket.id(), Outcome::Closed));
        assert_eq!(table.len(), 0);
    }

    #[tokio::test]
    async fn an_ended_table_settles_what_runs_and_admits_nothing() {
        let table = table();
        let mut ticket = table.open().unwrap();
        table.refuse();
        assert!(matches!(table.open(), Err(Ended::Dropping)));
        table.end(Ended::Closed);
        assert!(matches!(
            ticket.next().await,
            CallEvent::Settled(Outcome::Closed)
        ));
        assert!(matches!(table.open(), Err(Ended::Closed)));
    }

    #[tokio::test]
    async fn a_waiting_caller_is_woken() {
        let table = table();
        let mut ticket = table.open().unwrap();
        let id = ticket.id();
        let waiting = tokio::spawn(async move { ticket.next().await });
        tokio::task::yield_now().await;
        table.settle(id, Outcome::TooLarge(7));
        assert!(matches!(
            waiting.await.unwrap(),
            CallEvent::Settled(Outcome::TooLarge(7))
        ));
    }
}
