//! What a queue hands over.

use std::ptr;

use mcp_resident_facade::mcp_resident::Error;
use mcp_resident_facade::{Delivery, Outcome};

use crate::boundary::quiet;
use crate::error::mcpr_error;
use crate::result::mcpr_result;
use crate::session::{self, mcpr_exchange, mcpr_session};
use crate::source::{self, mcpr_source};
use crate::text::mcpr_text;

/// What a delivery is.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub enum mcpr_kind {
    /// Nothing that this version knows.
    #[default]
    Unknown = 0,
    /// A load has ended well: mcpr_delivery_source has the source.
    Loaded = 1,
    /// A call has ended: mcpr_delivery_result has the result.
    Called = 2,
    /// Another operation has ended well: mcpr_delivery_json has the value, when it has one.
    Done = 3,
    /// An operation has failed: mcpr_delivery_error says why.
    Failed = 4,
    /// A call has made progress: mcpr_delivery_json has the params of the notification.
    Progress = 5,
    /// Something happened to a server: mcpr_delivery_json has the event.
    Event = 6,
    /// Events were left out because too many were waiting: mcpr_delivery_json has how many. The source's history has them.
    Missed = 7,
    /// A server asks a person: mcpr_delivery_json has the request, and mcpr_delivery_load the load that it is about.
    Question = 8,
    /// A question needs no answer any more.
    QuestionEnded = 9,
    /// A session was opened: mcpr_delivery_session has it.
    Opened = 10,
    /// An exchange has begun: mcpr_delivery_exchange has it.
    Exchanged = 11,
}

/// One thing that a host is told.
pub struct mcpr_delivery {
    kind: mcpr_kind,
    id: u64,
    load: u64,
    json: Option<String>,
    result: Option<Box<mcpr_result>>,
    source: Untaken,
    session: UntakenSession,
    exchange: UntakenExchange,
    error: Option<Error>,
}

/// A source that is closed when nobody takes it.
struct Untaken(mcpr_source);

impl Drop for Untaken {
    fn drop(&mut self) {
        if self.0 != 0 {
            source::let_go(self.0);
        }
    }
}

/// A session that is closed when nobody takes it.
struct UntakenSession(mcpr_session);

impl Drop for UntakenSession {
    fn drop(&mut self) {
        if self.0 != 0 {
            session::let_go(self.0);
        }
    }
}

/// An exchange that is freed when nobody takes it.
struct UntakenExchange(mcpr_exchange);

impl Drop for UntakenExchange {
    fn drop(&mut self) {
        if self.0 != 0 {
            session::let_go_exchange(self.0);
        }
    }
}

impl mcpr_delivery {
    pub(crate) fn new(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Completed { operation, outcome } => Self::completed(operation, outcome),
            Delivery::Progress { operation, params } => Self {
                json: Some(params.as_str().to_owned()),
                ..Self::of(mcpr_kind::Progress, operation)
            },
            Delivery::Event {
                subscription,
                event,
            } => Self {
                json: json(&event),
                ..Self::of(mcpr_kind::Event, subscription)
            },
            Delivery::Missed {
                subscription,
                count,
            } => Self {
                json: json(&count),
                ..Self::of(mcpr_kind::Missed, subscription)
            },
            Delivery::Question {
                question,
                load,
                request,
            } => Self {
                json: json(&request),
                load,
                ..Self::of(mcpr_kind::Question, question)
            },
            Delivery::QuestionEnded { question } => Self::of(mcpr_kind::QuestionEnded, question),
            _ => Self::of(mcpr_kind::Unknown, 0),
        }
    }

    fn completed(operation: u64, outcome: Outcome) -> Self {
        match outcome {
            Outcome::Loaded(Ok(loaded)) => Self {
                source: Untaken(source::hold(loaded)),
                ..Self::of(mcpr_kind::Loaded, operation)
            },
            Outcome::Called(result) => Self {
                result: Some(Box::new(mcpr_result(result))),
                ..Self::of(mcpr_kind::Called, operation)
            },
            Outcome::Opened(Ok(opened)) => Self {
                session: UntakenSession(session::hold(opened)),
                ..Self::of(mcpr_kind::Opened, operation)
            },
            Outcome::Exchanged(Ok(exchange)) => Self {
                exchange: UntakenExchange(session::hold_exchange(exchange)),
                ..Self::of(mcpr_kind::Exchanged, operation)
            },
            Outcome::Done(Ok(())) => Self::of(mcpr_kind::Done, operation),
            Outcome::Reached(Ok(state)) => Self {
                json: json(&state),
                ..Self::of(mcpr_kind::Done, operation)
            },
            Outcome::Listed(Ok(entries)) => Self {
                json: json(&entries),
                ..Self::of(mcpr_kind::Done, operation)
            },
            Outcome::Reloaded(Ok(changes)) => Self {
                json: json(&changes),
                ..Self::of(mcpr_kind::Done, operation)
            },
            Outcome::Loaded(Err(error))
            | Outcome::Done(Err(error))
            | Outcome::Reached(Err(error))
            | Outcome::Listed(Err(error))
            | Outcome::Opened(Err(error))
            | Outcome::Exchanged(Err(error))
            | Outcome::Reloaded(Err(error))
            | Outcome::Broken(error) => Self {
                error: Some(error),
                ..Self::of(mcpr_kind::Failed, operation)
            },
            _ => Self::of(mcpr_kind::Unknown, operation),
        }
    }

    fn of(kind: mcpr_kind, id: u64) -> Self {
        Self {
            kind,
            id,
            load: 0,
            json: None,
            result: None,
            source: Untaken(0),
            session: UntakenSession(0),
            exchange: UntakenExchange(0),
            error: None,
        }
    }
}

