//! ASGI messages: what their members say, and the same messages with one member changed.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::heads;

pub(super) fn member<'py>(
    py: Python<'py>,
    message: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match message.cast::<PyDict>() {
        Ok(message) => message.get_item(name),
        Err(_) => {
            let value = message.call_method1(intern!(py, "get"), (name,))?;
            Ok(if value.is_none() { None } else { Some(value) })
        }
    }
}

pub(super) fn flag<'py>(py: Python<'py>, message: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<bool> {
    member(py, message, name)?.map_or(Ok(false), |value| value.is_truthy())
}

/// The same message with one member changed.
pub(super) fn with<'py>(
    message: &Bound<'py, PyDict>,
    name: &Bound<'py, PyString>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let changed = message.copy()?;
    changed.set_item(name, value)?;
    Ok(changed)
}

pub(super) fn message_of<'py>(py: Python<'py>, body: Bound<'py, PyAny>, more: bool) -> PyResult<Bound<'py, PyAny>> {
    let message = PyDict::new(py);
    message.set_item(intern!(py, "type"), intern!(py, "http.response.body"))?;
    message.set_item(intern!(py, "body"), body)?;
    message.set_item(intern!(py, "more_body"), more)?;
    Ok(message.into_any())
}

pub(super) fn part_of<'py>(py: Python<'py>, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match member(py, message, intern!(py, "body"))? {
        Some(part) if part.is_instance_of::<PyBytes>() => Ok(part),
        // Some send a view or an array.
        Some(part) => py.get_type::<PyBytes>().call1((part,)),
        None => Ok(PyBytes::new(py, b"").into_any()),
    }
}

pub(super) fn joined<'py>(py: Python<'py>, parts: &[Py<PyAny>]) -> PyResult<Bound<'py, PyAny>> {
    let bound = parts.iter().map(|part| part.bind(py));
    PyBytes::new(py, b"").call_method1(intern!(py, "join"), (PyList::new(py, bound)?,))
}

/// What a head says of its body's length.
pub(super) fn stated_length(headers: &Bound<'_, PyList>) -> Option<usize> {
    heads::first(headers, b"content-length", |value| match std::str::from_utf8(value) {
        Ok(digits) if digits.len() < 16 && digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        _ => None,
    })
    .flatten()
}
