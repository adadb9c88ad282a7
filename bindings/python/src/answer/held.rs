//! What is held of an answer until the engine has decided: its head, and the body while it may still be edited.

use forge_x402::{Action, Body, NewBody, Now, ResponseHead};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::message::{flag, joined, member, message_of, part_of, stated_length, with};
use super::{Answer, Outgoing, Stage};
use crate::heads::{self, Style};
use crate::verdict::written;

/// A head that waits.
pub(super) struct Held {
    message: Py<PyDict>,
    headers: Py<PyList>,
    /// The length it states.
    length: Option<usize>,
    judged: bool,
    /// What the last look came to: the head with its edits, the body to send instead, whether to come again with the body.
    edited: Option<Py<PyList>>,
    body: Option<NewBody>,
    action: Action,
    body_limit: usize,
    /// Bytes of the parts.
    size: usize,
    /// What is held of the body.
    parts: Option<Vec<Py<PyAny>>>,
}

impl Held {
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.message)?;
        visit.call(&self.headers)?;
        visit.call(&self.edited)?;
        self.parts.iter().flatten().try_for_each(|part| visit.call(part))
    }
}

impl Answer {
    pub(super) fn start<'py>(&mut self, py: Python<'py>, message: Bound<'py, PyDict>) -> PyResult<Outgoing> {
        let (message, headers) =
            match message.get_item(intern!(py, "headers"))?.map(|given| given.cast_into::<PyList>()) {
                Some(Ok(headers)) => (message, headers),
                given => {
                    // Once read it may be used up.
                    let headers = match given {
                        Some(Err(given)) => given.into_inner().try_iter()?.collect::<PyResult<Vec<_>>>()?,
                        _ => Vec::new(),
                    };
                    let headers = PyList::new(py, headers)?;
                    (with(&message, intern!(py, "headers"), &headers)?, headers)
                }
            };
        match message.as_any().get_item(intern!(py, "status"))?.extract() {
            Ok(status) => self.status = status,
            Err(error) => {
                self.host.get().unread(py, "an answer passed unchanged", error)?;
                (self.stage, self.exchange) = (Stage::Passing, None);
                return Ok(Outgoing { messages: vec![message.into_any().unbind()], ends: false });
            }
        }
        self.trailers = flag(py, message.as_any(), intern!(py, "trailers"))?;
        let length = stated_length(&headers);
        self.stage = Stage::Held(Box::new(Held {
            message: message.unbind(),
            headers: headers.unbind(),
            length,
            judged: false,
            edited: None,
            body: None,
            action: Action::Pass,
            body_limit: 0,
            size: 0,
            parts: None,
        }));
        if length.is_none() && !self.wants_body(py)? {
            return self.release(py);
        }
        Ok(Outgoing::default())
    }

    pub(super) fn held_body<'py>(&mut self, py: Python<'py>, message: Bound<'py, PyDict>) -> PyResult<Outgoing> {
        let more = flag(py, message.as_any(), intern!(py, "more_body"))?;
        let part = part_of(py, message.as_any())?;
        let Stage::Held(held) = &mut self.stage else { return Ok(Outgoing::default()) };
        let (whole, parts) = match held.parts.take() {
            Some(mut parts) => {
                held.size += part.len()?;
                parts.push(part.unbind());
                if more {
                    let fits = held.size <= held.body_limit;
                    held.parts = Some(parts);
                    return if fits { Ok(Outgoing::default()) } else { self.release(py) };
                }
                (joined(py, &parts)?, parts)
            }
            None if more => {
                let length = held.length.unwrap_or(0);
                if self.wants_body(py)?
                    && let Stage::Held(held) = &mut self.stage
                    && (1..=held.body_limit).contains(&length)
                {
                    held.size = part.len()?;
                    held.parts = Some(vec![part.unbind()]);
                    return Ok(Outgoing::default());
                }
                let mut outgoing = self.release(py)?;
                self.body(message.into_any(), &mut outgoing)?;
                return Ok(outgoing);
            }
            None => (part, Vec::new()),
        };
        self.judge(py, Some(&whole))?;
        let made = match &mut self.stage {
            Stage::Held(held) => held.body.take(),
            _ => None,
        };
        let body = match made {
            Some(made) if parts.is_empty() => Some(written(py, &made, &[whole.cast::<PyBytes>()?.as_bytes()])?),
            Some(made) => {
                // Goes before the new one is written, which then has its place in memory.
                drop(whole);
                let came = parts.iter().map(|part| Ok(part.bind(py).cast::<PyBytes>()?.as_bytes()));
                Some(written(py, &made, &came.collect::<PyResult<Vec<_>>>()?)?)
            }
            None if !parts.is_empty() => Some(whole.cast_into()?),
            None => None,
        };
        let message = match body {
            Some(body) => with(&message, intern!(py, "body"), &body)?,
            None => message,
        };
        let mut outgoing = self.release(py)?;
        self.body(message.into_any(), &mut outgoing)?;
        Ok(outgoing)
    }

    /// A message of the body that goes out.
    pub(super) fn body<'py>(&mut self, message: Bound<'py, PyAny>, outgoing: &mut Outgoing) -> PyResult<()> {
        let py = message.py();
        if let Some(part) = member(py, &message, intern!(py, "body"))? {
            self.size += part.len()? as u64;
        }
        outgoing.ends = !self.trailers && !flag(py, &message, intern!(py, "more_body"))?;
        outgoing.messages.push(message.unbind());
        Ok(())
    }

    /// The head as the last verdict wants it, then what was held of the body.
    pub(super) fn release<'py>(&mut self, py: Python<'py>) -> PyResult<Outgoing> {
        if matches!(&self.stage, Stage::Held(held) if !held.judged) {
            self.judge(py, None)?;
        }
        let mut outgoing = Outgoing::default();
        let Stage::Held(held) = std::mem::replace(&mut self.stage, Stage::Sent) else { return Ok(outgoing) };
        let mut message = held.message.into_bound(py);
        if let Some(edited) = held.edited {
            message = with(&message, intern!(py, "headers"), edited.bind(py))?;
        }
        outgoing.messages.push(message.into_any().unbind());
        if let Some(parts) = held.parts {
            self.body(message_of(py, joined(py, &parts)?, true)?, &mut outgoing)?;
        }
        Ok(outgoing)
    }

    fn wants_body(&mut self, py: Python<'_>) -> PyResult<bool> {
        if matches!(&self.stage, Stage::Held(held) if !held.judged) {
            self.judge(py, None)?;
        }
        Ok(matches!(&self.stage, Stage::Held(held) if held.action == Action::WantBody))
    }

    /// Asks the engine about the held head, with the body if there is one. What fails here passes.
    fn judge(&mut self, py: Python<'_>, body: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let (made, edited) = match self.asks(py, body) {
            Ok(made) => made,
            Err(error) => {
                self.host.get().unread(py, "an answer passed unchanged", error)?;
                Default::default()
            }
        };
        if let Stage::Held(held) = &mut self.stage {
            (held.judged, held.edited) = (true, edited);
            (held.action, held.body_limit, held.body) = (made.action, made.body_limit, made.body);
        }
        Ok(())
    }

    /// The verdict, and the head with its edits.
    fn asks(
        &mut self,
        py: Python<'_>,
        body: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(forge_x402::Verdict, Option<Py<PyList>>)> {
        let Stage::Held(held) = &self.stage else { return Ok(Default::default()) };
        let route = self.asked.route(py, self.scope.bind(py)).unwrap_or_default();
        let (status, route) = (self.status, route.as_bytes());
        let body = match body {
            Some(body) => Body::Whole(body.cast::<PyBytes>()?.as_bytes()),
            None => Body::Unread,
        };
        let (asked, exchange) = (&self.asked, &mut self.exchange);
        let engine = &self.host.get().engine.get().inner;
        heads::read(held.headers.bind(py), Style::Bytes, |head| {
            let response = ResponseHead { status, route, headers: head.lines, body, ..ResponseHead::default() };
            let made = match exchange {
                Some(exchange) => exchange.on_response(Now::read(), &response),
                None => {
                    let late = asked.with(py, |request| engine.on_response_late(Now::read(), request, &response))?;
                    let Some((begun, made)) = late else { return Ok(Default::default()) };
                    *exchange = Some(Box::new(begun));
                    made
                }
            };
            let edited = if made.edits.is_empty() { None } else { Some(head.edited(py, &made.edits)?.unbind()) };
            Ok((made, edited))
        })
    }
}
