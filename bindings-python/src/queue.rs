//! The queue as an event loop or a waiting thread sees it.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use mcp_resident_facade as facade;
use mcp_resident_facade::{
    Configuration, Delivery, LoadRequest, Outcome, SessionRequest, answer_from_json,
};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::{exception, raised};
use crate::result::ToolResult;
use crate::session::{Exchange, Session};
use crate::source::Source;
use crate::values;

/// Deliveries that are taken in one go.
const BATCH: usize = 256;

/// The thread on which the interpreter ends, once it does.
static ENDING: Mutex<Option<ThreadId>> = Mutex::new(None);

/// From now on no other thread comes back from a wait into an interpreter that is going away, which would end the process
/// by a signal.
pub(crate) fn leave_waiting_threads() {
    *ENDING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(thread::current().id());
}

fn stay_if_the_interpreter_ends() {
    let ending = *ENDING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if ending.is_some_and(|thread| thread != thread::current().id()) {
        loop {
            thread::park();
        }
    }
}

/// What a delivery is; the same numbers are in `_deliveries.py`.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Completed = 0,
    Failed = 1,
    Progress = 2,
    Event = 3,
    Missed = 4,
    Question = 5,
    QuestionEnded = 6,
}

/// Where outcomes, events and questions arrive.
#[pyclass(frozen, module = "mcp_resident._native")]
pub(crate) struct Queue {
    pub(crate) queue: Arc<facade::Queue>,
    /// The end of the socket that becomes readable; none for a queue that a thread waits for.
    readable: Option<UnixStream>,
}

#[pymethods]
impl Queue {
    /// With `blocking`, a thread waits for it; otherwise an event loop watches `fileno`.
    #[new]
    fn new(blocking: bool) -> PyResult<Self> {
        if blocking {
            return Ok(Self {
                queue: facade::Queue::blocking(),
                readable: None,
            });
        }
        let (readable, writable) = UnixStream::pair()?;
        readable.set_nonblocking(true)?;
        writable.set_nonblocking(true)?;
        let queue = facade::Queue::with_waker(move || {
            // Full, it is readable already; closed, nobody reads.
            let _ = (&writable).write(&[1]);
        });
        Ok(Self {
            queue,
            readable: Some(readable),
        })
    }

    fn fileno(&self) -> Option<i32> {
        self.readable.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// What has arrived, as tuples of kind, id and value.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        if let Some(mut readable) = self.readable.as_ref() {
            let mut woken = [0; 64];
            while matches!(readable.read(&mut woken), Ok(count) if count == woken.len()) {}
        }
        let list = PyList::empty(py);
        loop {
            let taken = self.queue.take(BATCH);
            let last = taken.len() < BATCH;
            for delivery in taken {
                if let Some(tuple) = tuple(py, delivery)? {
                    list.append(tuple)?;
                }
            }
            if last {
                return Ok(list);
            }
        }
    }

    /// Waits without the GIL until something has arrived or the time is over.
    fn wait(&self, py: Python<'_>, timeout_ms: u64) -> bool {
        py.detach(|| {
            let arrived = self.queue.wait(Duration::from_millis(timeout_ms));
            stay_if_the_interpreter_ends();
            arrived
        })
    }

    fn cancel(&self, operation: u64) -> bool {
        self.queue.cancel(operation)
    }

    /// Answers a question with the JSON text of an answer.
    fn answer(&self, question: u64, id: &str, answer: &str) -> bool {
        self.queue.answer(question, answer_from_json(id, answer))
    }

    fn close(&self) {
        self.queue.close();
    }

    /// How many operations run that were started here.
    fn running(&self) -> usize {
        self.queue.running()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn load(
        &self,
        py: Python<'_>,
        config: &str,
        is_path: bool,
        options: &str,
        asks: bool,
    ) -> PyResult<u64> {
        request(config, is_path, options, asks)
            .and_then(|request| facade::load(&self.queue, request))
            .map_err(|error| raised(py, &error))
    }

    fn session(&self, py: Python<'_>, options: &str, asks: bool) -> PyResult<u64> {
        SessionRequest::new(options, asks)
            .and_then(|request| facade::session(&self.queue, request))
            .map_err(|error| raised(py, &error))
    }

    fn inventory(
        &self,
        py: Python<'_>,
        config: &str,
        is_path: bool,
        options: &str,
        asks: bool,
    ) -> PyResult<u64> {
        request(config, is_path, options, asks)
            .and_then(|request| facade::inventory(&self.queue, request))
            .map_err(|error| raised(py, &error))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.queue.close();
    }
}

