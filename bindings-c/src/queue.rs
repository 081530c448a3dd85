//! Queues: where outcomes, events and questions arrive.

use std::collections::VecDeque;
use std::ffi::c_char;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::Error;
use mcp_resident_facade::{
    Configuration, Delivery, Handles, LoadRequest, OperationId, Outcome, answer_from_json,
};

use crate::boundary::{call, invalid, quiet, text_in, unknown};
use crate::delivery::mcpr_delivery;
use crate::error::mcpr_error;
use crate::session;
use crate::source::{self, mcpr_source};
use crate::text::mcpr_text;

/// Where outcomes, events and questions arrive. 0 is none.
pub type mcpr_queue = u64;

/// Deliveries that are taken from the facade in one go.
const BATCH: usize = 256;

static QUEUES: Handles<Queue> = Handles::new();

/// A queue, and what was taken from it in one go and not handed over yet.
pub(crate) struct Queue {
    pub(crate) queue: Arc<facade::Queue>,
    taken: Mutex<VecDeque<Delivery>>,
}

impl Queue {
    /// The next delivery, if one comes in time.
    fn next(&self, timeout: Duration) -> Option<Delivery> {
        let end = Instant::now().checked_add(timeout);
        loop {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            if taken.is_empty() {
                taken.extend(self.queue.take(BATCH));
            }
            if let Some(delivery) = taken.pop_front() {
                return Some(delivery);
            }
            drop(taken);
            let left = end.map_or(timeout, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() || self.queue.is_closed() {
                return None;
            }
            self.queue.wait(left);
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// The queue of a number.
pub(crate) fn find(queue: mcpr_queue) -> Result<Arc<Queue>, Error> {
    QUEUES.find(queue).ok_or_else(|| unknown("queue", queue))
}

/// How many queues there are.
pub(crate) fn count() -> usize {
    QUEUES.count()
}

/// The outcome of one operation, on a queue that only it uses.
pub(crate) fn outcome(
    start: impl FnOnce(&Arc<facade::Queue>) -> Result<OperationId, Error>,
) -> Result<Outcome, Error> {
    let queue = facade::Queue::blocking();
    start(&queue)?;
    loop {
        queue.wait(Duration::from_secs(3_600));
        for delivery in queue.take(BATCH) {
            if let Delivery::Completed { outcome, .. } = delivery {
                return Ok(outcome);
            }
        }
    }
}

/// A new queue. mcpr_queue_free gives it back.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_queue_new() -> mcpr_queue {
    quiet(|| {
        QUEUES.insert(Arc::new(Queue {
            queue: facade::Queue::blocking(),
            taken: Mutex::default(),
        }))
    })
}

/// Cancels what runs on a queue, and gives it back. Who waits for it gets nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_queue_free(queue: mcpr_queue) {
    quiet(|| {
        if let Some(found) = QUEUES.find(queue) {
            found.queue.close();
        }
        QUEUES.release(queue);
    });
}

/// The next delivery, for which it waits at most `timeout_ms` milliseconds; NULL when none came, or the queue was freed.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_queue_next(queue: mcpr_queue, timeout_ms: u64) -> *mut mcpr_delivery {
    let next = quiet(|| {
        let delivery = find(queue).ok()?.next(Duration::from_millis(timeout_ms))?;
        Some(Box::new(mcpr_delivery::new(delivery)))
    });
    next.map_or(ptr::null_mut(), Box::into_raw)
}

/// What mcpr_queue_run calls: `user` is the number that it was given, and `delivery` is valid during the call only.
pub type mcpr_callback = Option<unsafe extern "C" fn(user: u64, delivery: *mut mcpr_delivery)>;

/// Calls `callback` for each delivery, on this thread, until the queue is freed.
///
/// # Safety
/// `callback` may be called until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_queue_run(queue: mcpr_queue, callback: mcpr_callback, user: u64) {
    const FOR_EVER: Duration = Duration::from_secs(3_600);
    let (Some(callback), Ok(found)) = (callback, quiet(|| find(queue).ok()).ok_or(())) else {
        return;
    };
    while !found.queue.is_closed() {
        let next = quiet(|| found.next(FOR_EVER).map(mcpr_delivery::new).map(Box::new));
        if let Some(mut delivery) = next {
            // SAFETY: the caller promises that it may be called, and the delivery lives until it returns.
            unsafe { callback(user, &raw mut *delivery) };
            quiet(|| drop(delivery));
        }
    }
}

/// Cancels an operation that was started on this queue. Its completion still comes. Returns whether it was running.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_queue_cancel(queue: mcpr_queue, operation: u64) -> bool {
    quiet(|| find(queue).is_ok_and(|found| found.queue.cancel(operation)))
}

/// How many operations were started on this queue and are not completed.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_queue_running(queue: mcpr_queue) -> usize {
    quiet(|| find(queue).map_or(0, |found| found.queue.running()))
}

