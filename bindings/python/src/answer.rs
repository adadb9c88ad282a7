//! The answer of one ASGI request: its head waits for the verdict, its body only while it may still be edited.
//!
//! A head of stated length waits for its first body message, so that one look at both decides; another is looked at as it
//! comes. The body is held if its first message is the whole of it, or if the head states a length within the engine's limit.

mod held;
mod message;

use forge_x402::{Action, Now, Outcome};
use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::asgi::Asgi;
use crate::asked::Asked;
use crate::heads::{self, Head, Style};
use crate::verdict::Verdict;
use held::Held;
use message::{member, message_of};

#[pyclass(module = "forge_x402._native")]
pub(crate) struct Answer {
    host: Py<Asgi>,
    asked: Asked,
    /// The scope the application has, for the route it sets there.
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

/// Messages to be sent now.
#[derive(Default)]
struct Outgoing {
    messages: Vec<Py<PyAny>>,
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
        let answer = slf.try_borrow()?;
        let receive = answer.receive.bind(slf.py());
        match answer.exchange {
            Some(_) => answer.host.get().watched.bind(slf.py()).call1((slf, receive)),
            None => Ok(receive.clone()),
        }
    }

    /// The application's send; what it returns is to be awaited.
    fn send<'py>(slf: &Bound<'py, Self>, message: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let mut answer = slf.try_borrow_mut()?;
        if answer.is_strange(py, &message)? {
            let send = answer.send.clone_ref(py);
            drop(answer);
            return send.into_bound(py).call1((message,));
        }
        let outgoing = answer.take(py, message)?;
        drop(answer);
        Self::sent(slf, outgoing)
    }

    /// The application has returned (`None`) or raised; gives what is to be awaited, if anything.
    fn close<'py>(slf: &Bound<'py, Self>, error: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let mut answer = slf.try_borrow_mut()?;
        let outgoing = match answer.stage {
            Stage::Held(_) if error.is_none() || error.is_instance_of::<PyException>() => answer.release(py)?,
            _ => Outgoing::default(),
        };
        if !outgoing.messages.is_empty() {
            drop(answer);
            // Comes back when that is sent.
            return Self::sent(slf, outgoing).map(Some);
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

    /// All is sent. Background tasks of the application may still run, so the exchange ends here.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let (status, body_bytes) = (self.status, self.size);
        let outcome =
            if self.gone { Outcome::Aborted { status, body_bytes } } else { Outcome::Delivered { status, body_bytes } };
        self.finish(py, Some(outcome))
    }

    /// The server's send has raised OSError: the client has left.
    fn send_failed(&mut self) {
        self.gone = true;
    }

    /// The application has another scope than the server's.
    fn runs_in(&mut self, scope: Py<PyDict>) {
        self.scope = scope;
    }

    /// The server has told the application that the client has left; after the last message it says so to everybody.
    fn disconnected(&mut self) {
        self.gone |= !self.complete;
    }

    /// The whole body of the request after action 2, or more than `body_limit` bytes of it.
    fn on_request_body(&mut self, py: Python<'_>, body: &[u8]) -> PyResult<Verdict> {
        let made = match &mut self.exchange {
            Some(exchange) => exchange.on_request_body(Now::read(), body),
            None => forge_x402::Verdict::pass(),
        };
        heads::read(self.asked.headers.bind(py), Style::Bytes, |head| Verdict::new(py, made, body, &head))
    }

    /// After action 3. BLOCKS for `limit_ms` at most. The thread that waits owns the exchange, whatever becomes of the
    /// task that asked for it.
    fn wait(slf: &Bound<'_, Self>, limit_ms: u64) -> PyResult<Verdict> {
        let py = slf.py();
        let taken = slf.try_borrow_mut()?.exchange.take();
        let (exchange, made) = py.detach(|| {
            let mut exchange = taken;
            let made = exchange.as_mut().map(|exchange| exchange.wait(std::time::Duration::from_millis(limit_ms)));
            (exchange, made)
        });
        slf.try_borrow_mut()?.exchange = exchange;
        Verdict::new(py, made.unwrap_or_default(), b"", &Head::default())
    }

    /// Answers in the application's place; what it returns is to be awaited.
    fn reply<'py>(slf: &Bound<'py, Self>, verdict: &Bound<'py, Verdict>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let (status, headers, body) = verdict.get().answer(py)?;
        let start = PyDict::new(py);
        start.set_item(intern!(py, "type"), intern!(py, "http.response.start"))?;
        start.set_item(intern!(py, "status"), status)?;
        start.set_item(intern!(py, "headers"), headers)?;
        let mut answer = slf.try_borrow_mut()?;
        (answer.status, answer.stage) = (status, Stage::Sent);
        let mut outgoing = Outgoing { messages: vec![start.into_any().unbind()], ends: false };
        answer.body(message_of(py, body.into_any(), false)?, &mut outgoing)?;
        drop(answer);
        Self::sent(slf, outgoing)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.asked.traverse(&visit)?;
        visit.call(&self.host)?;
        visit.call(&self.scope)?;
        visit.call(&self.receive)?;
        visit.call(&self.send)?;
        match &self.stage {
            Stage::Held(held) => held.traverse(&visit),
            _ => Ok(()),
        }
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
                    Some(Py::new(py, Verdict::new(py, made, b"", &Head::default())?)?)
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
    fn take<'py>(&mut self, py: Python<'py>, message: Bound<'py, PyAny>) -> PyResult<Outgoing> {
        let kind = message.get_item(intern!(py, "type"))?;
        let kind = kind.cast::<PyString>()?.to_str()?;
        let mut outgoing = Outgoing::default();
        match (kind, &self.stage) {
            ("http.response.body", Stage::Held(_)) => return self.held_body(py, message.cast_into()?),
            ("http.response.body", _) => self.body(message, &mut outgoing)?,
            ("http.response.start", Stage::NoHead) => return self.start(py, message.cast_into()?),
            _ => {
                if matches!(self.stage, Stage::Held(_)) && kind != "http.response.debug" {
                    outgoing = self.release(py)?;
                }
                let more = match kind {
                    "http.response.trailers" => member(py, &message, intern!(py, "more_trailers"))?,
                    "http.response.zerocopysend" if !self.trailers => member(py, &message, intern!(py, "more_body"))?,
                    "http.response.pathsend" if !self.trailers => None,
                    _ => Some(true.into_pyobject(py)?.to_owned().into_any()),
                };
                outgoing.ends = !more.map_or(Ok(false), |more| more.is_truthy())?;
                outgoing.messages.push(message.unbind());
            }
        }
        Ok(outgoing)
    }

    /// What the application is to await while that is sent.
    fn sent<'py>(slf: &Bound<'py, Self>, outgoing: Outgoing) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let Outgoing { mut messages, ends } = outgoing;
        let last = if ends { messages.pop() } else { None };
        let answer = slf.try_borrow()?;
        let host = answer.host.get();
        if messages.is_empty() && last.is_none() {
            return host.nothing.bind(py).call0();
        }
        let (receive, send) = (answer.receive.bind(py), answer.send.bind(py));
        host.send_all.bind(py).call1((slf, receive, send, messages, last))
    }

    /// Writes the events. Twice is once.
    fn finish(&mut self, py: Python<'_>, outcome: Option<Outcome>) -> PyResult<()> {
        let Some(exchange) = self.exchange.take() else { return Ok(()) };
        let now = Now::read();
        exchange.end(now, outcome);
        self.host.get().pulse(py, now)
    }
}
