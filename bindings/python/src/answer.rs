//! The answer of one ASGI request: its head waits for the verdict, its body only while it may still be edited.
//!
//! A head of stated length waits for its first body message, so that one look at both decides; another is looked at as it
//! comes. The body is held if its first message is the whole of it, or if the head states a length within the engine's limit.
//! What is to be sent is decided here; sending it, which may wait for the client, is Python's (`_answer.py`).

use forge_x402::{Action, Body, Now, Outcome, ResponseHead};
use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::asgi::Asgi;
use crate::asked::Asked;
use crate::heads::{self, Head, Style};
use crate::verdict::Verdict;

#[pyclass(module = "forge_x402._native")]
pub(crate) struct Answer {
    host: Py<Asgi>,
    asked: Asked,
    /// The scope the application has, for the route it sets there.
    #[pyo3(set)]
    scope: Py<PyDict>,
    receive: Py<PyAny>,
    send: Py<PyAny>,
    /// `None`: the engine has not seen this request but for a look, or is done with it.
    exchange: Option<Box<forge_x402::Exchange>>,
    /// What is to be done before the application runs.
    ahead: Option<Py<Verdict>>,
    stage: Stage,
    status: u16,
    /// Bytes of the body so far.
    size: u64,
    trailers: bool,
    /// The last message is on its way.
    complete: bool,
    /// The client has left.
    gone: bool,
}

enum Stage {
    NoHead,
    Held(Box<Held>),
    Sent,
    /// This answer is none of our business.
    Passing,
}

/// A head that waits.
struct Held {
    message: Py<PyDict>,
    headers: Py<PyList>,
    /// The length it states.
    length: Option<usize>,
    judged: bool,
    /// What the last look came to: the head with its edits, the body to send instead, whether to come again with the body.
    edited: Option<Py<PyList>>,
    body: Option<Vec<u8>>,
    action: Action,
    body_limit: usize,
    /// Bytes of the parts.
    size: usize,
    /// What is held of the body.
    parts: Option<Vec<Py<PyAny>>>,
}

/// Messages to be sent now.
#[derive(Default)]
struct Sending<'py> {
    messages: Vec<Bound<'py, PyAny>>,
    /// The last of them is the last of the answer.
    ends: bool,
}

#[pymethods]
impl Answer {
    /// What to do before the application runs; `None`: nothing.
    #[getter]
    fn ahead(&self, py: Python<'_>) -> Option<Py<Verdict>> {
        self.ahead.as_ref().map(|verdict| verdict.clone_ref(py))
    }

