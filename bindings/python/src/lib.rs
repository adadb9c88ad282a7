//! Python face of the engine: conversions, nothing else.
//!
//! Heads cross as the lists the host has (ASGI: tuples of bytes; WSGI: tuples of text), bodies as bytes. A verdict carries
//! the edited head as a new list, so a phase is one crossing. The interpreter is let go only around the calls that block.

mod answer;
mod asgi;
mod asked;
mod client;
mod heads;
mod verdict;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::Duration;

use forge_x402::{Body, ChallengeForm, Now, Outcome, RequestHead, ResponseHead, Verification};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict};

use heads::{Head, Style};
use verdict::Verdict;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    silence_panics();
    module.add_class::<Engine>()?;
    module.add_class::<Exchange>()?;
    module.add_class::<Verdict>()?;
    module.add_class::<asgi::Asgi>()?;
    module.add_class::<answer::Answer>()?;
    module.add_class::<client::ClientBudget>()?;
    for function in [
        wrap_pyfunction!(client::client_parse_challenge, module)?,
        wrap_pyfunction!(client::client_parse_diagnostic, module)?,
        wrap_pyfunction!(client::client_decide, module)?,
        wrap_pyfunction!(client::client_escalation_event, module)?,
        wrap_pyfunction!(client::open402_parse_challenge, module)?,
        wrap_pyfunction!(client::open402_build_challenge, module)?,
        wrap_pyfunction!(client::open402_parse_proof, module)?,
        wrap_pyfunction!(client::open402_build_proof, module)?,
        wrap_pyfunction!(client::open402_json_schema, module)?,
        wrap_pyfunction!(client::open402_service_hash, module)?,
        wrap_pyfunction!(client::open402_replay_headers, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}

#[pyclass(frozen, module = "forge_x402._native")]
struct Engine {
    inner: forge_x402::Engine,
    /// When there may be a line to log again, in milliseconds of the monotonic clock.
    next_log: AtomicU64,
}

/// `None` once ended.
#[pyclass(frozen, module = "forge_x402._native")]
struct Exchange {
    inner: Mutex<Option<forge_x402::Exchange>>,
}

#[pymethods]
impl Engine {
    #[new]
    fn new(options_json: &[u8]) -> PyResult<Engine> {
        forge_x402::Engine::open(options_json)
            .map(|inner| Engine { inner, next_log: AtomicU64::new(0) })
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn faults(&self) -> Vec<String> {
        self.inner.faults().to_vec()
    }

    fn on_request<'py>(
        &self,
        py: Python<'py>,
        method: PyBackedStr,
        target: PyBackedBytes,
        headers: &Bound<'py, PyAny>,
        client_ip: Option<PyBackedStr>,
    ) -> PyResult<Option<(Exchange, Verdict)>> {
        heads::read(headers, Style::default(), |head| {
            let request = request_head(&method, &target, head.lines, client_ip.as_deref());
            begun(py, self.inner.on_request_with(Now::read, &request), b"", &head)
        })
    }

    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (method, target, request_headers, client_ip, status, headers, route=None, body=None, text=false))]
    fn on_response_late<'py>(
        &self,
        py: Python<'py>,
        method: PyBackedStr,
        target: PyBackedBytes,
        request_headers: &Bound<'py, PyAny>,
        client_ip: Option<PyBackedStr>,
        status: u16,
        headers: &Bound<'py, PyAny>,
        route: Option<PyBackedStr>,
        body: Option<PyBackedBytes>,
        text: bool,
    ) -> PyResult<Option<(Exchange, Verdict)>> {
        heads::read(request_headers, Style::default(), |asked| {
            let request = request_head(&method, &target, asked.lines, client_ip.as_deref());
            heads::read(headers, style(text), |head| {
                let response = response_head(status, head.lines, route.as_deref(), body.as_deref());
                let made = self.inner.on_response_late(Now::read(), &request, &response);
                begun(py, made, response.body.bytes(), &head)
            })
        })
    }

    /// Lines for the merchant's log, as JSON text.
    fn diagnostics(&self) -> String {
        self.inner.diagnostics()
    }

    /// Asked when an exchange ends: whether it is time, once a second, to look for lines to log.
    fn is_log_due(&self) -> bool {
        self.is_log_due_at(Now::read())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.inner.stats();
        let skips = PyDict::new(py);
        for (name, count) in stats.skips {
            skips.set_item(name, count)?;
        }
        let all = PyDict::new(py);
        all.set_item("generation", stats.generation)?;
        all.set_item("minted", stats.minted)?;
        all.set_item("described", stats.described)?;
        all.set_item("skipped", stats.skipped)?;
        all.set_item("skips", skips)?;
        all.set_item("internal_errors", stats.internal_errors)?;
        all.set_item("queued", stats.queued)?;
        all.set_item("sent", stats.sent)?;
        all.set_item("dropped", stats.dropped)?;
        all.set_item("failed_posts", stats.failed_posts)?;
        all.set_item("worker_running", stats.worker_running)?;
        Ok(all)
    }

    /// BLOCKS for `limit_ms` at most.
    fn flush(&self, py: Python<'_>, limit_ms: u64) -> bool {
        py.detach(|| self.inner.flush(Duration::from_millis(limit_ms))).is_ok()
    }

    /// BLOCKS for `limit_ms` at most. `at_exit`: without letting the interpreter go, because one that ends may not
    /// give it back; nobody else runs then.
    #[pyo3(signature = (limit_ms, at_exit=false))]
    fn shutdown(&self, py: Python<'_>, limit_ms: u64, at_exit: bool) -> bool {
        let limit = Duration::from_millis(limit_ms);
        let done = if at_exit { self.inner.shutdown(limit) } else { py.detach(|| self.inner.shutdown(limit)) };
        done.is_ok()
    }

    fn enqueue_event(&self, json: &[u8]) -> PyResult<()> {
        self.inner.enqueue_event(json).map_err(|refused| PyValueError::new_err(refused.to_string()))
    }

    fn transform_challenge<'py>(
        &self,
        py: Python<'py>,
        form: &str,
        input: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let form = match form {
            "header" => ChallengeForm::Header,
            "body" => ChallengeForm::Body,
            other => {
                return Err(PyValueError::new_err(format!("form: {other:?} does not go; use \"header\" or \"body\"")));
            }
        };
        Ok(self.inner.transform_challenge(form, input).map(|made| PyBytes::new(py, &made)))
    }

    fn enrich_receipt<'py>(&self, py: Python<'py>, value: &[u8], feedback_id: &str) -> Option<Bound<'py, PyBytes>> {
        self.inner.enrich_receipt(value, feedback_id.as_bytes()).map(|made| PyBytes::new(py, &made))
    }

    fn enrich_body<'py>(&self, py: Python<'py>, body: &[u8], feedback_id: &str) -> Option<Bound<'py, PyBytes>> {
        self.inner.enrich_body(body, feedback_id.as_bytes()).map(|made| PyBytes::new(py, &made))
    }

    fn enrich_openapi<'py>(&self, py: Python<'py>, document: &[u8]) -> Option<Bound<'py, PyBytes>> {
        self.inner.enrich_openapi(document).map(|made| PyBytes::new(py, &made))
    }

    fn mint_id(&self) -> String {
        self.inner.mint_id(Now::read()).as_str().to_owned()
    }

    /// "valid", "malformed", "bad_signature" or "expired".
    #[pyo3(signature = (feedback_id, unix_ms=None))]
    fn verify_id(&self, feedback_id: &str, unix_ms: Option<u64>) -> &'static str {
        let verification = match unix_ms {
            Some(unix_ms) => self.inner.verify_id_at(feedback_id.as_bytes(), unix_ms),
            None => self.inner.verify_id(feedback_id.as_bytes(), Now::read()),
        };
        match verification {
            Verification::Valid { .. } => "valid",
            Verification::Malformed => "malformed",
            Verification::BadSignature => "bad_signature",
            Verification::Expired => "expired",
        }
    }
}

