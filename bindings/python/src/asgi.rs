//! What the answers of one ASGI application share: the engine, the log, and the functions of `_answer.py`.

use forge_x402::Now;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

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

    /// Looks at a request. `None`: it is not HTTP, or another layer of ours has it. Raises where it cannot be read.
    fn begin(
        slf: &Bound<'_, Self>,
        scope: Bound<'_, PyDict>,
        receive: Bound<'_, PyAny>,
        send: Bound<'_, PyAny>,
    ) -> PyResult<Option<Answer>> {
        let py = slf.py();
        let mark = intern!(py, MARK);
        let kind = scope.get_item(intern!(py, "type"))?;
        if !kind.is_some_and(|kind| kind.cast::<PyString>().is_ok_and(|kind| kind == "http")) || scope.contains(mark)? {
            return Ok(None);
        }
        let answer = Answer::new(slf, Asked::of(py, &scope)?, scope.clone(), receive, send)?;
        scope.set_item(mark, true)?;
        Ok(Some(answer))
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

/// In a scope: a layer of ours has it, another one passes.
const MARK: &str = "forge_x402";
