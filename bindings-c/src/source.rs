//! Sources: the servers of a configuration.

use std::collections::HashSet;
use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::{Error, State};
use mcp_resident_facade::{Configuration, Handles, Interest, OperationId, Outcome, milliseconds};

use crate::boundary::{call, invalid, numbered, optional_text_in, quiet, text_in, unknown};
use crate::error::mcpr_error;
use crate::queue::{self, mcpr_queue};
use crate::text::mcpr_text;
use crate::tool::{self, mcpr_tool};

/// The servers of a configuration. 0 is none.
pub type mcpr_source = u64;

static SOURCES: Handles<Source> = Handles::new();

/// A source, and the tools of it that C was given.
pub(crate) struct Source {
    pub(crate) source: Arc<facade::Source>,
    tools: Mutex<HashSet<mcpr_tool>>,
}

impl Source {
    fn hold_tool(&self, tool: &Arc<facade::Tool>) -> mcpr_tool {
        let number = tool.id();
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if tools.insert(number) {
            tool::hold(tool);
        }
        number
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let tools = self.tools.get_mut();
        for tool in tools.unwrap_or_else(PoisonError::into_inner).iter() {
            tool::let_go(*tool);
        }
    }
}

/// Takes a source in.
pub(crate) fn hold(source: Arc<facade::Source>) -> mcpr_source {
    SOURCES.insert(Arc::new(Source {
        source,
        tools: Mutex::default(),
    }))
}

/// Forgets a source, which closes it in the background if it is open.
pub(crate) fn let_go(source: mcpr_source) {
    SOURCES.release(source);
}

/// The number under which C has this source; 0 when it has none any more.
pub(crate) fn number_of(source: &Arc<facade::Source>) -> mcpr_source {
    SOURCES.number_of(|held| Arc::ptr_eq(&held.source, source))
}

/// Takes a tool of a source in. 0 when the source was freed.
pub(crate) fn hold_tool(source: mcpr_source, tool: &Arc<facade::Tool>) -> mcpr_tool {
    find(source).map_or(0, |found| found.hold_tool(tool))
}

/// How many sources and tools there are.
pub(crate) fn count() -> usize {
    SOURCES.count() + tool::count()
}

fn find(source: mcpr_source) -> Result<Arc<Source>, Error> {
    SOURCES
        .find(source)
        .ok_or_else(|| unknown("source", source))
}

/// Gives a source and its tools back. One that is open is closed in the background.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_source_free(source: mcpr_source) {
    quiet(|| let_go(source));
}

/// Writes the numbers of the tools, as they are now, to `tools`, at most `capacity` of them, and returns how many there are.
/// The numbers are valid until the source is freed, and a tool keeps its number as long as its definition stays the same.
///
/// # Safety
/// `tools` is NULL, or a place for `capacity` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_tools(
    source: mcpr_source,
    tools: *mut mcpr_tool,
    capacity: usize,
) -> usize {
    quiet(|| {
        let Ok(found) = find(source) else { return 0 };
        let list = found.source.tools();
        if !tools.is_null() {
            for (place, tool) in list.iter().take(capacity).enumerate() {
                // SAFETY: the caller promises room for `capacity` numbers, and the place is below that.
                unsafe { tools.add(place).write(found.hold_tool(tool)) };
            }
        }
        list.len()
    })
}

/// The tool that a model knows by this name; 0 when there is none. Valid until the source is freed.
///
/// # Safety
/// `name` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_tool(source: mcpr_source, name: *const c_char) -> mcpr_tool {
    quiet(|| {
        // SAFETY: the caller promises that it ends with NUL.
        let (Ok(name), Ok(found)) = (unsafe { text_in(name, "name") }, find(source)) else {
            return 0;
        };
        found
            .source
            .tool(name)
            .map_or(0, |tool| found.hold_tool(&tool))
    })
}

/// What mcpr_source_json gives.
#[repr(C)]
pub enum mcpr_view {
    /// How the newest attempt of each server ended: an object.
    Status = 0,
    /// The names of all servers, in the order of the configuration: a list.
    Servers = 1,
    /// Everything that is known of each tool: a list.
    Tools = 2,
    /// What is wrong in the configuration: a list.
    Problems = 3,
}

numbered!(mcpr_view {
    Status,
    Servers,
    Tools,
    Problems
});

/// What is known of a source, as JSON. `view` is one of mcpr_view.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_source_json(source: mcpr_source, view: i32) -> mcpr_text {
    quiet(|| {
        let (Ok(found), Ok(view)) = (find(source), mcpr_view::of(view)) else {
            return mcpr_text::default();
        };
        match view {
            mcpr_view::Status => mcpr_text::json(&found.source.status()),
            mcpr_view::Servers => mcpr_text::json(&found.source.servers()),
            mcpr_view::Tools => {
                let tools = found.source.tools();
                let tools: Vec<&facade::mcp_resident::Tool> =
                    tools.iter().map(|tool| &***tool).collect();
                mcpr_text::json(&tools)
            }
            mcpr_view::Problems => mcpr_text::json(&found.source.problems()),
        }
    })
}

