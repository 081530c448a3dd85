//! Errors as Python exceptions: the classes are Python's own, one for each code.

use mcp_resident_facade::mcp_resident::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The exception that stands for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyResult<Py<PyAny>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = MAKE.import(py, "mcp_resident._errors", "from_code")?;
    let made = make.call1((error.kind().code(), error.server(), error.to_string()))?;
    Ok(made.unbind())
}

/// The same, to be raised.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match exception(py, error) {
        Ok(exception) => PyErr::from_value(exception.into_bound(py)),
        Err(error) => error,
    }
}
