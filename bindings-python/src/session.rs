//! Sessions and exchanges as the native half holds them.

use std::sync::Arc;

use mcp_resident_facade as facade;
use pyo3::prelude::*;

use crate::queue::Queue;
use crate::source::{Source, begun};
use crate::tool::Tool;
use crate::values;

/// The servers of a user and a project.
#[pyclass(frozen, module = "mcp_resident._native")]
pub(crate) struct Session {
    pub(crate) session: Arc<facade::Session>,
}

#[pymethods]
impl Session {
    fn source(&self) -> Source {
        Source {
            source: Arc::clone(self.session.source()),
        }
    }

    fn exchange(&self, py: Python<'_>, queue: &Queue) -> PyResult<u64> {
        begun(py, self.session.exchange(&queue.queue))
    }

    fn reload(&self, py: Python<'_>, queue: &Queue) -> PyResult<u64> {
        begun(py, self.session.reload(&queue.queue))
    }

    /// `choice` is JSON.
    fn trust(&self, py: Python<'_>, queue: &Queue, choice: &str) -> PyResult<u64> {
        begun(py, self.session.trust(&queue.queue, choice))
    }

    fn untrusted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::from_form(py, &self.session.untrusted())
    }
}

/// The tools of one exchange.
#[pyclass(frozen, module = "mcp_resident._native")]
pub(crate) struct Exchange {
    pub(crate) exchange: Arc<facade::Exchange>,
}

#[pymethods]
impl Exchange {
    fn tools(&self) -> Vec<Tool> {
        let tools = self.exchange.tools().iter().cloned();
        tools.map(|tool| Tool { tool }).collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.exchange.tool(name).map(|tool| Tool { tool })
    }
}
