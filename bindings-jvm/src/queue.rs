//! The queue, and the loads that report to it.

use std::sync::Arc;
use std::time::Duration;

use mcp_resident_facade as facade;
use mcp_resident_facade::{Configuration, LoadRequest, SessionRequest, answer_from_json};

use crate::deliveries::{NativeDelivery, native};
use crate::error::NativeFailure;

/// Deliveries that are taken in one go.
const BATCH: usize = 256;

/// Where outcomes, events and questions arrive.
#[derive(uniffi::Object)]
pub struct NativeQueue {
    pub(crate) queue: Arc<facade::Queue>,
}

#[uniffi::export]
impl NativeQueue {
    /// A queue that a thread waits for.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: facade::Queue::blocking(),
        })
    }

    /// What has arrived, after waiting at most so long for the first of it.
    pub fn next(&self, timeout_ms: u64) -> Vec<NativeDelivery> {
        self.queue.wait(Duration::from_millis(timeout_ms));
        let taken = self.queue.take(BATCH);
        taken.into_iter().filter_map(native).collect()
    }

    /// Whether the operation was running.
    pub fn cancel(&self, operation: u64) -> bool {
        self.queue.cancel(operation)
    }

    /// Answers a question with the JSON text of an answer.
    pub fn answer(&self, question: u64, request_id: String, answer: String) -> bool {
        let answer = answer_from_json(&request_id, &answer);
        self.queue.answer(question, answer)
    }

    /// Cancels everything and takes no further deliveries. Who waits returns.
    pub fn shut(&self) {
        self.queue.close();
    }

    /// Whether it was shut.
    pub fn is_shut(&self) -> bool {
        self.queue.is_closed()
    }

    /// Starts a load.
    pub fn load(&self, config: String, options: String, asks: bool) -> Result<u64, NativeFailure> {
        let config = Configuration::from_text(&config)?;
        let request = LoadRequest::new(config, &options)?.asking(asks);
        Ok(facade::load(&self.queue, request)?)
    }

    /// Starts to open a session.
    pub fn session(&self, options: String, asks: bool) -> Result<u64, NativeFailure> {
        let request = SessionRequest::new(&options, asks)?;
        Ok(facade::session(&self.queue, request)?)
    }

    /// Starts an inventory.
    pub fn inventory(
        &self,
        config: String,
        options: String,
        asks: bool,
    ) -> Result<u64, NativeFailure> {
        let config = Configuration::from_text(&config)?;
        let request = LoadRequest::new(config, &options)?.asking(asks);
        Ok(facade::inventory(&self.queue, request)?)
    }
}