    /// What the application receives through: the server's own callable, where nobody asks whether the client leaves.
    #[getter]
    fn receive<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let answer = slf.borrow();
        let receive = answer.receive.bind(slf.py());
        match answer.exchange {
            Some(_) => answer.host.get().watched.bind(slf.py()).call1((slf, receive)),
            None => Ok(receive.clone()),
        }
    }

    /// The application's send; what it returns is to be awaited.
    fn send<'py>(slf: &Bound<'py, Self>, message: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let mut answer = slf.borrow_mut();
        if answer.is_strange(py, &message)? {
            let send = answer.send.clone_ref(py);
            drop(answer);
            return send.into_bound(py).call1((message,));
        }
        let sending = answer.take(py, message)?;
        drop(answer);
        Self::sent(slf, sending)
    }

    /// The application has returned (`None`) or raised; gives what is to be awaited, if anything.
    fn close<'py>(slf: &Bound<'py, Self>, error: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let mut answer = slf.borrow_mut();
        let sending = match answer.stage {
            Stage::Held(_) if error.is_none() || error.is_instance_of::<PyException>() => answer.release(py)?,
            _ => Sending::default(),
        };
        if !sending.messages.is_empty() {
            drop(answer);
            // Comes back when that is sent.
            return Self::sent(slf, sending).map(Some);
        }
        let status = answer.status;
        let outcome = if error.is_none() {
            if answer.gone { Some(Outcome::Aborted { status, body_bytes: answer.size }) } else { None }
        } else if answer.gone || !error.is_instance_of::<PyException>() {
            Some(Outcome::Aborted { status, body_bytes: answer.size })
        } else {
            Some(Outcome::Failed { status: if status == 0 { 500 } else { status }, body_bytes: answer.size })
        };
        answer.finish(py, outcome)?;
        Ok(None)
    }

    /// The last message is about to be sent. `gone`: the server knows that the client has left.
    fn completes(&mut self, gone: bool) {
        self.complete = true;
        self.gone |= gone;
    }

    /// It is sent. Background tasks of the application may still run, so the exchange ends here.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let (status, body_bytes) = (self.status, self.size);
        let outcome =
            if self.gone { Outcome::Aborted { status, body_bytes } } else { Outcome::Delivered { status, body_bytes } };
        self.finish(py, Some(outcome))
    }

    /// The server has told the application that the client has left; after the last message it says so to everybody.
    fn disconnected(&mut self) {
        self.gone |= !self.complete;
    }

    /// The server's send has raised: the client has left.
    fn send_failed(&mut self) {
        self.gone = true;
    }

    /// The whole body of the request after action 2, or more than `body_limit` bytes of it.
    fn on_request_body(&mut self, py: Python<'_>, body: &[u8]) -> PyResult<Verdict> {
        let made = match &mut self.exchange {
            Some(exchange) => exchange.on_request_body(Now::read(), body),
            None => forge_x402::Verdict::pass(),
        };
        heads::read(self.asked.headers.bind(py), Style::Bytes, |head| Verdict::new(py, made, &head))
    }

    /// After action 3. BLOCKS for `limit_ms` at most. The thread that waits owns the exchange, whatever becomes of the
    /// task that asked for it.
    fn wait(slf: &Bound<'_, Self>, limit_ms: u64) -> PyResult<Verdict> {
        let py = slf.py();
        let taken = slf.borrow_mut().exchange.take();
        let (exchange, made) = py.detach(|| {
            let mut exchange = taken;
            let made = exchange.as_mut().map(|exchange| exchange.wait(std::time::Duration::from_millis(limit_ms)));
            (exchange, made)
        });
        slf.borrow_mut().exchange = exchange;
        Verdict::new(py, made.unwrap_or_default(), &Head::default())
    }

    /// Answers in the application's place; what it returns is to be awaited.
    fn reply<'py>(slf: &Bound<'py, Self>, verdict: &Bound<'py, Verdict>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let (status, headers, body) = verdict.get().answer(py)?;
        let start = PyDict::new(py);
        start.set_item(intern!(py, "type"), intern!(py, "http.response.start"))?;
        start.set_item(intern!(py, "status"), status)?;
        start.set_item(intern!(py, "headers"), headers)?;
        let mut answer = slf.borrow_mut();
        (answer.status, answer.stage) = (status, Stage::Sent);
        let mut sending = Sending { messages: vec![start.into_any()], ends: false };
        answer.body(message_of(py, body.into_any(), false)?, &mut sending)?;
        drop(answer);
        Self::sent(slf, sending)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.asked.traverse(&visit)?;
        visit.call(&self.host)?;
        visit.call(&self.scope)?;
        visit.call(&self.receive)?;
        visit.call(&self.send)?;
        if let Stage::Held(held) = &self.stage {
            visit.call(&held.message)?;
            visit.call(&held.headers)?;
            held.parts.iter().flatten().try_for_each(|part| visit.call(part))?;
        }
        Ok(())
    }
}

impl Answer {
    pub fn new(
        host: &Bound<'_, Asgi>,
        asked: Asked,
        scope: Bound<'_, PyDict>,
        receive: Bound<'_, PyAny>,
        send: Bound<'_, PyAny>,
    ) -> PyResult<Answer> {
        let py = host.py();
        let begun = asked.with(py, |request| host.get().engine.get().inner.on_request_with(Now::read, request))?;
        let (exchange, ahead) = match begun {
            None => (None, None),
            Some((exchange, made)) => {
                let ahead = if made.action == Action::Pass && made.target.is_none() {
                    None
                } else {
                    Some(Py::new(py, Verdict::new(py, made, &Head::default())?)?)
                };
                (Some(Box::new(exchange)), ahead)
            }
        };
        let (scope, receive, send) = (scope.unbind(), receive.unbind(), send.unbind());
        let host = host.clone().unbind();
        let stage = Stage::NoHead;
        let (status, size, trailers, complete, gone) = (0, 0, false, false, false);
        Ok(Answer { host, asked, scope, receive, send, exchange, ahead, stage, status, size, trailers, complete, gone })
    }