impl Engine {
    fn is_log_due_at(&self, now: Now) -> bool {
        let due = now.monotonic_ms >= self.next_log.load(Ordering::Relaxed);
        if due {
            self.next_log.store(now.monotonic_ms + LOG_INTERVAL_MS, Ordering::Relaxed);
        }
        due
    }
}

#[pymethods]
impl Exchange {
    /// `headers`: the request's, which the verdict's edits are applied to.
    fn on_request_body<'py>(
        &self,
        py: Python<'py>,
        body: PyBackedBytes,
        headers: &Bound<'py, PyAny>,
    ) -> PyResult<Verdict> {
        let made = self.now(|exchange| exchange.on_request_body(Now::read(), &body));
        heads::read(headers, Style::default(), |head| Verdict::new(py, made.unwrap_or_default(), &body, &head))
    }

    #[pyo3(signature = (status, headers, route=None, body=None, text=false))]
    fn on_response<'py>(
        &self,
        py: Python<'py>,
        status: u16,
        headers: &Bound<'py, PyAny>,
        route: Option<PyBackedStr>,
        body: Option<PyBackedBytes>,
        text: bool,
    ) -> PyResult<Verdict> {
        heads::read(headers, style(text), |head| {
            let response = response_head(status, head.lines, route.as_deref(), body.as_deref());
            let made = self.now(|exchange| exchange.on_response(Now::read(), &response));
            Verdict::new(py, made.unwrap_or_default(), response.body.bytes(), &head)
        })
    }

    /// BLOCKS for `limit_ms` at most.
    fn wait(&self, py: Python<'_>, limit_ms: u64) -> PyResult<Verdict> {
        let made = py.detach(|| self.now(|exchange| exchange.wait(Duration::from_millis(limit_ms))));
        Verdict::new(py, made.unwrap_or_default(), b"", &Head::default())
    }

    /// `outcome`: "delivered", "aborted" or "failed"; anything else: nobody knows. `status` 0: the one judged last.
    fn end(&self, outcome: &str, status: u16, body_bytes: u64) {
        let outcome = match outcome {
            "delivered" => Some(Outcome::Delivered { status, body_bytes }),
            "aborted" => Some(Outcome::Aborted { status, body_bytes }),
            "failed" => Some(Outcome::Failed { status, body_bytes }),
            _ => None,
        };
        if let Some(exchange) = self.free().and_then(|mut inner| inner.take()) {
            exchange.end(Now::read(), outcome);
        }
    }
}

