//! An ASGI request as the engine reads it: what the scope said when it came, whatever the application makes of it later.

use forge_x402::RequestHead;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::heads::{self, Style};

pub(crate) struct Asked {
    method: Py<PyString>,
    path: Py<PyBytes>,
    query: Option<Py<PyBytes>>,
    pub headers: Py<PyAny>,
    client_ip: Option<Py<PyString>>,
    /// Where the application is mounted.
    root: Option<Py<PyString>>,
}

impl Asked {
    pub fn of(py: Python<'_>, scope: &Bound<'_, PyDict>) -> PyResult<Asked> {
        let path = match text(scope.get_item(intern!(py, "raw_path"))?) {
            Some(path) => path.cast_into()?,
            None => quoted(&needed(scope, intern!(py, "path"))?)?,
        };
        let client_ip = match text(scope.get_item(intern!(py, "client"))?) {
            Some(client) => text(Some(client.get_item(0)?)),
            None => None,
        };
        Ok(Asked {
            method: needed(scope, intern!(py, "method"))?.cast_into()?.unbind(),
            path: path.unbind(),
            query: known(scope, intern!(py, "query_string"))?,
            headers: needed(scope, intern!(py, "headers"))?.unbind(),
            client_ip: client_ip.map(|ip| ip.cast_into()).transpose()?.map(Bound::unbind),
            root: known(scope, intern!(py, "root_path"))?,
        })
    }

    /// Calls `ask` with the head as the engine takes it.
    pub fn with<T>(&self, py: Python<'_>, ask: impl FnOnce(&RequestHead<'_>) -> T) -> PyResult<T> {
        let path = self.path.as_bytes(py);
        let joined = self.query.as_ref().map(|query| [path, b"?", query.as_bytes(py)].concat());
        let client_ip = self.client_ip.as_ref().map(|ip| ip.to_str(py)).transpose()?.unwrap_or_default();
        let method = self.method.to_str(py)?.as_bytes();
        heads::read(self.headers.bind(py), Style::Bytes, |head| {
            Ok(ask(&RequestHead {
                method,
                target: joined.as_deref().unwrap_or(path),
                headers: head.lines,
                client_ip: client_ip.as_bytes(),
                ..RequestHead::default()
            }))
        })
    }

    /// The pattern of the route that the application has found, as FastAPI and Starlette leave it in the scope.
    pub fn route(&self, py: Python<'_>, scope: &Bound<'_, PyDict>) -> Option<String> {
        let route = scope.get_item(intern!(py, "route")).ok()??;
        let path = route.getattr(intern!(py, "path")).ok()?;
        let path = path.cast::<PyString>().ok()?.to_str().ok()?;
        let mounted = known::<PyString>(scope, intern!(py, "root_path")).ok()?;
        let Some(mounted) = mounted else { return Some(path.to_owned()) };
        // What the merchant's whole application is mounted under is no part of its routes.
        let outside = match &self.root {
            Some(root) => root.to_str(py).ok()?.chars().count(),
            None => 0,
        };
        Some(mounted.to_str(py).ok()?.chars().skip(outside).chain(path.chars()).collect())
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.headers)
    }
}

/// What is there and neither `None` nor empty.
fn text(value: Option<Bound<'_, PyAny>>) -> Option<Bound<'_, PyAny>> {
    value.filter(|value| value.is_truthy().unwrap_or(false))
}

fn known<T>(scope: &Bound<'_, PyDict>, key: &Bound<'_, PyString>) -> PyResult<Option<Py<T>>>
where
    T: pyo3::PyTypeCheck,
{
    Ok(text(scope.get_item(key)?).map(|value| value.cast_into()).transpose()?.map(Bound::unbind))
}

fn needed<'py>(scope: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    scope.as_any().get_item(key)
}

/// For servers that keep the decoded path only.
fn quoted<'py>(path: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let quoted = path.py().import("urllib.parse")?.call_method1("quote", (path, "/~!$&'()*+,;=:@"))?;
    Ok(PyBytes::new(path.py(), quoted.cast::<PyString>()?.to_str()?.as_bytes()))
}
