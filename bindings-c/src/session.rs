//! Sessions: the servers of a user and a project, used over many exchanges with a model.

use std::ffi::c_char;
use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::Error;
use mcp_resident_facade::{Handles, Outcome, SessionRequest};

use crate::boundary::{call, invalid, quiet, text_in, unknown};
use crate::error::mcpr_error;
use crate::queue::{self, mcpr_queue};
use crate::source::{self, mcpr_source};
use crate::text::mcpr_text;
use crate::tool::mcpr_tool;

/// The servers of a user and a project. 0 is none.
pub type mcpr_session = u64;

/// The tools of one exchange, which stay as they are. 0 is none.
pub type mcpr_exchange = u64;

static SESSIONS: Handles<Session> = Handles::new();
static EXCHANGES: Handles<Exchange> = Handles::new();

/// A session and the number of its source.
struct Session {
    session: Arc<facade::Session>,
    source: mcpr_source,
}

impl Drop for Session {
    fn drop(&mut self) {
        source::let_go(self.source);
    }
}

struct Exchange {
    exchange: Arc<facade::Exchange>,
    source: mcpr_source,
}

/// Takes a session in.
pub(crate) fn hold(session: Arc<facade::Session>) -> mcpr_session {
    let source = source::hold(Arc::clone(session.source()));
    SESSIONS.insert(Arc::new(Session { session, source }))
}

/// Takes an exchange in, whose tools belong to its session's source.
pub(crate) fn hold_exchange(exchange: Arc<facade::Exchange>) -> mcpr_exchange {
    let source = exchange.source();
    let source = source.map_or(0, |source| source::number_of(&source));
    EXCHANGES.insert(Arc::new(Exchange { exchange, source }))
}

pub(crate) fn let_go(session: mcpr_session) {
    SESSIONS.release(session);
}

pub(crate) fn let_go_exchange(exchange: mcpr_exchange) {
    EXCHANGES.release(exchange);
}

/// How many sessions and exchanges there are.
pub(crate) fn count() -> usize {
    SESSIONS.count() + EXCHANGES.count()
}

fn find(session: mcpr_session) -> Result<Arc<Session>, Error> {
    SESSIONS
        .find(session)
        .ok_or_else(|| unknown("session", session))
}

/// Opens a session and waits until its files are read; its servers are connected in the background. `options` is a JSON object: `baseDir` and
/// `projectTrust` have to be given, see the documentation of options. The session belongs to the caller: its source is closed with
/// mcpr_source_do and MCPR_ACTION_CLOSE, and mcpr_session_free gives both back. Questions of servers need a queue:
/// mcpr_session_open_start.
///
/// # Safety
/// `options` ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_session_open(
    options: *const c_char,
    error: *mut *mut mcpr_error,
) -> mcpr_session {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let request = SessionRequest::new(text_in(options, "options")?, false)?;
            match queue::outcome(|queue| facade::session(queue, request))? {
                Outcome::Opened(opened) => Ok(hold(opened?)),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("a session opened as something else")),
            }
        })
    }
}

/// Starts the same; with `asks`, questions of its servers arrive in the queue. Its completion is MCPR_KIND_OPENED or
/// MCPR_KIND_FAILED. Returns the operation.
///
/// # Safety
/// `options` ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_session_open_start(
    queue: mcpr_queue,
    options: *const c_char,
    asks: bool,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let request = SessionRequest::new(text_in(options, "options")?, asks)?;
            facade::session(&queue::find(queue)?.queue, request)
        })
    }
}

/// Gives a session and its source back. One that is open is closed in the background.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_session_free(session: mcpr_session) {
    quiet(|| let_go(session));
}

/// The session's servers, for everything that is done to them. It belongs to the session and is not freed by itself. 0 when the session is
/// not known.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_session_source(session: mcpr_session) -> mcpr_source {
    quiet(|| find(session).map_or(0, |found| found.source))
}

/// Begins an exchange and waits for it: for servers that are new or changed. The exchange belongs to the caller; 0 with an error.
///
/// # Safety
/// `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_session_exchange(
    session: mcpr_session,
    error: *mut *mut mcpr_error,
) -> mcpr_exchange {
    // SAFETY: the caller promises what it needs.
    unsafe {
        call(error, || {
            let found = find(session)?;
            match queue::outcome(|queue| found.session.exchange(queue))? {
                Outcome::Exchanged(exchange) => Ok(hold_exchange(exchange?)),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("an exchange began as something else")),
            }
        })
    }
}

