//! Python values to JSON text.

use mcp_resident_facade::mcp_resident::{Arguments, RawJson};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Deeper values are refused; one that holds itself is caught by it.
const MAX_DEPTH: usize = 500;

/// What a caller gave as the arguments of a tool: nothing, a text, or a value.
pub(crate) fn arguments(given: Option<&Bound<'_, PyAny>>) -> PyResult<Arguments> {
    match given {
        None => Ok(Arguments::none()),
        Some(text) if text.is_instance_of::<PyString>() => Ok(text.extract::<String>()?.into()),
        Some(value) => {
            let text = to_json(value)?;
            let json: RawJson = text
                .parse()
                .map_err(|error| PyValueError::new_err(format!("{error}")))?;
            Ok(json.into())
        }
    }
}

/// The JSON text of a value.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut text = String::with_capacity(64);
    write(&mut text, value, 0)?;
    Ok(text)
}

fn write(text: &mut String, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    if depth > MAX_DEPTH {
        let message = format!("a value is nested deeper than {MAX_DEPTH} levels, or holds itself");
        return Err(PyValueError::new_err(message));
    }
    if value.is_none() {
        text.push_str("null");
    } else if let Ok(string) = value.cast::<PyString>() {
        write_string(text, string)?;
    } else if let Ok(switch) = value.cast::<PyBool>() {
        text.push_str(if switch.is_true() { "true" } else { "false" });
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(number) => text.push_str(&number.to_string()),
            // Not `str`, which a subclass may have changed.
            Err(_) => text.push_str(
                &value
                    .py()
                    .get_type::<PyInt>()
                    .call_method1("__repr__", (value,))?
                    .extract::<String>()?,
            ),
        }
    } else if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        if !number.is_finite() {
            return Err(PyValueError::new_err(format!(
                "JSON has no number for {number}"
            )));
        }
        let shortest = serde_json::to_string(&number);
        text.push_str(&shortest.map_err(|error| PyValueError::new_err(error.to_string()))?);
    } else if let Ok(object) = value.cast::<PyDict>() {
        write_members(text, object.iter().map(Ok), depth)?;
    } else if let Ok(list) = value.cast::<PyList>() {
        write_items(text, list.iter(), depth)?;
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        write_items(text, tuple.iter(), depth)?;
    } else if let Ok(items) = value.call_method0("items") {
        // Every other mapping.
        let members = items.try_iter()?.map(|member| member?.extract());
        write_members(text, members, depth)?;
    } else {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a value of type {kind} cannot be written as JSON"
        )));
    }
    Ok(())
}

type Member<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

fn write_members<'py>(
    text: &mut String,
    members: impl Iterator<Item = PyResult<Member<'py>>>,
    depth: usize,
) -> PyResult<()> {
    text.push('{');
    for (place, member) in members.enumerate() {
        let (name, value) = member?;
        if place > 0 {
            text.push(',');
        }
        let name = name
            .cast::<PyString>()
            .map_err(|_| PyTypeError::new_err("the name of a member must be a str"))?;
        write_string(text, name)?;
        text.push(':');
        write(text, &value, depth + 1)?;
    }
    text.push('}');
    Ok(())
}

fn write_items<'py>(
    text: &mut String,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<()> {
    text.push('[');
    for (place, item) in items.enumerate() {
        if place > 0 {
            text.push(',');
        }
        write(text, &item, depth + 1)?;
    }
    text.push(']');
    Ok(())
}

fn write_string(text: &mut String, string: &Bound<'_, PyString>) -> PyResult<()> {
    match string.to_str() {
        Ok(plain) => {
            let quoted = serde_json::to_string(plain);
            text.push_str(&quoted.map_err(|error| PyValueError::new_err(error.to_string()))?);
        }
        Err(_) => {
            // Half of a surrogate pair: only an escape can say it.
            let json = string.py().import("json")?;
            text.push_str(&json.call_method1("dumps", (string,))?.extract::<String>()?);
        }
    }
    Ok(())
}
