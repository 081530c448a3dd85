//! What every function that C calls goes through.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_resident_facade::mcp_resident::{Error, ErrorKind};

use crate::error::mcpr_error;

/// Runs the work of a function. What fails, a panic included, is left at `error`, and C gets nothing.
///
/// # Safety
/// `error` is NULL, or a place where a pointer may be written.
pub(crate) unsafe fn call<T: Default>(
    error: *mut *mut mcpr_error,
    work: impl FnOnce() -> Result<T, Error>,
) -> T {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let message =
            "the call failed inside of mcp-resident, which is a defect of it: please report it";
        Err(Error::new(ErrorKind::Internal, message))
    });
    match done {
        Ok(value) => value,
        Err(failure) => {
            if !error.is_null() {
                let failure = Box::into_raw(Box::new(mcpr_error::new(&failure)));
                // SAFETY: the caller promises that it is a place for a pointer, and it is not NULL.
                unsafe { error.write(failure) };
            }
            T::default()
        }
    }
}

/// The same for functions that cannot fail otherwise.
pub(crate) fn quiet<T: Default>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_default()
}

/// A text that C passed in.
///
/// # Safety
/// `text` is NULL, or a text that ends with NUL and stays as it is for this call.
pub(crate) unsafe fn text_in<'a>(text: *const c_char, name: &str) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(invalid(format!("`{name}` is NULL")));
    }
    // SAFETY: the caller promises that it ends with NUL, and it is not NULL.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| invalid(format!("`{name}` is not UTF-8")))
}

/// A text that may be NULL.
///
/// # Safety
/// As for [`text_in`].
pub(crate) unsafe fn optional_text_in<'a>(
    text: *const c_char,
    name: &str,
) -> Result<Option<&'a str>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises the same.
    unsafe { text_in(text, name) }.map(Some)
}

/// Something that the caller passed is not what the function takes.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message)
}

/// A number that is none of its kind, or not any more.
pub(crate) fn unknown(kind: &str, number: u64) -> Error {
    invalid(format!(
        "there is no {kind} {number}: it was never given, or has been freed"
    ))
}

/// What a number of C stands for: C may pass any, and a value of a Rust enumeration that is none of it must never exist.
macro_rules! numbered {
    ($name:ident { $($variant:ident),* }) => {
        impl $name {
            fn of(number: i32) -> Result<Self, mcp_resident_facade::mcp_resident::Error> {
                match number {
                    $(number if number == Self::$variant as i32 => Ok(Self::$variant),)*
                    _ => Err($crate::boundary::invalid(format!(
                        concat!("{} is not one of ", stringify!($name)),
                        number
                    ))),
                }
            }
        }
    };
}
pub(crate) use numbered;
