//! A merchant's engine.

use std::sync::Once;
use std::time::Duration;

use forge_x402::{ChallengeForm, Now};
use napi::bindgen_prelude::{AsyncTask, Buffer, Result, Status};
use napi::{Env, Error, JsString};
use napi_derive::napi;

use crate::blocking::{Flush, Shutdown};
use crate::exchange::Exchange;
use crate::heads::{body, split, with_request, with_response};
use crate::stats::Stats;
use crate::verdict;

/// A merchant's engine.
#[napi]
pub struct Engine {
    inner: forge_x402::Engine,
}

#[napi]
impl Engine {
    /// Opens an engine from a JSON object of options; throws in strict mode on a bad one.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options_json: String) -> Result<Engine> {
        silence_panics();
        let inner = forge_x402::Engine::open(options_json.as_bytes())
            .map_err(|error| Error::new(Status::InvalidArg, error.to_string()))?;
        end_with(env, &inner)?;
        Ok(Engine { inner })
    }

    /// Why the engine is off; empty when it is on.
    #[napi(catch_unwind)]
    pub fn faults(&self) -> Vec<String> {
        self.inner.faults().to_vec()
    }

    /// `null`: nothing to do before the response. Else `exchange`, a new one or one that has ended, begins. The first `length`
    /// bytes of `scratch` are the request's head, see heads.rs.
    #[napi(catch_unwind)]
    pub fn on_request<'env>(
        &self,
        env: &'env Env,
        scratch: &[u8],
        length: u32,
        exchange: &Exchange,
    ) -> Result<Option<JsString<'env>>> {
        let (head, _) = split(scratch, length);
        begin(env, exchange, with_request(head, |request| self.inner.on_request_with(Now::read, request)), b"")
    }

    /// For a request that got `null` and is answered 402. `null`: let the response pass. The request's head ends at `request` in
    /// `scratch`, the response's at `response`.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)]
    pub fn on_response_late<'env>(
        &self,
        env: &'env Env,
        scratch: &[u8],
        request: u32,
        response: u32,
        status: u32,
        body_size: i32,
        body_apart: Option<&[u8]>,
        exchange: &Exchange,
    ) -> Result<Option<JsString<'env>>> {
        let (heads, behind) = split(scratch, response);
        let (request, response) = split(heads, request);
        let body = body(behind, body_size, body_apart);
        let made = with_request(request, |request| {
            with_response(response, status, body, |response| {
                self.inner.on_response_late(Now::read(), request, response)
            })
        });
        begin(env, exchange, made, body.bytes())
    }

    #[napi(catch_unwind)]
    pub fn transform_challenge(&self, form: String, input: Buffer) -> Option<Buffer> {
        let form = if form == "header" { ChallengeForm::Header } else { ChallengeForm::Body };
        self.inner.transform_challenge(form, &input).map(Buffer::from)
    }

    #[napi(catch_unwind)]
    pub fn enrich_receipt(&self, value: Buffer, id: String) -> Option<Buffer> {
        self.inner.enrich_receipt(&value, id.as_bytes()).map(Buffer::from)
    }

    #[napi(catch_unwind)]
    pub fn enrich_body(&self, body: Buffer, id: String) -> Option<Buffer> {
        self.inner.enrich_body(&body, id.as_bytes()).map(Buffer::from)
    }

    #[napi(catch_unwind)]
    pub fn mint_id(&self) -> String {
        self.inner.mint_id(Now::read()).as_str().to_owned()
    }

    /// "valid", "malformed", "bad_signature" or "expired".
    #[napi(catch_unwind)]
    pub fn verify_id(&self, id: String, now_ms: Option<f64>) -> &'static str {
        let verification = match now_ms {
            Some(now_ms) => self.inner.verify_id_at(id.as_bytes(), now_ms as u64),
            None => self.inner.verify_id(id.as_bytes(), Now::read()),
        };
        match verification {
            forge_x402::Verification::Valid { .. } => "valid",
            forge_x402::Verification::Malformed => "malformed",
            forge_x402::Verification::BadSignature => "bad_signature",
            forge_x402::Verification::Expired => "expired",
        }
    }

    /// An OpenAPI document with what agents need to know; `null`: serve the original.
    #[napi(catch_unwind)]
    pub fn enrich_openapi(&self, document: Buffer) -> Option<Buffer> {
        self.inner.enrich_openapi(&document).map(Buffer::from)
    }

    /// Hands in an event as JSON; throws where it is none.
    #[napi(catch_unwind)]
    pub fn enqueue_event(&self, json: String) -> Result<()> {
        self.inner.enqueue_event(json.as_bytes()).map_err(|refused| Error::new(Status::InvalidArg, refused.to_string()))
    }

    #[napi(catch_unwind)]
    pub fn stats(&self) -> Stats {
        self.inner.stats().into()
    }

    /// Takes the lines for the log, as a JSON array.
    #[napi(catch_unwind)]
    pub fn diagnostics(&self) -> String {
        self.inner.diagnostics()
    }

    #[napi(catch_unwind)]
    pub fn flush(&self, limit_ms: f64) -> AsyncTask<Flush> {
        AsyncTask::new(Flush { engine: self.inner.clone(), limit: Duration::from_millis(limit_ms as u64) })
    }

    /// BLOCKS the caller; for the end of the process, when no loop runs any more.
    #[napi(catch_unwind)]
    pub fn flush_sync(&self, limit_ms: f64) -> bool {
        self.inner.flush(Duration::from_millis(limit_ms as u64)).is_ok()
    }

    #[napi(catch_unwind)]
    pub fn shutdown(&self, limit_ms: f64) -> AsyncTask<Shutdown> {
        AsyncTask::new(Shutdown { engine: self.inner.clone(), limit: Duration::from_millis(limit_ms as u64) })
    }
}

/// Panics, inside the engine's guard or in a conversion. For self-tests: neither may end the process.
#[napi(catch_unwind)]
pub fn provoke_panic(inside: bool) -> bool {
    silence_panics();
    if inside { forge_x402::Engine::panic_contained() } else { panic!("self-test") }
}

/// An engine ends with the environment that opened it: a worker thread of Node leaves no thread of ours behind.
fn end_with(env: &Env, engine: &forge_x402::Engine) -> Result<()> {
    env.add_env_cleanup_hook(engine.clone(), |engine| {
        let _ = engine.shutdown(LAST_MOMENT);
    })?;
    Ok(())
}

/// A contained panic is counted in the stats; Rust's own report on stderr would only alarm the host's operator.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

fn begin<'env>(
    env: &'env Env,
    exchange: &Exchange,
    made: Option<(forge_x402::Exchange, forge_x402::Verdict)>,
    came: &[u8],
) -> Result<Option<JsString<'env>>> {
    let Some((begun, made)) = made else { return Ok(None) };
    exchange.begin(begun)?;
    verdict::tell(env, made, came).map(Some)
}

/// What an environment that ends gives the backend, so that it is not kept waiting.
const LAST_MOMENT: Duration = Duration::from_millis(80);
