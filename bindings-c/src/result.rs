//! Results of calls.

use mcp_resident_facade::mcp_resident::{RawJson, ToolResult};

use crate::boundary::quiet;
use crate::text::mcpr_text;

/// What a call gave.
pub struct mcpr_result(pub(crate) ToolResult);

/// Whether the call failed, for whatever reason.
///
/// # Safety
/// `result` is NULL or a result that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_result_is_error(result: *const mcpr_result) -> bool {
    // SAFETY: the caller promises that it is a result that lives.
    unsafe { result.as_ref() }.is_none_or(|result| result.0.is_error)
}

/// The text for a model.
///
/// # Safety
/// `result` is NULL or a result that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_result_output(result: *const mcpr_result) -> mcpr_text {
    // SAFETY: the caller promises that it is a result that lives.
    let result = unsafe { result.as_ref() };
    quiet(|| result.map(|result| &*result.0.output).into())
}

/// JSON: `{"server", "tool"}`, and `"error"` with `kind`, `executed`, `message`, `code`, `data`, `exit`, `stderrTail` as far as
/// they apply.
///
/// # Safety
/// `result` is NULL or a result that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_result_metadata(result: *const mcpr_result) -> mcpr_text {
    // SAFETY: the caller promises that it is a result that lives.
    let result = unsafe { result.as_ref() };
    quiet(|| {
        result.map_or_else(mcpr_text::default, |result| {
            mcpr_text::json(&result.0.metadata)
        })
    })
}

/// The whole result as the JSON text that the server sent; no text when it sent none.
///
/// # Safety
/// `result` is NULL or a result that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_result_raw(result: *const mcpr_result) -> mcpr_text {
    // SAFETY: the caller promises that it is a result that lives.
    let result = unsafe { result.as_ref() };
    quiet(|| {
        let raw = result.and_then(|result| result.0.raw());
        raw.map(RawJson::as_str).into()
    })
}

/// Gives a result back.
///
/// # Safety
/// `result` is NULL or a result that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_result_free(result: *mut mcpr_result) {
    if !result.is_null() {
        // SAFETY: the caller promises that it came from here and is freed once.
        let result = unsafe { Box::from_raw(result) };
        quiet(|| drop(result));
    }
}
