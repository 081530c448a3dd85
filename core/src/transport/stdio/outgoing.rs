//! What waits to be written to a server's standard input.
//!
//! One writer takes everything that is queued in one go: with many calls in flight that is one
//! system call for all of them. The queue is a buffer under a lock that is never held across I/O.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The queue has been closed: nothing more will be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueClosed;

/// The queue of whole messages, each with its line feed.
#[derive(Debug)]
pub(crate) struct Outgoing {
    queue: Mutex<Queue>,
    /// Wakes the writer.
    filled: Notify,
    /// Wakes those who wait for room.
    emptied: Notify,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    closed: bool,
}

impl Outgoing {
    /// A queue that admits a message while it holds fewer than `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            queue: Mutex::default(),
            filled: Notify::new(),
            emptied: Notify::new(),
            capacity,
        }
    }

    /// Queues a message, waiting for room first.
    pub(crate) async fn push(&self, message: &[u8]) -> Result<(), QueueClosed> {
        loop {
            // Created before the check that it guards, or the wake-up could fall between the two.
            let emptied = self.emptied.notified();
            {
                let mut queue = self.lock();
                if queue.closed || queue.bytes.len() < self.capacity {
                    return self.append(&mut queue, message);
                }
            }
            emptied.await;
        }
    }

    /// Queues a small message at once, even when the queue is full: what ends a call must not wait
    /// behind what keeps the call waiting.
    pub(crate) fn push_urgent(&self, message: &[u8]) -> Result<(), QueueClosed> {
        self.append(&mut self.lock(), message)
    }

    /// Waits for messages and moves them all into `batch`, which must be empty.
    pub(crate) async fn take(&self, batch: &mut Vec<u8>) -> Result<(), QueueClosed> {
        loop {
            let filled = self.filled.notified();
            {
                let mut queue = self.lock();
                if !queue.bytes.is_empty() {
                    std::mem::swap(&mut queue.bytes, batch);
                    drop(queue);
                    self.emptied.notify_waiters();
                    return Ok(());
                }
                if queue.closed {
                    return Err(QueueClosed);
                }
            }
            filled.await;
        }
    }

    /// Admits nothing more. What is queued may still be written.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.emptied.notify_waiters();
    }

    fn append(&self, queue: &mut Queue, message: &[u8]) -> Result<(), QueueClosed> {
        if queue.closed {
            return Err(QueueClosed);
        }
        let was_empty = queue.bytes.is_empty();
        queue.bytes.reserve(message.len() + 1);
        queue.bytes.extend_from_slice(message);
        queue.bytes.push(b'\n');
        if was_empty {
            self.filled.notify_one();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is whole after each push, so a panic elsewhere cannot have broken it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_full_queue_holds_back_calls_but_not_what_is_urgent() {
        let outgoing = Arc::new(Outgoing::new(4));
        outgoing.push(b"first").await.unwrap();
        let waiting = tokio::spawn({
            let outgoing = Arc::clone(&outgoing);
            async move { outgoing.push(b"second").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        outgoing.push_urgent(b"cancel").unwrap();

        let mut batch = Vec::new();
        outgoing.take(&mut batch).await.unwrap();
        assert_eq!(batch, b"first\ncancel\n");
        waiting.await.unwrap().unwrap();
        batch.clear();
        outgoing.take(&mut batch).await.unwrap();
        assert_eq!(batch, b"second\n");
    }

    #[tokio::test]
    async fn closing_releases_those_who_wait_and_still_hands_out_what_is_queued() {
        let outgoing = Arc::new(Outgoing::new(1));
        outgoing.push(b"a").await.unwrap();
        let waiting = tokio::spawn({
            let outgoing = Arc::clone(&outgoing);
            async move { outgoing.push(b"b").await }
        });
        tokio::task::yield_now().await;
        outgoing.close();
        assert_eq!(waiting.await.unwrap(), Err(QueueClosed));
        let mut batch = Vec::new();
        outgoing.take(&mut batch).await.unwrap();
        assert_eq!(batch, b"a\n");
        batch.clear();
        assert_eq!(outgoing.take(&mut batch).await, Err(QueueClosed));
    }
}
