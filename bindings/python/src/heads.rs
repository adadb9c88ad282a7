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

/// A head as the host gave it, and as the engine reads it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Head<'a, 'py> {
    /// The host's own objects, sent on where nothing changes.
    given: &'a [Bound<'py, PyAny>],
    pub lines: &'a [HeaderLine<'a>],
    style: Style,
}

/// Calls `work` with the head that any iterable of pairs of bytes or Latin-1 text is.
pub(crate) fn read<'py, T>(
    headers: &Bound<'py, PyAny>,
    style: Style,
    work: impl FnOnce(Head<'_, 'py>) -> PyResult<T>,
) -> PyResult<T> {
    let given = given(headers)?;
    let copied;
    let lines = match plain_lines(&given) {
        Some(lines) => lines,
        None => {
            copied = given.iter().map(spelled).collect::<PyResult<Vec<_>>>()?;
            borrowed(&copied)
        }
    };
    work(Head { given: &given, lines: &lines, style })
}

/// Not inlined, like the next two: `read` has many callers, and code that several of them share is in the cache.
#[inline(never)]
fn given<'py>(headers: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match headers.cast::<PyList>() {
        Ok(list) => {
            let mut given = Vec::with_capacity(list.len());
            given.extend(list);
            Ok(given)
        }
        Err(_) => headers.try_iter()?.collect(),
    }
}

#[inline(never)]
fn plain_lines<'a>(given: &'a [Bound<'_, PyAny>]) -> Option<Vec<HeaderLine<'a>>> {
    let mut lines = Vec::with_capacity(given.len());
    for line in given {
        lines.push(plain(line)?);
    }
    Some(lines)
}

#[cold]
#[inline(never)]
fn borrowed(copied: &[(Vec<u8>, Vec<u8>)]) -> Vec<HeaderLine<'_>> {
    copied.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

/// What `look` makes of the value of the first line with exactly this name.
pub(crate) fn first<T>(headers: &Bound<'_, PyList>, name: &[u8], look: impl Fn(&[u8]) -> T) -> Option<T> {
    headers.iter().find_map(|line| match plain(&line) {
        Some((own, value)) => (own == name).then(|| look(value)),
        None => spelled(&line).ok().filter(|(own, _)| own == name).map(|(_, value)| look(&value)),
    })
}

/// The ordinary line: a tuple of two bytes, whose text is borrowed.
fn plain<'a>(given: &'a Bound<'_, PyAny>) -> Option<HeaderLine<'a>> {
    let pair = given.cast::<PyTuple>().ok()?;
    if pair.len() != 2 {
        return None;
    }
    let half = |at| pair.get_borrowed_item(at).ok()?.extract::<&'a [u8]>().ok();
    Some((half(0)?, half(1)?))
}

/// Any other line, copied.
#[cold]
#[inline(never)]
fn spelled(given: &Bound<'_, PyAny>) -> PyResult<(Vec<u8>, Vec<u8>)> {
    let mut parts = given.try_iter()?;
    match (parts.next(), parts.next(), parts.next()) {
        (Some(name), Some(value), None) => Ok((latin1(&name?)?, latin1(&value?)?)),
        _ => Err(PyTypeError::new_err("a header is not a pair of name and value")),
    }
}

fn latin1(half: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = half.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let text = half.cast::<PyString>().map_err(|_| PyTypeError::new_err("a header is not bytes or str"))?;
    let bytes: Option<Vec<u8>> = text.to_str()?.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect();
    bytes.ok_or_else(|| PyValueError::new_err("a header is not Latin-1"))
}

impl<'py> Head<'_, 'py> {
    /// The head with the edits applied; lines that stay are the host's own objects.
    pub fn edited(&self, py: Python<'py>, edits: &[Edit]) -> PyResult<Bound<'py, PyList>> {
        let made = PyList::new(py, self.given)?;
        let mut names: Vec<&[u8]> = Vec::with_capacity(self.lines.len() + edits.len());
        names.extend(self.lines.iter().map(|(name, _)| *name));
        for edit in edits {
            let named = |name: &&[u8]| name.eq_ignore_ascii_case(edit.name.as_bytes());
            let first = names.iter().position(named);
            let kept = match (edit.op, first) {
                (EditOp::Set, Some(first)) => {
                    made.set_item(first, (self.text(py, names[first]), self.text(py, &edit.value)))?;
                    first + 1
                }
                (EditOp::Set | EditOp::Add, _) => {
                    let spelling = match self.style {
                        Style::Bytes => self.text(py, edit.name.to_ascii_lowercase().as_bytes()),
                        Style::Text => self.text(py, edit.name.as_bytes()),
                    };
                    made.append((spelling, self.text(py, &edit.value)))?;
                    names.push(edit.name.as_bytes());
                    continue;
                }
                (EditOp::Remove, Some(first)) => first,
                (EditOp::Remove, None) => continue,
            };
            while let Some(next) = names[kept..].iter().position(named) {
                names.remove(kept + next);
                made.del_item(kept + next)?;
            }
        }
        Ok(made)
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