fn json(form: &impl serde::Serialize) -> Option<String> {
    // Only a map with keys that are no strings cannot be written.
    serde_json::to_string(form).ok()
}

/// What it is.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_kind(delivery: *const mcpr_delivery) -> mcpr_kind {
    // SAFETY: the caller promises that it is a delivery that lives.
    unsafe { delivery.as_ref() }.map_or(mcpr_kind::Unknown, |delivery| delivery.kind)
}

/// The operation, subscription or question that it belongs to.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_id(delivery: *const mcpr_delivery) -> u64 {
    // SAFETY: the caller promises that it is a delivery that lives.
    unsafe { delivery.as_ref() }.map_or(0, |delivery| delivery.id)
}

/// Of a question: the load whose host is asked.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_load(delivery: *const mcpr_delivery) -> u64 {
    // SAFETY: the caller promises that it is a delivery that lives.
    unsafe { delivery.as_ref() }.map_or(0, |delivery| delivery.load)
}

/// Its value as JSON; no text when it has none.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_json(delivery: *const mcpr_delivery) -> mcpr_text {
    // SAFETY: the caller promises that it is a delivery that lives.
    let delivery = unsafe { delivery.as_ref() };
    quiet(|| {
        delivery
            .and_then(|delivery| delivery.json.as_deref())
            .into()
    })
}

/// Takes the source out: it belongs to the caller from now on. 0 when there is none, or it was taken.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed, and that no other thread uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_source(delivery: *mut mcpr_delivery) -> mcpr_source {
    // SAFETY: the caller promises that it is a delivery that lives, and that nobody else uses it.
    unsafe { delivery.as_mut() }.map_or(0, |delivery| std::mem::take(&mut delivery.source.0))
}

/// Takes the session out: it belongs to the caller from now on. 0 when there is none, or it was taken.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed, and that no other thread uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_session(delivery: *mut mcpr_delivery) -> mcpr_session {
    // SAFETY: the caller promises that it is a delivery that lives, and that nobody else uses it.
    unsafe { delivery.as_mut() }.map_or(0, |delivery| std::mem::take(&mut delivery.session.0))
}

/// Takes the exchange out: it belongs to the caller from now on. 0 when there is none, or it was taken.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed, and that no other thread uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_exchange(delivery: *mut mcpr_delivery) -> mcpr_exchange {
    // SAFETY: the caller promises that it is a delivery that lives, and that nobody else uses it.
    unsafe { delivery.as_mut() }.map_or(0, |delivery| std::mem::take(&mut delivery.exchange.0))
}

/// Takes the result out: it belongs to the caller from now on. NULL when there is none, or it was taken.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed, and that no other thread uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_result(delivery: *mut mcpr_delivery) -> *mut mcpr_result {
    // SAFETY: the caller promises that it is a delivery that lives, and that nobody else uses it.
    let result = unsafe { delivery.as_mut() }.and_then(|delivery| delivery.result.take());
    result.map_or(ptr::null_mut(), Box::into_raw)
}

/// Takes the error out: it belongs to the caller from now on. NULL when there is none, or it was taken.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed, and that no other thread uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_error(delivery: *mut mcpr_delivery) -> *mut mcpr_error {
    // SAFETY: the caller promises that it is a delivery that lives, and that nobody else uses it.
    let error = unsafe { delivery.as_mut() }.and_then(|delivery| delivery.error.take());
    error.map_or(ptr::null_mut(), |error| {
        Box::into_raw(Box::new(mcpr_error::new(&error)))
    })
}

/// Gives a delivery back, with whatever was not taken out of it.
///
/// # Safety
/// `delivery` is NULL or a delivery that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_delivery_free(delivery: *mut mcpr_delivery) {
    if !delivery.is_null() {
        // SAFETY: the caller promises that it came from here and is freed once.
        let delivery = unsafe { Box::from_raw(delivery) };
        quiet(|| drop(delivery));
    }
}
