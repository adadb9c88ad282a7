//! The agent's half and open402, over texts: client.py and open402.py make values of them.

use std::sync::{Mutex, PoisonError};

use forge_x402::client::{self, Amount};
use forge_x402::open402;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::heads::{self, Style};

/// What an agent may spend.
#[pyclass(frozen, module = "forge_x402._native")]
pub(crate) struct ClientBudget {
    inner: Mutex<client::Budget>,
}

#[pymethods]
impl ClientBudget {
    #[new]
    fn new(limits_json: &[u8]) -> PyResult<ClientBudget> {
        Ok(ClientBudget { inner: Mutex::new(client::Budget::from_json(limits_json).map_err(refused)?) })
    }

    /// "call", "minute" or "day": the limit it would break.
    fn check(&self, now_ms: u64, amount: &[u8], decimals: Option<u8>) -> PyResult<Option<&'static str>> {
        let amount = Amount::from_text(amount, decimals).map_err(refused)?;
        Ok(self.with(|budget| budget.check(now_ms, amount).err().map(|over| over.as_str())))
    }

    /// As `check`, and books it where the answer is nothing.
    fn spend(&self, now_ms: u64, amount: &[u8], decimals: Option<u8>) -> PyResult<Option<&'static str>> {
        let amount = Amount::from_text(amount, decimals).map_err(refused)?;
        Ok(self.with(|budget| budget.spend(now_ms, amount).err().map(|over| over.as_str())))
    }

    fn left_today(&self, now_ms: u64) -> String {
        self.with(|budget| budget.left_today(now_ms).to_string())
    }
}

impl ClientBudget {
    fn with<T>(&self, work: impl FnOnce(&mut client::Budget) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pyfunction]
pub(crate) fn client_parse_challenge(
    status: u16,
    headers: &Bound<'_, PyAny>,
    body: PyBackedBytes,
) -> PyResult<Vec<u8>> {
    heads::read(headers, Style::Bytes, |head| {
        Ok(client::parse_challenge(status, head.lines, &body).map_err(refused)?.to_json())
    })
}

#[pyfunction]
pub(crate) fn client_parse_diagnostic(headers: &Bound<'_, PyAny>, body: PyBackedBytes) -> PyResult<Option<Vec<u8>>> {
    heads::read(headers, Style::Bytes, |head| {
        Ok(client::parse_diagnostic(head.lines, &body).map(|found| found.to_json()))
    })
}

#[pyfunction]
pub(crate) fn client_decide(diagnostic_json: &[u8], state_json: &[u8]) -> PyResult<Vec<u8>> {
    client::decide_json(diagnostic_json, state_json).map_err(refused)
}

#[pyfunction]
pub(crate) fn client_escalation_event(diagnostic_json: &[u8], call_json: &[u8]) -> PyResult<Vec<u8>> {
    client::escalation_event_json(diagnostic_json, call_json).map_err(refused)
}

#[pyfunction]
pub(crate) fn open402_parse_challenge(value: &[u8]) -> PyResult<Vec<u8>> {
    Ok(open402::Challenge::parse(value).map_err(refused)?.to_json())
}

#[pyfunction]
pub(crate) fn open402_build_challenge(json: &[u8]) -> PyResult<String> {
    open402::Challenge::header_of_json(json).map_err(refused)
}

#[pyfunction]
pub(crate) fn open402_parse_proof(value: &[u8]) -> PyResult<Vec<u8>> {
    Ok(open402::Proof::parse(value).map_err(refused)?.to_json())
}

#[pyfunction]
pub(crate) fn open402_build_proof(json: &[u8]) -> PyResult<String> {
    open402::Proof::header_of_json(json).map_err(refused)
}

#[pyfunction]
pub(crate) fn open402_json_schema() -> &'static str {
    open402::json_schema()
}

#[pyfunction]
pub(crate) fn open402_service_hash(description: PyBackedStr) -> String {
    open402::service_hash(&description)
}

#[pyfunction]
pub(crate) fn open402_replay_headers(now_ms: u64, random: [u8; 16]) -> Vec<(&'static str, String)> {
    open402::replay_headers(now_ms, random).into()
}

fn refused(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(why.to_string())
}
