//! Header lists of Python hosts: read without copying, edited without touching the lines that stay.

use forge_x402::{Edit, EditOp, HeaderLine};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// What new lines are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// ASGI: bytes, names in lower case.
    #[default]
    Bytes,
    /// WSGI: text that stands for Latin-1.
    Text,
}

/// A head as the host gave it.
#[derive(Default)]
pub(crate) struct Head<'py> {
    lines: Vec<Line<'py>>,
    style: Style,
}

struct Line<'py> {
    /// The host's own object, sent on where nothing changes.
    given: Bound<'py, PyAny>,
    name: Half<'py>,
    value: Half<'py>,
}

/// A name or a value; holding the object keeps its bytes.
enum Half<'py> {
    Bytes(Bound<'py, PyBytes>),
    Latin1(Vec<u8>),
}

impl<'py> Head<'py> {
    /// Any iterable of pairs of bytes or Latin-1 text.
    pub fn read(headers: &Bound<'py, PyAny>, style: Style) -> PyResult<Self> {
        let lines = match headers.cast::<PyList>() {
            Ok(list) => list.iter().map(Line::read).collect::<PyResult<_>>()?,
            Err(_) => headers.try_iter()?.map(|line| Line::read(line?)).collect::<PyResult<_>>()?,
        };
        Ok(Head { lines, style })
    }

    pub fn lines(&self) -> Vec<HeaderLine<'_>> {
        self.lines.iter().map(|line| (line.name.bytes(), line.value.bytes())).collect()
    }

    /// The head with the edits applied; lines that stay are the host's own objects.
    pub fn edited(&self, py: Python<'py>, edits: &[Edit]) -> PyResult<Bound<'py, PyList>> {
        let mut lines: Vec<(&[u8], Bound<'py, PyAny>)> =
            self.lines.iter().map(|line| (line.name.bytes(), line.given.clone())).collect();
        for edit in edits {
            let named = |name: &[u8]| name.eq_ignore_ascii_case(edit.name.as_bytes());
            match (edit.op, lines.iter().position(|(name, _)| named(name))) {
                (EditOp::Set, Some(first)) => {
                    let spelling = self.text(py, lines[first].0);
                    lines[first].1 = pair(py, spelling, self.text(py, &edit.value))?;
                    let mut at = 0..;
                    lines.retain(|(name, _)| at.next() <= Some(first) || !named(name));
                }
                (EditOp::Set | EditOp::Add, _) => {
                    let spelling = match self.style {
                        Style::Bytes => self.text(py, edit.name.to_ascii_lowercase().as_bytes()),
                        Style::Text => self.text(py, edit.name.as_bytes()),
                    };
                    lines.push((edit.name.as_bytes(), pair(py, spelling, self.text(py, &edit.value))?));
                }
                (EditOp::Remove, _) => lines.retain(|(name, _)| !named(name)),
            }
        }
        PyList::new(py, lines.into_iter().map(|(_, line)| line))
    }

    fn text(&self, py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyAny> {
        match self.style {
            Style::Bytes => PyBytes::new(py, bytes).into_any(),
            Style::Text => {
                let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
                PyString::new(py, &text).into_any()
            }
        }
    }
}

impl<'py> Line<'py> {
    fn read(given: Bound<'py, PyAny>) -> PyResult<Line<'py>> {
        let (name, value) = match given.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (pair.get_item(0)?, pair.get_item(1)?),
            _ => {
                let mut parts = given.try_iter()?;
                match (parts.next(), parts.next(), parts.next()) {
                    (Some(name), Some(value), None) => (name?, value?),
                    _ => return Err(PyTypeError::new_err("a header is not a pair of name and value")),
                }
            }
        };
        Ok(Line { name: Half::read(name)?, value: Half::read(value)?, given })
    }
}

impl<'py> Half<'py> {
    fn read(half: Bound<'py, PyAny>) -> PyResult<Half<'py>> {
        match half.cast_into::<PyBytes>() {
            Ok(bytes) => Ok(Half::Bytes(bytes)),
            Err(other) => {
                let other = other.into_inner();
                let text =
                    other.cast::<PyString>().map_err(|_| PyTypeError::new_err("a header is not bytes or str"))?;
                let bytes: Option<Vec<u8>> =
                    text.to_str()?.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect();
                bytes.map(Half::Latin1).ok_or_else(|| PyValueError::new_err("a header is not Latin-1"))
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Half::Bytes(bytes) => bytes.as_bytes(),
            Half::Latin1(bytes) => bytes,
        }
    }
}

fn pair<'py>(py: Python<'py>, name: Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyTuple::new(py, [name, value])?.into_any())
}
