//! What the answers of one ASGI application share: the engine, the log, and the coroutines of `_answer.py`.

use forge_x402::Now;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::Engine;
use crate::answer::Answer;
use crate::asked::Asked;

#[pyclass(frozen, module = "forge_x402._native")]
pub(crate) struct Asgi {
    pub engine: Py<Engine>,
    forge: Py<PyAny>,
    pub nothing: Py<PyAny>,
    pub send_all: Py<PyAny>,
    pub watched: Py<PyAny>,
}

#[pymethods]
impl Asgi {
    #[new]
    fn new(engine: Py<Engine>, forge: Py<PyAny>, nothing: Py<PyAny>, send_all: Py<PyAny>, watched: Py<PyAny>) -> Asgi {
        Asgi { engine, forge, nothing, send_all, watched }
    }

    /// Looks at a request. Raises where it cannot be read.
    fn begin(
        slf: &Bound<'_, Self>,
        scope: Bound<'_, PyDict>,
        receive: Bound<'_, PyAny>,
        send: Bound<'_, PyAny>,
    ) -> PyResult<Answer> {
        let asked = Asked::of(slf.py(), &scope)?;
        Answer::new(slf, asked, scope, receive, send)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.forge)
    }
}

impl Asgi {
    /// What could not be read has passed; `_forge.py` says so now and then.
    pub fn unread(&self, py: Python<'_>, what: &str, error: PyErr) -> PyResult<()> {
        self.forge.call_method1(py, intern!(py, "_count_unread"), (what, error))?;
        Ok(())
    }

    /// Called when an exchange ends: now and then there is a line to log.
    pub fn pulse(&self, py: Python<'_>, now: Now) -> PyResult<()> {
        if self.engine.get().is_log_due_at(now) {
            self.forge.call_method0(py, intern!(py, "_log"))?;
        }
        Ok(())
    }
}