/// A server's state: `stopped`, `starting`, `running` or `error`.
///
/// # Safety
/// `server` ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_state(
    source: mcpr_source,
    server: *const c_char,
    error: *mut *mut mcpr_error,
) -> mcpr_text {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let server = text_in(server, "server")?;
            Ok(find(source)?.source.state(server)?.as_str().into())
        })
    }
}

/// JSON: what is known of a server: `state`, `status`, `generation`, `restarts`, `processId`, `lastError` and more.
///
/// # Safety
/// `server` ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_info(
    source: mcpr_source,
    server: *const c_char,
    error: *mut *mut mcpr_error,
) -> mcpr_text {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let server = text_in(server, "server")?;
            Ok(mcpr_text::json(&find(source)?.source.info(server)?))
        })
    }
}

/// JSON: the newest events after a sequence, oldest first; 0 gives all that are kept.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_source_events(source: mcpr_source, after: u64) -> mcpr_text {
    quiet(|| {
        find(source).map_or_else(
            |_| mcpr_text::default(),
            |found| mcpr_text::json(&found.source.events(after)),
        )
    })
}

/// JSON: `[server, tool]` behind a name for models; no text when the name was never given.
///
/// # Safety
/// `name` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_owner_of(
    source: mcpr_source,
    name: *const c_char,
) -> mcpr_text {
    quiet(|| {
        // SAFETY: the caller promises that it ends with NUL.
        let (Ok(name), Ok(found)) = (unsafe { text_in(name, "name") }, find(source)) else {
            return mcpr_text::default();
        };
        let owner = found.source.owner_of(name);
        owner.map_or_else(mcpr_text::default, |owner| mcpr_text::json(&owner))
    })
}

/// The name for models of a server's tool; no text when it has none.
///
/// # Safety
/// The texts end with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_name_of(
    source: mcpr_source,
    server: *const c_char,
    tool: *const c_char,
) -> mcpr_text {
    quiet(|| {
        // SAFETY: the caller promises that both end with NUL.
        let texts = unsafe { (text_in(server, "server"), text_in(tool, "tool")) };
        let (Ok(server), Ok(tool), Ok(found)) = (texts.0, texts.1, find(source)) else {
            return mcpr_text::default();
        };
        found.source.name_of(server, tool).as_deref().into()
    })
}

/// What is done to a server, or to all.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum mcpr_action {
    /// Connects it, unless that is done or under way.
    Start = 0,
    /// Disconnects it and waits until nothing of it is left.
    Stop = 1,
    /// Disconnects it and connects it again. Calls that run fail at once.
    Restart = 2,
    /// Lists its tools again; without a server, those of all that are connected.
    Refresh = 3,
    /// Closes the whole source and waits until nothing of it is left. Closing again is harmless.
    Close = 4,
}

numbered!(mcpr_action {
    Start,
    Stop,
    Restart,
    Refresh,
    Close
});

fn begin(
    source: &facade::Source,
    queue: &Arc<facade::Queue>,
    action: mcpr_action,
    server: Option<&str>,
) -> Result<OperationId, Error> {
    let named = || server.ok_or_else(|| invalid("`server` is NULL"));
    match action {
        mcpr_action::Start => source.start(queue, named()?),
        mcpr_action::Stop => source.stop(queue, named()?),
        mcpr_action::Restart => source.restart(queue, named()?),
        mcpr_action::Refresh => source.refresh(queue, server),
        mcpr_action::Close => source.close(queue),
    }
}

/// Does something to a server and waits for it. `action` is one of mcpr_action; `server` may be NULL where the action does not need one.
///
/// # Safety
/// `server` is NULL or ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_do(
    source: mcpr_source,
    action: i32,
    server: *const c_char,
    error: *mut *mut mcpr_error,
) -> bool {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let (action, server) = (
                mcpr_action::of(action)?,
                optional_text_in(server, "server")?,
            );
            let found = find(source)?;
            match queue::outcome(|queue| begin(&found.source, queue, action, server))? {
                Outcome::Done(done) => done.map(|()| true),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("the action ended as something else")),
            }
        })
    }
}

/// Starts the same. Its completion is MCPR_KIND_DONE or MCPR_KIND_FAILED. Returns the operation.
///
/// # Safety
/// `server` is NULL or ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_do_start(
    queue: mcpr_queue,
    source: mcpr_source,
    action: i32,
    server: *const c_char,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let (action, server) = (
                mcpr_action::of(action)?,
                optional_text_in(server, "server")?,
            );
            begin(
                &find(source)?.source,
                &queue::find(queue)?.queue,
                action,
                server,
            )
        })
    }
}