    /// Whether the message is none of our business: of an answer that is no challenge, to a request that was not ours.
    fn is_strange(&mut self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<bool> {
        if self.exchange.is_some() || matches!(self.stage, Stage::Held(_)) {
            return Ok(false);
        }
        if matches!(self.stage, Stage::NoHead)
            && let Some(status) = member(py, message, intern!(py, "status"))?
        {
            if status.extract::<u16>().is_ok_and(|status| status == 402) {
                return Ok(false);
            }
            self.stage = Stage::Passing;
        }
        Ok(true)
    }

    /// Decides what the application's message leads to.
    fn take<'py>(&mut self, py: Python<'py>, message: Bound<'py, PyAny>) -> PyResult<Sending<'py>> {
        let kind = message.get_item(intern!(py, "type"))?;
        let kind = kind.cast::<PyString>()?.to_str()?;
        let mut sending = Sending::default();
        match (kind, &self.stage) {
            ("http.response.body", Stage::Held(_)) => return self.held_body(py, message.cast_into()?),
            ("http.response.body", _) => self.body(message, &mut sending)?,
            ("http.response.start", Stage::NoHead) => return self.start(py, message.cast_into()?),
            _ => {
                if matches!(self.stage, Stage::Held(_)) && kind != "http.response.debug" {
                    sending = self.release(py)?;
                }
                let more = match kind {
                    "http.response.trailers" => member(py, &message, intern!(py, "more_trailers"))?,
                    "http.response.zerocopysend" if !self.trailers => member(py, &message, intern!(py, "more_body"))?,
                    "http.response.pathsend" if !self.trailers => None,
                    _ => Some(true.into_pyobject(py)?.to_owned().into_any()),
                };
                sending.ends = !more.map_or(Ok(false), |more| more.is_truthy())?;
                sending.messages.push(message);
            }
        }
        Ok(sending)
    }

    fn start<'py>(&mut self, py: Python<'py>, message: Bound<'py, PyDict>) -> PyResult<Sending<'py>> {
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
                return Ok(Sending { messages: vec![message.into_any()], ends: false });
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
        Ok(Sending::default())
    }
}

impl Answer {
    fn held_body<'py>(&mut self, py: Python<'py>, message: Bound<'py, PyDict>) -> PyResult<Sending<'py>> {
        let more = flag(py, message.as_any(), intern!(py, "more_body"))?;
        let part = part_of(py, message.as_any())?;
        let Stage::Held(held) = &mut self.stage else { return Ok(Sending::default()) };
        let (message, part) = match held.parts.take() {
            Some(mut parts) => {
                held.size += part.len()?;
                parts.push(part.unbind());
                if more {
                    let fits = held.size <= held.body_limit;
                    held.parts = Some(parts);
                    return if fits { Ok(Sending::default()) } else { self.release(py) };
                }
                let whole = joined(py, &parts)?;
                (with(&message, intern!(py, "body"), &whole)?, whole)
            }
            None if more => {
                let length = held.length.unwrap_or(0);
                if self.wants_body(py)?
                    && let Stage::Held(held) = &mut self.stage
                    && (1..=held.body_limit).contains(&length)
                {
                    held.size = part.len()?;
                    held.parts = Some(vec![part.unbind()]);
                    return Ok(Sending::default());
                }
                let mut sending = self.release(py)?;
                self.body(message.into_any(), &mut sending)?;
                return Ok(sending);
            }
            None => (message, part),
        };
        self.judge(py, Some(&part))?;
        let mut message = message;
        if let Stage::Held(held) = &mut self.stage
            && let Some(made) = held.body.take()
        {
            message = with(&message, intern!(py, "body"), &PyBytes::new(py, &made))?;
        }
        let mut sending = self.release(py)?;
        self.body(message.into_any(), &mut sending)?;
        Ok(sending)
    }

