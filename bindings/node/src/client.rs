//! The agent's half and open402, over texts: lib/client.js and lib/open402.js make values of them.
//!
//! Headers cross as UTF-8 here, not as the Latin-1 of heads.rs: what a program hands in may hold any character, and none may
//! turn into a quote.

use forge_x402::client::{self, Amount};
use forge_x402::open402;
use napi::Error;
use napi::bindgen_prelude::{Buffer, Result, Status};
use napi_derive::napi;

use crate::heads::lines;

/// The challenge of a response as JSON; throws where there is nothing to pay.
#[napi(catch_unwind)]
pub fn client_parse_challenge(status: u32, headers: String, body: Buffer) -> Result<String> {
    let status = u16::try_from(status).unwrap_or(0);
    let challenge = client::parse_challenge(status, &lines(headers.as_bytes()), &body).map_err(refused)?;
    text(challenge.to_json())
}

/// The diagnostic of a response as JSON.
#[napi(catch_unwind)]
pub fn client_parse_diagnostic(headers: String, body: Buffer) -> Result<Option<String>> {
    client::parse_diagnostic(&lines(headers.as_bytes()), &body).map(|found| text(found.to_json())).transpose()
}

#[napi(catch_unwind)]
pub fn client_decide(diagnostic_json: String, state_json: String) -> Result<String> {
    text(client::decide_json(diagnostic_json.as_bytes(), state_json.as_bytes()).map_err(refused)?)
}

#[napi(catch_unwind)]
pub fn client_escalation_event(diagnostic_json: String, call_json: String) -> Result<String> {
    text(client::escalation_event_json(diagnostic_json.as_bytes(), call_json.as_bytes()).map_err(refused)?)
}

/// What an agent may spend.
#[napi]
pub struct ClientBudget {
    inner: client::Budget,
}

#[napi]
impl ClientBudget {
    #[napi(constructor, catch_unwind)]
    pub fn new(limits_json: String) -> Result<ClientBudget> {
        Ok(ClientBudget { inner: client::Budget::from_json(limits_json.as_bytes()).map_err(refused)? })
    }

    /// "call", "minute" or "day": the limit it would break.
    #[napi(catch_unwind)]
    pub fn check(&mut self, now_ms: f64, amount: String, decimals: Option<u32>) -> Result<Option<&'static str>> {
        let amount = amount_of(&amount, decimals)?;
        Ok(self.inner.check(now_ms as u64, amount).err().map(|over| over.as_str()))
    }

    /// As `check`, and books it where the answer is nothing.
    #[napi(catch_unwind)]
    pub fn spend(&mut self, now_ms: f64, amount: String, decimals: Option<u32>) -> Result<Option<&'static str>> {
        let amount = amount_of(&amount, decimals)?;
        Ok(self.inner.spend(now_ms as u64, amount).err().map(|over| over.as_str()))
    }

    #[napi(catch_unwind)]
    pub fn left_today(&mut self, now_ms: f64) -> String {
        self.inner.left_today(now_ms as u64).to_string()
    }
}

#[napi(catch_unwind)]
pub fn open402_parse_challenge(value: String) -> Result<String> {
    text(open402::Challenge::parse(value.as_bytes()).map_err(refused)?.to_json())
}

#[napi(catch_unwind)]
pub fn open402_build_challenge(json: String) -> Result<String> {
    open402::Challenge::header_of_json(json.as_bytes()).map_err(refused)
}

#[napi(catch_unwind)]
pub fn open402_parse_proof(value: String) -> Result<String> {
    text(open402::Proof::parse(value.as_bytes()).map_err(refused)?.to_json())
}

#[napi(catch_unwind)]
pub fn open402_build_proof(json: String) -> Result<String> {
    open402::Proof::header_of_json(json.as_bytes()).map_err(refused)
}

#[napi(catch_unwind)]
pub fn open402_json_schema() -> &'static str {
    open402::json_schema()
}

#[napi(catch_unwind)]
pub fn open402_service_hash(description: String) -> String {
    open402::service_hash(&description)
}

/// Timestamp and nonce.
#[napi(catch_unwind)]
pub fn open402_replay_headers(now_ms: f64, random: Buffer) -> Result<Vec<String>> {
    let random: [u8; 16] = random.as_ref().try_into().map_err(|_| refused("random: not 16 bytes"))?;
    Ok(open402::replay_headers(now_ms as u64, random).into_iter().map(|(_, value)| value).collect())
}

fn amount_of(amount: &str, decimals: Option<u32>) -> Result<Amount> {
    let decimals = decimals.map(|decimals| u8::try_from(decimals).unwrap_or(u8::MAX));
    Amount::from_text(amount.as_bytes(), decimals).map_err(refused)
}

fn text(json: Vec<u8>) -> Result<String> {
    String::from_utf8(json).map_err(refused)
}

fn refused(why: impl std::fmt::Display) -> Error {
    Error::new(Status::InvalidArg, why.to_string())
}