/// Takes a new configuration in the place of the one that is there and waits as the load did; with NULL, reads the file
/// again that was loaded. What is started in the same way keeps its connection. Returns JSON: `{"added", "removed",
/// "restarted", "adjusted"}`, each the names of servers; no text with an error, and then nothing has changed unless the
/// error is `cancelled`.
///
/// # Safety
/// `config` is NULL or ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_reload(
    source: mcpr_source,
    config: *const c_char,
    error: *mut *mut mcpr_error,
) -> mcpr_text {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let config = configuration(config)?;
            let found = find(source)?;
            match queue::outcome(|queue| found.source.reload(queue, config))? {
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
/// `config` is NULL or ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_reload_start(
    queue: mcpr_queue,
    source: mcpr_source,
    config: *const c_char,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let config = configuration(config)?;
            let queue = queue::find(queue)?;
            find(source)?.source.reload(&queue.queue, config)
        })
    }
}

/// # Safety
/// `config` is NULL or ends with NUL.
unsafe fn configuration(config: *const c_char) -> Result<Option<Configuration>, Error> {
    // SAFETY: the caller promises that it is NULL or ends with NUL.
    let text = unsafe { optional_text_in(config, "config")? };
    text.map(Configuration::from_text).transpose()
}

/// Starts to wait until a server is in one of the states of `states`, which are separated by commas, for at most `timeout_ms`.
/// Its completion is MCPR_KIND_DONE with the state as JSON, or MCPR_KIND_FAILED. Returns the operation.
///
/// # Safety
/// The texts end with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_wait_for_start(
    queue: mcpr_queue,
    source: mcpr_source,
    server: *const c_char,
    states: *const c_char,
    timeout_ms: f64,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let server = text_in(server, "server")?;
            let states = states_named(text_in(states, "states")?)?;
            let timeout = milliseconds(timeout_ms);
            let queue = queue::find(queue)?;
            find(source)?
                .source
                .wait_for(&queue.queue, server, &states, timeout)
        })
    }
}

/// Waits for the same, and returns the state.
///
/// # Safety
/// The texts end with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_wait_for(
    source: mcpr_source,
    server: *const c_char,
    states: *const c_char,
    timeout_ms: f64,
    error: *mut *mut mcpr_error,
) -> mcpr_text {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let server = text_in(server, "server")?;
            let states = states_named(text_in(states, "states")?)?;
            let timeout = milliseconds(timeout_ms);
            let found = find(source)?;
            let wait =
                |queue: &Arc<facade::Queue>| found.source.wait_for(queue, server, &states, timeout);
            match queue::outcome(wait)? {
                Outcome::Reached(state) => Ok(state?.as_str().into()),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("the wait ended as something else")),
            }
        })
    }
}

fn states_named(names: &str) -> Result<Vec<State>, Error> {
    let states: Result<Vec<State>, _> = names.split(',').map(|name| name.trim().parse()).collect();
    states.map_err(|unknown| invalid(unknown.to_string()))
}

/// Which events a subscription is about.
#[repr(C)]
pub enum mcpr_interest {
    /// All of them.
    Everything = 0,
    /// Changes of a server's state.
    States = 1,
    /// Changes of a server's part of the tool list.
    Tools = 2,
}

numbered!(mcpr_interest {
    Everything,
    States,
    Tools
});

/// Events of a source arrive in a queue from now on. `interest` is one of mcpr_interest. Returns the subscription.
///
/// # Safety
/// `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_subscribe(
    queue: mcpr_queue,
    source: mcpr_source,
    interest: i32,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises that it is NULL or a place for a pointer.
    unsafe {
        call(error, || {
            let interest = match mcpr_interest::of(interest)? {
                mcpr_interest::Everything => Interest::Everything,
                mcpr_interest::States => Interest::States,
                mcpr_interest::Tools => Interest::Tools,
            };
            let queue = queue::find(queue)?;
            find(source)?.source.subscribe(&queue.queue, interest)
        })
    }
}

/// Ends a subscription. What was delivered before may still wait in the queue.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_source_unsubscribe(source: mcpr_source, subscription: u64) {
    quiet(|| {
        if let Ok(found) = find(source) {
            found.source.unsubscribe(subscription);
        }
    });
}

/// Replaces the variables that servers started from now on see: a JSON object of texts. For hosts that keep a copy of the
/// environment of their own; without this it is that of the process.
///
/// # Safety
/// `variables` ends with NUL; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_source_set_environment(
    source: mcpr_source,
    variables: *const c_char,
    error: *mut *mut mcpr_error,
) -> bool {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let text = text_in(variables, "variables")?;
            let variables: std::collections::HashMap<String, String> =
                serde_json::from_str(text)
                    .map_err(|_| invalid("`variables` must be a JSON object of texts"))?;
            find(source)?.source.set_environment(variables);
            Ok(true)
        })
    }
}
