//! What a call gave, read as far as somebody looks.

use mcp_resident_facade::mcp_resident::{self, RawJson};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::values;

/// What a call gave: the text for a model, and everything that came with it.
#[pyclass(frozen, module = "mcp_resident")]
pub(crate) struct ToolResult {
    result: mcp_resident::ToolResult,
    metadata: PyOnceLock<Py<PyAny>>,
}

impl ToolResult {
    pub(crate) fn new(result: mcp_resident::ToolResult) -> Self {
        Self {
            result,
            metadata: PyOnceLock::new(),
        }
    }
}

#[pymethods]
impl ToolResult {
    /// The text for a model.
    #[getter]
    fn output(&self) -> &str {
        &self.result.output
    }

    /// Whether the call failed, for whatever reason.
    #[getter]
    fn is_error(&self) -> bool {
        self.result.is_error
    }

    /// `server`, `tool`, and `error` when it failed.
    #[getter]
    fn metadata(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let made = self.metadata.get_or_try_init(py, || {
            Ok::<_, PyErr>(values::from_form(py, &self.result.metadata)?.unbind())
        })?;
        Ok(made.clone_ref(py))
    }

    /// The blocks of `content` as the server sent them.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        part(py, self.result.content())
    }

    /// `structuredContent` as the server sent it.
    #[getter]
    fn structured_content<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        part(py, self.result.structured_content())
    }

    /// `_meta` as the server sent it.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        part(py, self.result.meta())
    }

    /// The whole result as the JSON text that the server sent; `None` when it sent none.
    #[getter]
    fn raw(&self) -> Option<&str> {
        self.result.raw().map(RawJson::as_str)
    }

    fn __repr__(&self) -> String {
        const SHOWN_CHARS: usize = 60;
        let mut output: String = self.result.output.chars().take(SHOWN_CHARS).collect();
        if output.len() < self.result.output.len() {
            output.push_str("...");
        }
        let is_error = if self.result.is_error {
            "True"
        } else {
            "False"
        };
        format!("ToolResult(output={output:?}, is_error={is_error})")
    }
}

fn part(py: Python<'_>, json: Option<RawJson>) -> PyResult<Option<Bound<'_, PyAny>>> {
    json.map(|json| values::from_json(py, &json)).transpose()
}
