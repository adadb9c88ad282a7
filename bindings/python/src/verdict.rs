//! What to do now, as Python reads it.

use forge_x402::{Action, Edit, EditOp, NewBody};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::heads::Head;

#[pyclass(frozen, module = "forge_x402._native")]
pub(crate) struct Verdict {
    /// 0 pass, 1 reply, 2 want body, 3 wait.
    #[pyo3(get)]
    action: u8,
    #[pyo3(get)]
    http_status: u16,
    /// The largest body worth holding.
    #[pyo3(get)]
    body_limit: usize,
    /// The head with the edits applied, or `None` where it stays as it is.
    #[pyo3(get)]
    headers: Option<Py<PyList>>,
    /// The body to send or hand on, or `None` where it stays as it is.
    #[pyo3(get)]
    body: Option<Py<PyBytes>>,
    #[pyo3(get)]
    target: Option<Py<PyBytes>>,
    #[pyo3(get)]
    feedback_id: Option<String>,
    edits: Vec<Edit>,
}

#[pymethods]
impl Verdict {
    /// `(op, name, value)` each; op is "set", "add" or "remove".
    #[getter]
    fn edits<'py>(&self, py: Python<'py>) -> Vec<(&'static str, &'static str, Bound<'py, PyBytes>)> {
        let word = |op| match op {
            EditOp::Set => "set",
            EditOp::Add => "add",
            EditOp::Remove => "remove",
        };
        self.edits.iter().map(|edit| (word(edit.op), edit.name, PyBytes::new(py, &edit.value))).collect()
    }
}

impl Verdict {
    /// Status, head and body of a reply.
    pub fn answer<'py>(&self, py: Python<'py>) -> PyResult<(u16, Bound<'py, PyList>, Bound<'py, PyBytes>)> {
        let line =
            |edit: &Edit| (PyBytes::new(py, edit.name.to_ascii_lowercase().as_bytes()), PyBytes::new(py, &edit.value));
        let headers = PyList::new(py, self.edits.iter().map(line))?;
        let body = self.body.as_ref().map_or_else(|| PyBytes::new(py, b""), |body| body.bind(py).clone());
        Ok((self.http_status, headers, body))
    }

    /// `came`: the body that the engine was shown; `head`: what the edits are applied to.
    pub fn new(py: Python<'_>, made: forge_x402::Verdict, came: &[u8], head: &Head<'_, '_>) -> PyResult<Verdict> {
        let body = made.body.map(|body| written(py, &body, &[came])).transpose()?.map(Bound::unbind);
        // A reply is an answer of its own: its edits are all its headers.
        let stays = made.edits.is_empty() || made.action == Action::Reply;
        let headers = if stays { None } else { Some(head.edited(py, &made.edits)?.unbind()) };
        Ok(Verdict {
            action: match made.action {
                Action::Pass => 0,
                Action::Reply => 1,
                Action::WantBody => 2,
                Action::Wait => 3,
            },
            http_status: made.http_status,
            body_limit: made.body_limit,
            headers,
            body,
            target: made.target.map(|target| PyBytes::new(py, &target).unbind()),
            feedback_id: made.feedback_id.map(|id| id.as_str().to_owned()),
            edits: made.edits,
        })
    }
}

/// The body as Python sends it; `came` is the one that the engine was shown, in pieces.
pub(crate) fn written<'py>(py: Python<'py>, body: &NewBody, came: &[&[u8]]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, body.len(), |mut room| {
        for part in body.parts(came) {
            if let Some(place) = room.split_off_mut(..part.len()) {
                place.copy_from_slice(part);
            }
        }
        Ok(())
    })
}
