//! Tools, and their calls.

use std::ffi::c_char;
use std::ptr;
use std::slice;
use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::{Arguments, Error, RawJson};
use mcp_resident_facade::{CallOptions, Handles, Outcome};

use crate::boundary::{call, invalid, numbered, quiet, unknown};
use crate::error::mcpr_error;
use crate::queue::{self, mcpr_queue};
use crate::result::mcpr_result;
use crate::text::mcpr_text;

/// One tool of one server. Valid until its source is freed. 0 is none.
pub type mcpr_tool = u64;

static TOOLS: Handles<facade::Tool> = Handles::new();

pub(crate) fn hold(tool: &Arc<facade::Tool>) {
    TOOLS.insert_as(tool.id(), Arc::clone(tool));
}

pub(crate) fn let_go(tool: mcpr_tool) {
    TOOLS.release(tool);
}

pub(crate) fn count() -> usize {
    TOOLS.count()
}

fn find(tool: mcpr_tool) -> Result<Arc<facade::Tool>, Error> {
    TOOLS.find(tool).ok_or_else(|| unknown("tool", tool))
}

/// What mcpr_tool_text gives.
#[repr(C)]
pub enum mcpr_fact {
    /// The name for a model: at most 64 characters of `[A-Za-z0-9_-]`, unique in its source.
    Name = 0,
    /// What the tool does, in the server's words.
    Description = 1,
    /// The tool's title for people; no text when it has none.
    Title = 2,
    /// The server's name in the configuration.
    Server = 3,
    /// The tool's own name on its server.
    ServerTool = 4,
    /// JSON: the schema of arguments for a model, a closed object.
    InputSchema = 5,
    /// JSON: the schema of arguments as the server gave it.
    ServerSchema = 6,
    /// JSON: the schema of `structuredContent`; no text when there is none.
    OutputSchema = 7,
    /// JSON: the server's hints about the tool, which are claims and not facts; no text when there are none.
    Annotations = 8,
}

numbered!(mcpr_fact {
    Name,
    Description,
    Title,
    Server,
    ServerTool,
    InputSchema,
    ServerSchema,
    OutputSchema,
    Annotations
});

/// A fact about a tool. `fact` is one of mcpr_fact.
#[unsafe(no_mangle)]
pub extern "C" fn mcpr_tool_text(tool: mcpr_tool, fact: i32) -> mcpr_text {
    quiet(|| {
        let (Ok(tool), Ok(fact)) = (find(tool), mcpr_fact::of(fact)) else {
            return mcpr_text::default();
        };
        let text = match fact {
            mcpr_fact::Name => Some(tool.name()),
            mcpr_fact::Description => Some(tool.description()),
            mcpr_fact::Title => tool.title(),
            mcpr_fact::Server => Some(tool.server()),
            mcpr_fact::ServerTool => Some(tool.server_tool()),
            mcpr_fact::InputSchema => Some(tool.input_schema().as_str()),
            mcpr_fact::ServerSchema => Some(tool.server_schema().as_str()),
            mcpr_fact::OutputSchema => tool.output_schema().map(RawJson::as_str),
            mcpr_fact::Annotations => tool.annotations().map(RawJson::as_str),
        };
        text.into()
    })
}

/// Arguments as C passes them.
///
/// # Safety
/// `arguments` is NULL, or so many bytes that stay as they are for this call.
unsafe fn arguments_in(arguments: *const c_char, length: usize) -> Result<Arguments, Error> {
    if arguments.is_null() {
        return Ok(Arguments::none());
    }
    // SAFETY: the caller promises so many bytes, and it is not NULL.
    let bytes = unsafe { slice::from_raw_parts(arguments.cast::<u8>(), length) };
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("`arguments` is not UTF-8"))?;
    Ok(text.into())
}

/// How long the server may be silent: `timeout_ms`, or the server's own `timeout` for 0.
fn options(timeout_ms: f64, progress: bool) -> CallOptions {
    CallOptions::new((timeout_ms != 0.0).then_some(timeout_ms), progress)
}

/// Calls a tool and waits for the result. What a server did is never an error of this function: the result has it.
///
/// `arguments` is the JSON text of an object of `length` bytes, or NULL. `timeout_ms` is how long the server may be silent, in
/// milliseconds, rounded up and at least one; 0 takes the server's own `timeout`.
///
/// # Safety
/// `arguments` is NULL or has `length` bytes; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_tool_call(
    tool: mcpr_tool,
    arguments: *const c_char,
    length: usize,
    timeout_ms: f64,
    error: *mut *mut mcpr_error,
) -> *mut mcpr_result {
    // SAFETY: the caller promises what both need.
    let result = unsafe {
        call(error, || {
            let arguments = arguments_in(arguments, length)?;
            let tool = find(tool)?;
            let options = options(timeout_ms, false);
            match queue::outcome(|queue| tool.execute(queue, arguments, options))? {
                Outcome::Called(result) => Ok(Some(Box::new(mcpr_result(result)))),
                Outcome::Broken(error) => Err(error),
                _ => Err(invalid("a call ended as something else")),
            }
        })
    };
    result.map_or(ptr::null_mut(), Box::into_raw)
}

/// Starts the same; with `progress`, its progress arrives in the queue. Its completion is MCPR_KIND_CALLED. Returns the
/// operation.
///
/// # Safety
/// `arguments` is NULL or has `length` bytes; `error` is NULL or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_tool_call_start(
    queue: mcpr_queue,
    tool: mcpr_tool,
    arguments: *const c_char,
    length: usize,
    timeout_ms: f64,
    progress: bool,
    error: *mut *mut mcpr_error,
) -> u64 {
    // SAFETY: the caller promises what both need.
    unsafe {
        call(error, || {
            let arguments = arguments_in(arguments, length)?;
            let queue = queue::find(queue)?;
            find(tool)?.execute(&queue.queue, arguments, options(timeout_ms, progress))
        })
    }
}
