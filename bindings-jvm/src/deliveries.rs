//! What a queue hands over, as the JVM sees it.

use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::Outcome;
use mcp_resident_facade::mcp_resident::RawJson;

use crate::error::{NativeFailure, json};
use crate::session::{NativeExchange, NativeSession};
use crate::source::NativeSource;

/// One thing that a host is told.
#[derive(uniffi::Enum)]
pub enum NativeDelivery {
    /// A load has ended well.
    Loaded {
        /// The load.
        operation: u64,
        /// What it gave.
        source: Arc<NativeSource>,
    },
    /// A session was opened.
    Opened {
        /// The operation.
        operation: u64,
        /// What it gave.
        session: Arc<NativeSession>,
    },
    /// An exchange has begun.
    Exchanged {
        /// The operation.
        operation: u64,
        /// What it gave.
        exchange: Arc<NativeExchange>,
    },
    /// A call has ended.
    Called {
        /// The call.
        operation: u64,
        /// The text for a model.
        output: String,
        /// Whether it failed.
        is_error: bool,
        /// Who was called and why it failed, as JSON.
        metadata: String,
        /// The whole result as the server sent it.
        raw: Option<String>,
    },
    /// Another operation has ended well.
    Done {
        /// The operation.
        operation: u64,
        /// Its value as JSON.
        value: Option<String>,
    },
    /// An operation has failed.
    Failed {
        /// The operation.
        operation: u64,
        /// The stable code.
        code: String,
        /// The server that failed.
        server: Option<String>,
        /// One line that says what happened.
        detail: String,
    },
    /// A call has made progress.
    Progress {
        /// The call.
        operation: u64,
        /// The params of the notification as JSON.
        params: String,
    },
    /// Something happened to a server.
    Event {
        /// The subscription.
        subscription: u64,
        /// The event as JSON.
        event: String,
    },
    /// Events were left out because too many were waiting.
    Missed {
        /// The subscription.
        subscription: u64,
        /// How many.
        count: u64,
    },
    /// A server asks a person.
    Question {
        /// Names the question.
        question: u64,
        /// The id of the request.
        request_id: String,
        /// The request as JSON.
        request: String,
    },
    /// A question needs no answer any more.
    QuestionEnded {
        /// Which one.
        question: u64,
    },
}

/// None for what this version does not know.
pub(crate) fn native(delivery: facade::Delivery) -> Option<NativeDelivery> {
    Some(match delivery {
        facade::Delivery::Completed { operation, outcome } => return completed(operation, outcome),
        facade::Delivery::Progress { operation, params } => NativeDelivery::Progress {
            operation,
            params: params.as_str().to_owned(),
        },
        facade::Delivery::Event {
            subscription,
            event,
        } => NativeDelivery::Event {
            subscription,
            event: json(&event),
        },
        facade::Delivery::Missed {
            subscription,
            count,
        } => NativeDelivery::Missed {
            subscription,
            count,
        },
        facade::Delivery::Question {
            question, request, ..
        } => NativeDelivery::Question {
            question,
            request_id: request.id.clone(),
            request: json(&request),
        },
        facade::Delivery::QuestionEnded { question } => NativeDelivery::QuestionEnded { question },
        _ => return None,
    })
}

fn completed(operation: u64, outcome: Outcome) -> Option<NativeDelivery> {
    let done = |value| NativeDelivery::Done { operation, value };
    Some(match outcome {
        Outcome::Loaded(Ok(source)) => NativeDelivery::Loaded {
            operation,
            source: Arc::new(NativeSource { source }),
        },
        Outcome::Called(result) => NativeDelivery::Called {
            operation,
            is_error: result.is_error,
            metadata: json(&result.metadata),
            raw: result.raw().map(RawJson::as_str).map(str::to_owned),
            output: result.output,
        },
        Outcome::Opened(Ok(session)) => NativeDelivery::Opened {
            operation,
            session: Arc::new(NativeSession { session }),
        },
        Outcome::Exchanged(Ok(exchange)) => NativeDelivery::Exchanged {
            operation,
            exchange: Arc::new(NativeExchange { exchange }),
        },
        Outcome::Done(Ok(())) => done(None),
        Outcome::Reached(Ok(state)) => done(Some(json(&state))),
        Outcome::Listed(Ok(entries)) => done(Some(json(&entries))),
        Outcome::Reloaded(Ok(changes)) => done(Some(json(&changes))),
        Outcome::Loaded(Err(error))
        | Outcome::Done(Err(error))
        | Outcome::Reached(Err(error))
        | Outcome::Listed(Err(error))
        | Outcome::Opened(Err(error))
        | Outcome::Exchanged(Err(error))
        | Outcome::Reloaded(Err(error))
        | Outcome::Broken(error) => {
            let NativeFailure::Failed {
                code,
                server,
                detail,
            } = error.into();
            NativeDelivery::Failed {
                operation,
                code,
                server,
                detail,
            }
        }
        _ => return None,
    })
}