    /// A message of the body that goes out.
    fn body<'py>(&mut self, message: Bound<'py, PyAny>, sending: &mut Sending<'py>) -> PyResult<()> {
        let py = message.py();
        if let Some(part) = member(py, &message, intern!(py, "body"))? {
            self.size += part.len()? as u64;
        }
        sending.ends = !self.trailers && !flag(py, &message, intern!(py, "more_body"))?;
        sending.messages.push(message);
        Ok(())
    }

    /// The head as the last verdict wants it, then what was held of the body.
    fn release<'py>(&mut self, py: Python<'py>) -> PyResult<Sending<'py>> {
        if matches!(&self.stage, Stage::Held(held) if !held.judged) {
            self.judge(py, None)?;
        }
        let mut sending = Sending::default();
        let Stage::Held(held) = std::mem::replace(&mut self.stage, Stage::Sent) else { return Ok(sending) };
        let mut message = held.message.into_bound(py);
        if let Some(edited) = held.edited {
            message = with(&message, intern!(py, "headers"), edited.bind(py))?;
        }
        sending.messages.push(message.into_any());
        if let Some(parts) = held.parts {
            self.body(message_of(py, joined(py, &parts)?, true)?, &mut sending)?;
        }
        Ok(sending)
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

    /// Writes the events. Twice is once.
    fn finish(&mut self, py: Python<'_>, outcome: Option<Outcome>) -> PyResult<()> {
        let Some(exchange) = self.exchange.take() else { return Ok(()) };
        let now = Now::read();
        exchange.end(now, outcome);
        self.host.get().pulse(py, now)
    }

    /// What the application is to await while that is sent.
    fn sent<'py>(slf: &Bound<'py, Self>, sending: Sending<'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let answer = slf.borrow();
        let host = answer.host.get();
        let Sending { mut messages, ends } = sending;
        let last = if ends { messages.pop() } else { None };
        if messages.is_empty() && last.is_none() {
            return host.nothing.bind(py).call0();
        }
        let (receive, send) = (answer.receive.bind(py), answer.send.bind(py));
        host.send_all.bind(py).call1((slf, receive, send, messages, last))
    }
}

fn member<'py>(
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

fn flag<'py>(py: Python<'py>, message: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<bool> {
    member(py, message, name)?.map_or(Ok(false), |value| value.is_truthy())
}

/// The same message with one member changed.
fn with<'py>(
    message: &Bound<'py, PyDict>,
    name: &Bound<'py, PyString>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let changed = message.copy()?;
    changed.set_item(name, value)?;
    Ok(changed)
}

fn message_of<'py>(py: Python<'py>, body: Bound<'py, PyAny>, more: bool) -> PyResult<Bound<'py, PyAny>> {
    let message = PyDict::new(py);
    message.set_item(intern!(py, "type"), intern!(py, "http.response.body"))?;
    message.set_item(intern!(py, "body"), body)?;
    message.set_item(intern!(py, "more_body"), more)?;
    Ok(message.into_any())
}

fn part_of<'py>(py: Python<'py>, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match member(py, message, intern!(py, "body"))? {
        Some(part) if part.is_instance_of::<PyBytes>() => Ok(part),
        // Some send a view or an array.
        Some(part) => py.get_type::<PyBytes>().call1((part,)),
        None => Ok(PyBytes::new(py, b"").into_any()),
    }
}

fn joined<'py>(py: Python<'py>, parts: &[Py<PyAny>]) -> PyResult<Bound<'py, PyAny>> {
    let bound = parts.iter().map(|part| part.bind(py));
    PyBytes::new(py, b"").call_method1(intern!(py, "join"), (PyList::new(py, bound)?,))
}

/// What a head says of its body's length.
fn stated_length(headers: &Bound<'_, PyList>) -> Option<usize> {
    heads::first(headers, b"content-length", |value| match std::str::from_utf8(value) {
        Ok(digits) if digits.len() < 16 && digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        _ => None,
    })
    .flatten()
}
