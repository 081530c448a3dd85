//! One tool as the native half holds it.

use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::CallOptions;
use mcp_resident_facade::mcp_resident::RawJson;
use pyo3::prelude::*;

use crate::arguments::arguments;
use crate::error::raised;
use crate::queue::Queue;
use crate::values;

/// One tool of a source.
#[pyclass(frozen, module = "mcp_resident._native")]
pub(crate) struct Tool {
    pub(crate) tool: Arc<facade::Tool>,
}

#[pymethods]
impl Tool {
    #[getter]
    fn id(&self) -> u64 {
        self.tool.id()
    }

    #[getter]
    fn name(&self) -> &str {
        self.tool.name()
    }

    #[getter]
    fn description(&self) -> &str {
        self.tool.description()
    }

    #[getter]
    fn title(&self) -> Option<&str> {
        self.tool.title()
    }

    #[getter]
    fn server(&self) -> &str {
        self.tool.server()
    }

    #[getter]
    fn server_tool(&self) -> &str {
        self.tool.server_tool()
    }

    /// A schema by name, as a value.
    fn schema<'py>(&self, py: Python<'py>, which: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let schema = self.named_schema(which);
        schema.map(|json| values::from_json(py, json)).transpose()
    }

    /// A schema by name, as text.
    fn schema_json(&self, which: &str) -> Option<&str> {
        self.named_schema(which).map(RawJson::as_str)
    }

    /// Starts a call whose outcome arrives in `queue`.
    fn execute(
        &self,
        py: Python<'_>,
        queue: &Queue,
        given: Option<&Bound<'_, PyAny>>,
        timeout_ms: Option<f64>,
        progress: bool,
    ) -> PyResult<u64> {
        let options = CallOptions::new(timeout_ms, progress);
        self.tool
            .execute(&queue.queue, arguments(given)?, options)
            .map_err(|error| raised(py, &error))
    }
}

impl Tool {
    fn named_schema(&self, which: &str) -> Option<&RawJson> {
        match which {
            "input" => Some(self.tool.input_schema()),
            "server" => Some(self.tool.server_schema()),
            "output" => self.tool.output_schema(),
            "annotations" => self.tool.annotations(),
            _ => None,
        }
    }
}
