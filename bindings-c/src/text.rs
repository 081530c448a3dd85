//! Texts on their way to C.

use std::ffi::c_char;
use std::ptr;
use std::slice;

use crate::boundary::quiet;

/// A text that belongs to who got it. `data` is NULL when there is none.
#[repr(C)]
pub struct mcpr_text {
    /// UTF-8, followed by a NUL.
    pub data: *mut c_char,
    /// The bytes before that NUL.
    pub length: usize,
}

impl Default for mcpr_text {
    fn default() -> Self {
        Self {
            data: ptr::null_mut(),
            length: 0,
        }
    }
}

impl From<&str> for mcpr_text {
    fn from(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        let bytes = Box::leak(bytes.into_boxed_slice());
        Self {
            data: bytes.as_mut_ptr().cast(),
            length: text.len(),
        }
    }
}

impl From<Option<&str>> for mcpr_text {
    fn from(text: Option<&str>) -> Self {
        text.map(Self::from).unwrap_or_default()
    }
}

impl mcpr_text {
    /// What the library gives in its JSON form.
    pub(crate) fn json(form: &(impl serde::Serialize + ?Sized)) -> Self {
        // Only a map with keys that are no strings cannot be written.
        Self::from(&*serde_json::to_string(form).unwrap_or_default())
    }
}

/// Gives a text back.
///
/// # Safety
/// `text` came from this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcpr_text_free(text: mcpr_text) {
    if !text.data.is_null() {
        // SAFETY: the caller promises that it came from here unchanged, so it is a box of so many bytes and a NUL.
        let bytes = unsafe {
            let bytes = slice::from_raw_parts_mut(text.data.cast::<u8>(), text.length + 1);
            Box::from_raw(bytes)
        };
        quiet(|| drop(bytes));
    }
}