impl Exchange {
    /// `None`: it has ended, or another thread is in the middle of a call.
    fn now<T>(&self, work: impl FnOnce(&mut forge_x402::Exchange) -> T) -> Option<T> {
        self.free()?.as_mut().map(work)
    }

    /// Never waits: a thread that waits here might hold the interpreter that the other one needs.
    fn free(&self) -> Option<MutexGuard<'_, Option<forge_x402::Exchange>>> {
        self.inner.try_lock().ok()
    }
}

fn begun(
    py: Python<'_>,
    made: Option<(forge_x402::Exchange, forge_x402::Verdict)>,
    came: &[u8],
    head: &Head<'_, '_>,
) -> PyResult<Option<(Exchange, Verdict)>> {
    let Some((exchange, made)) = made else { return Ok(None) };
    Ok(Some((Exchange { inner: Mutex::new(Some(exchange)) }, Verdict::new(py, made, came, head)?)))
}

fn request_head<'a>(
    method: &'a str,
    target: &'a [u8],
    headers: &'a [forge_x402::HeaderLine<'a>],
    client_ip: Option<&'a str>,
) -> RequestHead<'a> {
    RequestHead {
        method: method.as_bytes(),
        target,
        headers,
        client_ip: client_ip.unwrap_or_default().as_bytes(),
        ..RequestHead::default()
    }
}

fn response_head<'a>(
    status: u16,
    headers: &'a [forge_x402::HeaderLine<'a>],
    route: Option<&'a str>,
    body: Option<&'a [u8]>,
) -> ResponseHead<'a> {
    let body = body.map_or(Body::Unread, Body::Whole);
    ResponseHead { status, headers, route: route.unwrap_or_default().as_bytes(), body, ..ResponseHead::default() }
}

fn style(text: bool) -> Style {
    if text { Style::Text } else { Style::Bytes }
}

/// Milliseconds between two looks for lines to log.
const LOG_INTERVAL_MS: u64 = 1_000;

/// A contained panic is counted in the stats; Rust's own report on stderr would only alarm the host's operator.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}
