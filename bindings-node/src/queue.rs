//! The queue of one JavaScript environment.

use std::sync::{Arc, OnceLock, Weak};

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::Error;
use mcp_resident_facade::{Configuration, LoadRequest, SessionRequest, answer_from_json};
use napi::bindgen_prelude::{Function, Result};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

use crate::deliveries::Batch;
use crate::error::{id, number, thrown};

/// Deliveries that are taken in one go.
const BATCH: usize = 256;

/// Where outcomes, events and questions arrive.
#[napi]
pub struct Queue {
    pub(crate) queue: Arc<facade::Queue>,
}

#[napi]
impl Queue {
    /// `wake` is called on the environment's thread with what has arrived. It does not keep the process alive.
    #[napi(constructor)]
    pub fn new(wake: Function<'_, Batch, ()>) -> Result<Self> {
        let made: Arc<OnceLock<Weak<facade::Queue>>> = Arc::default();
        let woken = Arc::clone(&made);
        let wake = wake
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .callee_handled::<false>()
            // The batch goes along with the call: who is woken need not ask for it.
            .build_callback(move |_| {
                let queue = woken.get().and_then(Weak::upgrade);
                Ok(queue.map_or_else(Batch::default, |queue| batch(&queue)))
            })?;
        let queue = facade::Queue::with_waker(move || {
            // An environment that is going away takes no more calls.
            wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        });
        // Only set here.
        let _ = made.set(Arc::downgrade(&queue));
        Ok(Self { queue })
    }

    /// What has arrived since; take until it comes back with less than a full batch.
    #[napi]
    pub fn take(&self) -> Batch {
        batch(&self.queue)
    }

    /// Whether the operation was running.
    #[napi]
    pub fn cancel(&self, operation: f64) -> bool {
        self.queue.cancel(id(operation))
    }

    /// Answers a question with the JSON text of an answer.
    #[napi]
    pub fn answer(&self, question: f64, request: String, answer: String) -> bool {
        let answer = answer_from_json(&request, &answer);
        self.queue.answer(id(question), answer)
    }

    /// Cancels everything and takes no further deliveries.
    #[napi]
    pub fn close(&self) {
        self.queue.close();
    }

    /// Starts a load.
    #[napi]
    pub fn load(&self, config: String, is_path: bool, options: String, asks: bool) -> Result<f64> {
        let operation = request(&config, is_path, &options, asks)
            .and_then(|request| facade::load(&self.queue, request));
        operation.map(number).map_err(|error| thrown(&error))
    }

    /// Starts to open a session.
    #[napi]
    pub fn session(&self, options: String, asks: bool) -> Result<f64> {
        let operation = SessionRequest::new(&options, asks)
            .and_then(|request| facade::session(&self.queue, request));
        operation.map(number).map_err(|error| thrown(&error))
    }

    /// Starts an inventory.
    #[napi]
    pub fn inventory(
        &self,
        config: String,
        is_path: bool,
        options: String,
        asks: bool,
    ) -> Result<f64> {
        let operation = request(&config, is_path, &options, asks)
            .and_then(|request| facade::inventory(&self.queue, request));
        operation.map(number).map_err(|error| thrown(&error))
    }
}

/// The sources of a queue hold it, so that whatever they start arrives there.
fn batch(queue: &Arc<facade::Queue>) -> Batch {
    Batch {
        deliveries: queue.take(BATCH),
        queue: Some(Arc::clone(queue)),
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.queue.close();
    }
}

fn request(
    config: &str,
    is_path: bool,
    options: &str,
    asks: bool,
) -> std::result::Result<LoadRequest, Error> {
    let config = Configuration::given(config, is_path)?;
    Ok(LoadRequest::new(config, options)?.asking(asks))
}
