//! A batch of deliveries as one flat array: kind, id, and two values that depend on the kind.

use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::{RawJson, ToolResult};
use mcp_resident_facade::{Delivery, Outcome};
use napi::bindgen_prelude::{Array, JavaScriptClassExt, Result, ToNapiValue, TypeName};
use napi::{Env, ValueType, sys};
use napi_derive::napi;

use crate::error::{number, text};
use crate::session::{Exchange, Session};
use crate::source::Source;

/// Values in the array for one delivery.
const STRIDE: usize = 4;
/// Longer texts stay here until somebody reads them: 16 KiB.
const MAX_EAGER_BYTES: usize = 16 * 1024;

/// What a delivery is; the same numbers are in `lib/deliveries.cjs`.
#[derive(Clone, Copy)]
enum Kind {
    /// A call's output, and what the server sent.
    Called = 0,
    /// A call's result as an object: it failed, or there is more to say of it than its output.
    CallTold = 1,
    /// A value as JSON.
    Done = 2,
    /// An error as JSON.
    Failed = 3,
    /// A source, a session or an exchange.
    Loaded = 4,
    Progress = 5,
    Event = 6,
    Missed = 7,
    /// The load, and the request as JSON.
    Question = 8,
    QuestionEnded = 9,
}

/// What a server sent, too long to be copied unasked.
#[napi]
pub struct LongText {
    text: RawJson,
}

#[napi]
impl LongText {
    /// The text.
    #[napi]
    pub fn read(&self) -> &str {
        self.text.as_str()
    }
}

/// The result of a call of which there is more to say than its output.
#[napi]
pub struct ToldResult {
    result: ToolResult,
}

#[napi]
impl ToldResult {
    /// The text for a model.
    #[napi]
    pub fn output(&self) -> &str {
        &self.result.output
    }

    /// Whether the call failed.
    #[napi]
    pub fn is_error(&self) -> bool {
        self.result.is_error
    }

    /// JSON: facts about the call.
    #[napi]
    pub fn metadata(&self) -> String {
        text(&self.result.metadata)
    }

    /// What the server sent.
    #[napi]
    pub fn read(&self) -> Option<&str> {
        self.result.raw().map(RawJson::as_str)
    }
}

/// What has arrived, which becomes an array when it is handed to JavaScript.
#[derive(Default)]
pub struct Batch {
    pub(crate) deliveries: Vec<Delivery>,
    /// Where it arrived.
    pub(crate) queue: Option<Arc<facade::Queue>>,
}

impl TypeName for Batch {
    fn type_name() -> &'static str {
        "Array"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for Batch {
    unsafe fn to_napi_value(env: sys::napi_env, batch: Self) -> Result<sys::napi_value> {
        let env_of_batch = Env::from_raw(env);
        let length = u32::try_from(batch.deliveries.len() * STRIDE).unwrap_or(u32::MAX);
        let mut writer = Writer {
            env: &env_of_batch,
            array: env_of_batch.create_array(length)?,
            place: 0,
            queue: batch.queue,
        };
        for delivery in batch.deliveries {
            writer.add(delivery)?;
        }
        // SAFETY: the environment is the one that this was called with, on its thread.
        unsafe { Array::to_napi_value(env, writer.array) }
    }
}

struct Writer<'env> {
    env: &'env Env,
    array: Array<'env>,
    place: u32,
    queue: Option<Arc<facade::Queue>>,
}

impl Writer<'_> {
    fn add(&mut self, delivery: Delivery) -> Result<()> {
        match delivery {
            Delivery::Completed { operation, outcome } => self.completed(operation, outcome),
            Delivery::Progress { operation, params } => {
                self.put(Kind::Progress, operation, params.as_str(), ())
            }
            Delivery::Event {
                subscription,
                event,
            } => self.put(Kind::Event, subscription, text(&event), ()),
            Delivery::Missed {
                subscription,
                count,
            } => self.put(Kind::Missed, subscription, number(count), ()),
            Delivery::Question {
                question,
                load,
                request,
            } => self.put(Kind::Question, question, number(load), text(&request)),
            Delivery::QuestionEnded { question } => self.put(Kind::QuestionEnded, question, (), ()),
            // A kind that the other half does not know leaves its place empty.
            _ => Ok(()),
        }
    }

    fn completed(&mut self, operation: u64, outcome: Outcome) -> Result<()> {
        match outcome {
            Outcome::Called(result) => self.called(operation, result),
            Outcome::Loaded(Ok(source)) => {
                let Some(queue) = self.queue.clone() else {
                    return Ok(());
                };
                let source = Source { source, queue }.into_instance(self.env)?;
                self.put(Kind::Loaded, operation, source, ())
            }
            Outcome::Opened(Ok(session)) => {
                let Some(queue) = self.queue.clone() else {
                    return Ok(());
                };
                let session = Session { session, queue }.into_instance(self.env)?;
                self.put(Kind::Loaded, operation, session, ())
            }
            Outcome::Exchanged(Ok(exchange)) => {
                let Some(queue) = self.queue.clone() else {
                    return Ok(());
                };
                let exchange = Exchange { exchange, queue }.into_instance(self.env)?;
                self.put(Kind::Loaded, operation, exchange, ())
            }
            Outcome::Done(Ok(())) => self.put(Kind::Done, operation, (), ()),
            Outcome::Reached(Ok(state)) => self.put(Kind::Done, operation, text(&state), ()),
            Outcome::Listed(Ok(entries)) => self.put(Kind::Done, operation, text(&entries), ()),
            Outcome::Reloaded(Ok(changes)) => self.put(Kind::Done, operation, text(&changes), ()),
            Outcome::Loaded(Err(error))
            | Outcome::Done(Err(error))
            | Outcome::Reached(Err(error))
            | Outcome::Listed(Err(error))
            | Outcome::Opened(Err(error))
            | Outcome::Exchanged(Err(error))
            | Outcome::Reloaded(Err(error))
            | Outcome::Broken(error) => self.put(Kind::Failed, operation, text(&error), ()),
            _ => Ok(()),
        }
    }

    fn called(&mut self, operation: u64, result: ToolResult) -> Result<()> {
        if result.metadata.says_more() {
            let told = ToldResult { result }.into_instance(self.env)?;
            return self.put(Kind::CallTold, operation, told, ());
        }
        let output = result.output.as_str();
        match result.raw() {
            None => self.put(Kind::Called, operation, output, ()),
            Some(raw) if raw.as_str().len() <= MAX_EAGER_BYTES => {
                self.put(Kind::Called, operation, output, raw.as_str())
            }
            Some(raw) => {
                let text = LongText { text: raw.clone() }.into_instance(self.env)?;
                self.put(Kind::Called, operation, output, text)
            }
        }
    }

    fn put(
        &mut self,
        kind: Kind,
        id: u64,
        first: impl ToNapiValue,
        second: impl ToNapiValue,
    ) -> Result<()> {
        self.array.set(self.place, kind as u32)?;
        self.array.set(self.place + 1, number(id))?;
        self.array.set(self.place + 2, first)?;
        self.array.set(self.place + 3, second)?;
        self.place += 4;
        Ok(())
    }
}
