//! Errors as C holds them.

use std::ffi::{CString, c_char};
use std::ptr;

use mcp_resident_facade::mcp_resident::{Error, ErrorKind};

use crate::boundary::quiet;

/// Why something failed.
pub struct mcpr_error {
    kind: ErrorKind,
    code: CString,
    server: Option<CString>,
    message: CString,
}

impl mcpr_error {
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            code: without_nul(error.kind().code()),
            server: error.server().map(without_nul),
            message: without_nul(&error.to_string()),
        }
    }
}

fn without_nul(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Numbers of the codes of errors. They stay as they are; new ones are added at the end.
#[repr(C)]
pub enum mcpr_code {
    /// The configuration, or something else that was passed in, cannot be used.
    Config = 1,
    /// No server of this name is in the configuration.
    UnknownServer = 2,
    /// The server is switched off by its configuration.
    Disabled = 3,
    /// The program could not be started.
    Spawn = 4,
    /// The server could not be reached, or refused the connection.
    Connect = 5,
    /// The server asks for credentials that it was not given.
    NeedsAuth = 6,
    /// The server broke the protocol.
    Protocol = 7,
    /// The connection ended.
    Dropped = 8,
    /// A limit of time ran out.
    Timeout = 9,
    /// The caller cancelled.
    Cancelled = 10,
    /// The source was closed.
    Closed = 11,
    /// The process was forked after it had loaded servers.
    Forked = 12,
    /// A defect of this library, or a code that this version has no number for.
    Internal = 13,
}

/// The number of an error's code; 0 for NULL.
///
/// # Safety
/// `error` is NULL or an error that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_error_number(error: *const mcpr_error) -> i32 {
    // SAFETY: the caller promises that it is an error that lives.
    let Some(error) = (unsafe { error.as_ref() }) else {
        return 0;
    };
    let number = match error.kind {
        ErrorKind::Config => mcpr_code::Config,
        ErrorKind::UnknownServer => mcpr_code::UnknownServer,
        ErrorKind::Disabled => mcpr_code::Disabled,
        ErrorKind::Spawn => mcpr_code::Spawn,
        ErrorKind::Connect => mcpr_code::Connect,
        ErrorKind::NeedsAuth => mcpr_code::NeedsAuth,
        ErrorKind::Protocol => mcpr_code::Protocol,
        ErrorKind::Dropped => mcpr_code::Dropped,
        ErrorKind::Timeout => mcpr_code::Timeout,
        ErrorKind::Cancelled => mcpr_code::Cancelled,
        ErrorKind::Closed => mcpr_code::Closed,
        ErrorKind::Forked => mcpr_code::Forked,
        _ => mcpr_code::Internal,
    };
    number as i32
}

/// The stable code of an error, such as `unknown_server`: the same in every language. It lives as long as the error.
///
/// # Safety
/// `error` is NULL or an error that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_error_code(error: *const mcpr_error) -> *const c_char {
    // SAFETY: the caller promises that it is an error that lives.
    unsafe { error.as_ref() }.map_or(ptr::null(), |error| error.code.as_ptr())
}

/// The server that failed, or NULL when no server did. It lives as long as the error.
///
/// # Safety
/// `error` is NULL or an error that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_error_server(error: *const mcpr_error) -> *const c_char {
    // SAFETY: the caller promises that it is an error that lives.
    let server = unsafe { error.as_ref() }.and_then(|error| error.server.as_ref());
    server.map_or(ptr::null(), |server| server.as_ptr())
}

/// One line that says what happened and what to do. It lives as long as the error.
///
/// # Safety
/// `error` is NULL or an error that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_error_message(error: *const mcpr_error) -> *const c_char {
    // SAFETY: the caller promises that it is an error that lives.
    unsafe { error.as_ref() }.map_or(ptr::null(), |error| error.message.as_ptr())
}

/// Gives an error back.
///
/// # Safety
/// `error` is NULL or an error that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_error_free(error: *mut mcpr_error) {
    if !error.is_null() {
        // SAFETY: the caller promises that it came from here and is freed once.
        let error = unsafe { Box::from_raw(error) };
        quiet(|| drop(error));
    }
}