/// Starts the same. Its completion is MCPR_KIND_EXCHANGED or MCPR_KIND_FAILED. Returns the operation.
///
/// # Safety
/// `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_session_exchange_start(
    queue: mcpr_queue,
    session: mcpr_session,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what it needs.
    unsafe {
        call(error, || {
            let queue = queue::find(queue)?;
            find(session)?.session.exchange(&queue.queue)
        })
    }
}

/// Has the session read its files again, and waits for it. With `choice`, it first decides anew what of the project's file may be started:
/// JSON, `"all"`, `"nothing"` or a list of fingerprints. Returns JSON as mcpr_source_reload does; no text with an error.
///
/// # Safety
/// `choice` is NULL or ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_session_reload(
    session: mcpr_session,
    choice: *const c_char,
    error: *mut *mut mcpr_error,
) -> mcpr_text {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let choice = optional(choice)?;
            let found = find(session)?;
            match queue::outcome(|queue| reload(&found.session, queue, choice))? {
                Outcome::Reloaded(changes) => Ok(mcpr_text::json(&changes?)),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("the reload ended as something else")),
            }
        })
    }
}

/// Starts the same. Its completion is MCPR_KIND_DONE with that JSON, or MCPR_KIND_FAILED. Returns the operation.
///
/// # Safety
/// `choice` is NULL or ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_session_reload_start(
    queue: mcpr_queue,
    session: mcpr_session,
    choice: *const c_char,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let choice = optional(choice)?;
            let queue = queue::find(queue)?;
            reload(&find(session)?.session, &queue.queue, choice)
        })
    }
}

fn reload(
    session: &facade::Session,
    queue: &Arc<facade::Queue>,
    choice: Option<&str>,
) -> Result<facade::OperationId, Error> {
    match choice {
        Some(choice) => session.trust(queue, choice),
        None => session.reload(queue),
    }
}

/// # Safety
/// `text` is NULL or ends with NUL.
unsafe fn optional<'a>(text: *const c_char) -> Result<Option<&'a str>, Error> {
    // SAFETY: the caller promises that it is NULL or ends with NUL.
    unsafe { crate::boundary::optional_text_in(text, "choice") }
}

/// JSON: what the project's file would start and is not trusted, a list of `{"name", "launchLine", "fingerprint"}`.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_session_untrusted(session: mcpr_session) -> mcpr_text {
    quiet(|| match find(session) {
        Ok(found) => mcpr_text::json(&found.session.untrusted()),
        Err(_) => mcpr_text::default(),
    })
}

/// Gives an exchange back. Its tools stay valid until the session is freed.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_exchange_free(exchange: mcpr_exchange) {
    quiet(|| let_go_exchange(exchange));
}

/// Writes the numbers of the tools to declare to the model to `tools`, at most `capacity` of them, and returns how many there are. They are valid
/// until the session is freed.
///
/// # Safety
/// `tools` is NULL, or a place for `capacity` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_exchange_tools(
    exchange: mcpr_exchange,
    tools: *mut mcpr_tool,
    capacity: usize,
) -> usize {
    quiet(|| {
        let Some(found) = EXCHANGES.find(exchange) else {
            return 0;
        };
        let list = found.exchange.tools();
        if !tools.is_null() {
            for (place, tool) in list.iter().take(capacity).enumerate() {
                let number = source::hold_tool(found.source, tool);
                // SAFETY: the caller promises room for `capacity` numbers, and the place is below that.
                unsafe { tools.add(place).write(number) };
            }
        }
        list.len()
    })
}

/// A tool by its name for models, hidden and deferred ones included; 0 when there is none. Valid until the session is freed.
///
/// # Safety
/// `name` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_exchange_tool(
    exchange: mcpr_exchange,
    name: *const c_char,
) -> mcpr_tool {
    quiet(|| {
        // SAFETY: the caller promises that it ends with NUL.
        let name = unsafe { text_in(name, "name") };
        let (Ok(name), Some(found)) = (name, EXCHANGES.find(exchange)) else {
            return 0;
        };
        let tool = found.exchange.tool(name);
        tool.map_or(0, |tool| source::hold_tool(found.source, &tool))
    })
}
