//! A source as the native half holds it: it starts operations and answers what is known at once.

use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::{Error, State};
use mcp_resident_facade::{Configuration, Interest, milliseconds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raised;
use crate::queue::Queue;
use crate::tool::Tool;
use crate::values;

/// The servers of a configuration.
#[pyclass(frozen, module = "mcp_resident._native")]
pub(crate) struct Source {
    pub(crate) source: Arc<facade::Source>,
}

#[pymethods]
impl Source {
    fn tools(&self) -> Vec<Tool> {
        let tools = self.source.tools();
        tools
            .iter()
            .map(|tool| Tool {
                tool: Arc::clone(tool),
            })
            .collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.source.tool(name).map(|tool| Tool { tool })
    }

    fn owner_of(&self, name: &str) -> Option<(String, String)> {
        self.source.owner_of(name)
    }

    fn name_of(&self, server: &str, tool: &str) -> Option<String> {
        self.source.name_of(server, tool)
    }

    fn servers(&self) -> Vec<String> {
        self.source.servers()
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::from_form(py, &self.source.status())
    }

    fn state(&self, py: Python<'_>, server: &str) -> PyResult<&'static str> {
        let state = self.source.state(server);
        state.map(State::as_str).map_err(|error| raised(py, &error))
    }

    fn info<'py>(&self, py: Python<'py>, server: &str) -> PyResult<Bound<'py, PyAny>> {
        let info = self.source.info(server);
        values::from_form(py, &info.map_err(|error| raised(py, &error))?)
    }

    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::from_form(py, &self.source.problems())
    }

    fn events<'py>(&self, py: Python<'py>, after: u64) -> PyResult<Bound<'py, PyAny>> {
        values::from_form(py, &self.source.events(after))
    }

    fn start(&self, py: Python<'_>, queue: &Queue, server: &str) -> PyResult<u64> {
        begun(py, self.source.start(&queue.queue, server))
    }

    fn stop(&self, py: Python<'_>, queue: &Queue, server: &str) -> PyResult<u64> {
        begun(py, self.source.stop(&queue.queue, server))
    }

    fn restart(&self, py: Python<'_>, queue: &Queue, server: &str) -> PyResult<u64> {
        begun(py, self.source.restart(&queue.queue, server))
    }

    fn refresh(&self, py: Python<'_>, queue: &Queue, server: Option<&str>) -> PyResult<u64> {
        begun(py, self.source.refresh(&queue.queue, server))
    }

    /// Takes a new configuration, or with none reads the file again.
    fn reload(
        &self,
        py: Python<'_>,
        queue: &Queue,
        config: Option<&str>,
        is_path: bool,
    ) -> PyResult<u64> {
        let config = config.map(|text| Configuration::given(text, is_path));
        let config = config.transpose().map_err(|error| raised(py, &error))?;
        begun(py, self.source.reload(&queue.queue, config))
    }

    fn wait_for(
        &self,
        py: Python<'_>,
        queue: &Queue,
        server: &str,
        states: Vec<String>,
        timeout_ms: f64,
    ) -> PyResult<u64> {
        let states: Result<Vec<State>, _> = states.iter().map(|name| name.parse()).collect();
        let states = states.map_err(|unknown| PyValueError::new_err(unknown.to_string()))?;
        let timeout = milliseconds(timeout_ms);
        begun(
            py,
            self.source.wait_for(&queue.queue, server, &states, timeout),
        )
    }

    fn close(&self, py: Python<'_>, queue: &Queue) -> PyResult<u64> {
        begun(py, self.source.close(&queue.queue))
    }

    /// Events of `interest` (`events`, `states`, `tools`) arrive in `queue` from now on.
    fn subscribe(&self, py: Python<'_>, queue: &Queue, interest: &str) -> PyResult<u64> {
        let interest = match interest {
            "states" => Interest::States,
            "tools" => Interest::Tools,
            _ => Interest::Everything,
        };
        begun(py, self.source.subscribe(&queue.queue, interest))
    }

    fn unsubscribe(&self, subscription: u64) {
        self.source.unsubscribe(subscription);
    }
}

pub(crate) fn begun(py: Python<'_>, id: Result<u64, Error>) -> PyResult<u64> {
    id.map_err(|error| raised(py, &error))
}