/// Answers a question. `request_id` is the `id` of its request; `answer` is JSON: `{"ok": true, "data": ...}` or `{"ok": false,
/// "reason": "declined"}`. Anything else refuses. Returns whether the question was open.
///
/// # Safety
/// The texts end with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_queue_answer(
    queue: mcpr_queue,
    question: u64,
    request_id: *const c_char,
    answer: *const c_char,
) -> bool {
    quiet(|| {
        // SAFETY: the caller promises that both end with NUL.
        let texts = unsafe { (text_in(request_id, "request_id"), text_in(answer, "answer")) };
        let (Ok(request_id), Ok(answer), Ok(found)) = (texts.0, texts.1, find(queue)) else {
            return false;
        };
        let answer = answer_from_json(request_id, answer);
        found.queue.answer(question, answer)
    })
}

/// A load as C describes it.
///
/// # Safety
/// The texts are NULL or end with NUL.
unsafe fn request(
    config: *const c_char,
    options: *const c_char,
    asks: bool,
) -> Result<LoadRequest, Error> {
    // SAFETY: the caller promises that they end with NUL.
    let (config, options) = unsafe {
        let options = if options.is_null() {
            "{}"
        } else {
            text_in(options, "options")?
        };
        (text_in(config, "config")?, options)
    };
    let config = Configuration::from_text(config)?;
    Ok(LoadRequest::new(config, options)?.asking(asks))
}

/// Starts what takes a configuration.
///
/// # Safety
/// The texts are NULL or end with NUL; `error` is NULL or a place for a pointer.
unsafe fn start_on(
    queue: mcpr_queue,
    config: *const c_char,
    options: *const c_char,
    asks: bool,
    error: *mut *mut mcpr_error,
    start: fn(&Arc<facade::Queue>, LoadRequest) -> Result<OperationId, Error>,
) -> OperationId {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let request = request(config, options, asks)?;
            start(&find(queue)?.queue, request)
        })
    }
}

/// Loads a configuration and waits for it. `config` is the path of a file, or JSON that begins with `{`; `options` is a JSON
/// object (see the documentation of options), or NULL. The source belongs to the caller: mcpr_source_do with MCPR_ACTION_CLOSE closes it, and
/// mcpr_source_free gives it back. Questions of servers need a queue: mcpr_load_start.
///
/// # Safety
/// The texts end with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_load(
    config: *const c_char,
    options: *const c_char,
    error: *mut *mut mcpr_error,
) -> mcpr_source {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let request = request(config, options, false)?;
            match outcome(|queue| facade::load(queue, request))? {
                Outcome::Loaded(loaded) => Ok(source::hold(loaded?)),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("a load ended as something else")),
            }
        })
    }
}

/// Starts a load; with `asks`, questions of its servers arrive in the queue. Its completion is MCPR_KIND_LOADED or
/// MCPR_KIND_FAILED. Returns the operation.
///
/// # Safety
/// The texts end with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_load_start(
    queue: mcpr_queue,
    config: *const c_char,
    options: *const c_char,
    asks: bool,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what it needs.
    unsafe { start_on(queue, config, options, asks, error, facade::load) }
}

/// Connects every server that is not disabled, lists its tools under their own names, and disconnects. JSON: a list of
/// `{"server", "status", "error", "tools"}`.
///
/// # Safety
/// The texts end with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_inventory(
    config: *const c_char,
    options: *const c_char,
    error: *mut *mut mcpr_error,
) -> mcpr_text {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let request = request(config, options, false)?;
            match outcome(|queue| facade::inventory(queue, request))? {
                Outcome::Listed(entries) => Ok(mcpr_text::json(&entries?)),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("an inventory ended as something else")),
            }
        })
    }
}

/// Starts an inventory. Its completion is MCPR_KIND_DONE with the list, or MCPR_KIND_FAILED. Returns the operation.
///
/// # Safety
/// The texts end with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_inventory_start(
    queue: mcpr_queue,
    config: *const c_char,
    options: *const c_char,
    asks: bool,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what it needs.
    unsafe { start_on(queue, config, options, asks, error, facade::inventory) }
}

/// Closes every source of this process, for a host that ends, and waits at most so long until nothing of the library runs.
/// Returns whether nothing does.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_shut_down(limit_ms: u64) -> bool {
    quiet(|| facade::shut_down(Duration::from_millis(limit_ms)))
}

/// JSON: `{"errors": [...], "failures": [...]}`, every code of an error and every kind of a failed call.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_codes() -> mcpr_text {
    quiet(|| {
        let codes = facade::codes();
        mcpr_text::json(&serde_json::json!({ "errors": codes.errors, "failures": codes.failures }))
    })
}

/// How many queues, sources and tools have not been given back: for tests of leaks.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_open_handles() -> usize {
    quiet(|| count() + source::count() + session::count())
}

/// The version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
