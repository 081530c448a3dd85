//! A batch of deliveries as one flat array: kind, id, and two values that depend on the kind.

use mcp_resident_facade::mcp_resident::{RawJson, ToolResult};
use mcp_resident_facade::{Delivery, Outcome};
use napi::Env;
use napi::bindgen_prelude::{Array, JavaScriptClassExt, Result, ToNapiValue};
use napi_derive::napi;

use crate::error::{number, text};
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
    /// A failed call's output, and the rest as JSON.
    CallFailed = 1,
    /// A value as JSON.
    Done = 2,
    /// An error as JSON.
    Failed = 3,
    /// A source.
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

/// The array of a batch.
pub(crate) fn array(env: &Env, deliveries: Vec<Delivery>) -> Result<Array<'_>> {
    let length = u32::try_from(deliveries.len() * STRIDE).unwrap_or(u32::MAX);
    let mut batch = Batch {
        env,
        array: env.create_array(length)?,
        place: 0,
    };
    for delivery in deliveries {
        batch.add(delivery)?;
    }
    Ok(batch.array)
}

struct Batch<'env> {
    env: &'env Env,
    array: Array<'env>,
    place: u32,
}

impl Batch<'_> {
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
            Outcome::Called(result) => self.called(operation, &result),
            Outcome::Loaded(Ok(source)) => {
                let source = Source { source }.into_instance(self.env)?;
                self.put(Kind::Loaded, operation, source, ())
            }
            Outcome::Done(Ok(())) => self.put(Kind::Done, operation, (), ()),
            Outcome::Reached(Ok(state)) => self.put(Kind::Done, operation, text(&state), ()),
            Outcome::Listed(Ok(entries)) => self.put(Kind::Done, operation, text(&entries), ()),
            Outcome::Loaded(Err(error))
            | Outcome::Done(Err(error))
            | Outcome::Reached(Err(error))
            | Outcome::Listed(Err(error))
            | Outcome::Broken(error) => self.put(Kind::Failed, operation, text(&error), ()),
            _ => Ok(()),
        }
    }

    fn called(&mut self, operation: u64, result: &ToolResult) -> Result<()> {
        let output = result.output.as_str();
        if let Some(error) = &result.metadata.error {
            let rest = (error, result.raw().map(RawJson::as_str));
            return self.put(Kind::CallFailed, operation, output, text(&rest));
        }
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
