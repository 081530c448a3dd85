//! The native half of the Python package: handles, conversions, and nothing that decides.
//!
//! What Python programs see is written in Python (`python/mcp_resident`). The I/O thread never touches an interpreter: it
//! writes a byte to a socket that the event loop reads, or wakes a thread that waits without the GIL.

#![forbid(unsafe_code)]

mod arguments;
mod error;
mod queue;
mod result;
mod session;
mod source;
mod tool;
mod values;

use std::time::Duration;

use mcp_resident_facade::codes;
use pyo3::prelude::*;

/// Closes every source of this process for an interpreter that ends; returns whether nothing is left.
#[pyfunction]
fn shut_down(py: Python<'_>, limit_ms: u64) -> bool {
    queue::leave_waiting_threads();
    py.detach(|| mcp_resident_facade::shut_down(Duration::from_millis(limit_ms)))
}

/// The JSON text of a value.
#[pyfunction]
fn to_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    arguments::to_json(value)
}

/// Every code of an error, and every kind of a failed call.
#[pyfunction]
fn error_codes() -> (Vec<&'static str>, Vec<&'static str>) {
    let codes = codes();
    (codes.errors, codes.failures)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<queue::Queue>()?;
    module.add_class::<source::Source>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Exchange>()?;
    module.add_class::<tool::Tool>()?;
    module.add_class::<result::ToolResult>()?;
    module.add_function(wrap_pyfunction!(shut_down, module)?)?;
    module.add_function(wrap_pyfunction!(to_json, module)?)?;
    module.add_function(wrap_pyfunction!(error_codes, module)?)
}