fn request(
    config: &str,
    is_path: bool,
    options: &str,
    asks: bool,
) -> Result<LoadRequest, facade::mcp_resident::Error> {
    let config = Configuration::given(config, is_path)?;
    Ok(LoadRequest::new(config, options)?.asking(asks))
}

/// A kind that this version does not know is left out.
fn tuple(py: Python<'_>, delivery: Delivery) -> PyResult<Option<Bound<'_, PyTuple>>> {
    let (kind, id, value) = match delivery {
        Delivery::Completed { operation, outcome } => {
            let (kind, value) = completed(py, outcome)?;
            (kind, operation, value)
        }
        Delivery::Progress { operation, params } => {
            let params = values::from_json(py, &params)?.unbind();
            (Kind::Progress, operation, params)
        }
        Delivery::Event {
            subscription,
            event,
        } => {
            let event = values::from_form(py, &event)?.unbind();
            (Kind::Event, subscription, event)
        }
        Delivery::Missed {
            subscription,
            count,
        } => (Kind::Missed, subscription, into_object(py, count)?),
        Delivery::Question {
            question,
            load,
            request,
        } => {
            let asked = (load, values::from_form(py, &request)?);
            let asked = asked.into_pyobject(py)?.into_any().unbind();
            (Kind::Question, question, asked)
        }
        Delivery::QuestionEnded { question } => (Kind::QuestionEnded, question, py.None()),
        _ => return Ok(None),
    };
    (kind as u8, id, value).into_pyobject(py).map(Some)
}

fn completed(py: Python<'_>, outcome: Outcome) -> PyResult<(Kind, Py<PyAny>)> {
    let value = match outcome {
        Outcome::Called(result) => Ok(Py::new(py, ToolResult::new(result))?.into_any()),
        Outcome::Loaded(Ok(source)) => Ok(Py::new(py, Source { source })?.into_any()),
        Outcome::Opened(Ok(session)) => Ok(Py::new(py, Session { session })?.into_any()),
        Outcome::Exchanged(Ok(exchange)) => Ok(Py::new(py, Exchange { exchange })?.into_any()),
        Outcome::Done(Ok(())) => Ok(py.None()),
        Outcome::Reached(Ok(state)) => Ok(into_object(py, state.as_str())?),
        Outcome::Listed(Ok(entries)) => Ok(values::from_form(py, &entries)?.unbind()),
        Outcome::Reloaded(Ok(changes)) => Ok(values::from_form(py, &changes)?.unbind()),
        Outcome::Loaded(Err(error))
        | Outcome::Done(Err(error))
        | Outcome::Reached(Err(error))
        | Outcome::Listed(Err(error))
        | Outcome::Opened(Err(error))
        | Outcome::Exchanged(Err(error))
        | Outcome::Reloaded(Err(error))
        | Outcome::Broken(error) => Err(error),
        _ => return Err(io::Error::other("an outcome of an unknown kind").into()),
    };
    match value {
        Ok(value) => Ok((Kind::Completed, value)),
        Err(error) => Ok((Kind::Failed, exception(py, &error)?)),
    }
}

fn into_object<'py, T>(py: Python<'py>, value: T) -> PyResult<Py<PyAny>>
where
    T: IntoPyObject<'py>,
    PyErr: From<T::Error>,
{
    use pyo3::BoundObject;

    Ok(value.into_pyobject(py)?.into_any().unbind())
}
