//! Node-API face of the engine: conversions, nothing else.
//!
//! Heads cross as one Latin-1 string, `name\nvalue\nname\nvalue` (a header holds no newline, and Node keeps header bytes
//! as Latin-1 characters), because one string costs less than an array of twenty. Bodies cross as Buffers. Every method
//! carries `catch_unwind`: the engine has a guard of its own, this one covers the conversions.

use std::sync::Once;

use forge_x402::{Action, Body, ChallengeForm, EditOp, HeaderLine, Now, Outcome, RequestHead, ResponseHead};
use napi::bindgen_prelude::{Buffer, Null, Result, Status};
use napi::{Either, Env, Error, JsString};
use napi_derive::napi;

/// A merchant's engine.
#[napi]
pub struct Engine {
    inner: forge_x402::Engine,
}

/// One request and its answer.
#[napi]
pub struct Exchange {
    inner: Option<forge_x402::Exchange>,
}

/// What to do now. `edits` is `op\nname\nvalue` repeated, op one of S(et), A(dd), R(emove).
#[napi(object, object_from_js = false)]
pub struct Verdict<'env> {
    /// 0 pass, 1 reply, 2 want body, 3 wait.
    pub action: u32,
    pub http_status: u32,
    pub edits: JsString<'env>,
    pub target: Option<JsString<'env>>,
    pub body: Option<Buffer>,
    pub feedback_id: Option<String>,
    pub body_limit: u32,
}

/// An exchange that began, with the verdict of its first phase.
#[napi(object, object_from_js = false)]
pub struct Begun<'env> {
    pub exchange: Exchange,
    pub verdict: Verdict<'env>,
}

#[napi(object, object_from_js = false)]
pub struct Stats {
    pub generation: f64,
    pub minted: f64,
    pub described: f64,
    pub skipped: f64,
    pub skips: std::collections::HashMap<String, f64>,
    pub internal_errors: f64,
}

#[napi]
impl Engine {
    /// Opens an engine from a JSON object of options; throws in strict mode on a bad one.
    #[napi(constructor, catch_unwind)]
    pub fn new(options_json: String) -> Result<Engine> {
        silence_panics();
        forge_x402::Engine::open(options_json.as_bytes())
            .map(|inner| Engine { inner })
            .map_err(|error| Error::new(Status::InvalidArg, error.to_string()))
    }

    /// Why the engine is off; empty when it is on.
    #[napi(catch_unwind)]
    pub fn faults(&self) -> Vec<String> {
        self.inner.faults().to_vec()
    }

    /// `null`: nothing to do before the response.
    #[napi(catch_unwind)]
    pub fn on_request<'env>(
        &self,
        env: &'env Env,
        method: JsString<'env>,
        target: JsString<'env>,
        headers: JsString<'env>,
        client_ip: JsString<'env>,
    ) -> Result<Either<Begun<'env>, Null>> {
        let (method, target) = (method.into_latin1()?, target.into_latin1()?);
        let (headers, client_ip) = (headers.into_latin1()?, client_ip.into_latin1()?);
        let lines = lines(headers.as_slice());
        let head = RequestHead {
            method: method.as_slice(),
            target: target.as_slice(),
            client_ip: client_ip.as_slice(),
            headers: &lines,
            ..RequestHead::default()
        };
        begun(env, self.inner.on_request(Now::read(), &head))
    }

    /// For a request that got `null` and is answered 402. `null`: let the response pass.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)]
    pub fn on_response_late<'env>(
        &self,
        env: &'env Env,
        method: JsString<'env>,
        target: JsString<'env>,
        request_headers: JsString<'env>,
        client_ip: JsString<'env>,
        status: u32,
        headers: JsString<'env>,
        body: Option<Buffer>,
        body_none: bool,
    ) -> Result<Either<Begun<'env>, Null>> {
        let (method, target) = (method.into_latin1()?, target.into_latin1()?);
        let (request_headers, client_ip, headers) =
            (request_headers.into_latin1()?, client_ip.into_latin1()?, headers.into_latin1()?);
        let (request_lines, response_lines) = (lines(request_headers.as_slice()), lines(headers.as_slice()));
        let request = RequestHead {
            method: method.as_slice(),
            target: target.as_slice(),
            client_ip: client_ip.as_slice(),
            headers: &request_lines,
            ..RequestHead::default()
        };
        let response = response_head(status, &response_lines, body.as_deref(), body_none);
        begun(env, self.inner.on_response_late(Now::read(), &request, &response))
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

    #[napi(catch_unwind)]
    pub fn stats(&self) -> Stats {
        let stats = self.inner.stats();
        Stats {
            generation: stats.generation as f64,
            minted: stats.minted as f64,
            described: stats.described as f64,
            skipped: stats.skipped as f64,
            skips: stats.skips.into_iter().map(|(name, count)| (name.to_owned(), count as f64)).collect(),
            internal_errors: stats.internal_errors as f64,
        }
    }
}

#[napi]
impl Exchange {
    /// The response's head; the same head again with the body that was asked for.
    #[napi(catch_unwind)]
    pub fn on_response<'env>(
        &mut self,
        env: &'env Env,
        status: u32,
        headers: JsString<'env>,
        body: Option<Buffer>,
        body_none: bool,
    ) -> Result<Verdict<'env>> {
        let headers = headers.into_latin1()?;
        let lines = lines(headers.as_slice());
        let response = response_head(status, &lines, body.as_deref(), body_none);
        let made = match &mut self.inner {
            Some(exchange) => exchange.on_response(Now::read(), &response),
            None => forge_x402::Verdict::pass(),
        };
        verdict(env, made)
    }

    /// Ends the exchange; `outcome` is "delivered", "aborted" or "failed".
    #[napi(catch_unwind)]
    pub fn end(&mut self, outcome: String, status: u32, body_bytes: f64) {
        let (status, body_bytes) = (status as u16, body_bytes as u64);
        let outcome = match outcome.as_str() {
            "delivered" => Some(Outcome::Delivered { status, body_bytes }),
            "aborted" => Some(Outcome::Aborted { status, body_bytes }),
            "failed" => Some(Outcome::Failed { status, body_bytes }),
            _ => None,
        };
        if let Some(exchange) = self.inner.take() {
            exchange.end(Now::read(), outcome);
        }
    }
}

fn begun<'env>(
    env: &'env Env,
    made: Option<(forge_x402::Exchange, forge_x402::Verdict)>,
) -> Result<Either<Begun<'env>, Null>> {
    match made {
        None => Ok(Either::B(Null)),
        Some((exchange, made)) => {
            Ok(Either::A(Begun { exchange: Exchange { inner: Some(exchange) }, verdict: verdict(env, made)? }))
        }
    }
}

fn verdict(env: &Env, made: forge_x402::Verdict) -> Result<Verdict<'_>> {
    let mut edits = Vec::with_capacity(256);
    for edit in &made.edits {
        if !edits.is_empty() {
            edits.push(b'\n');
        }
        edits.extend_from_slice(match edit.op {
            EditOp::Set => b"S\n",
            EditOp::Add => b"A\n",
            EditOp::Remove => b"R\n",
        });
        edits.extend_from_slice(edit.name.as_bytes());
        edits.push(b'\n');
        edits.extend_from_slice(&edit.value);
    }
    Ok(Verdict {
        action: match made.action {
            Action::Pass => 0,
            Action::Reply => 1,
            Action::WantBody => 2,
            Action::Wait => 3,
        },
        http_status: made.http_status.into(),
        edits: env.create_string_latin1(&edits)?,
        target: made.target.map(|target| env.create_string_latin1(&target)).transpose()?,
        body: made.body.map(Buffer::from),
        feedback_id: made.feedback_id,
        body_limit: u32::try_from(made.body_limit).unwrap_or(u32::MAX),
    })
}

fn response_head<'a>(
    status: u32,
    headers: &'a [HeaderLine<'a>],
    body: Option<&'a [u8]>,
    body_none: bool,
) -> ResponseHead<'a> {
    let body = match body {
        Some(body) => Body::Whole(body),
        None if body_none => Body::None,
        None => Body::Unread,
    };
    ResponseHead { status: u16::try_from(status).unwrap_or(0), headers, body, ..ResponseHead::default() }
}

fn lines(flat: &[u8]) -> Vec<HeaderLine<'_>> {
    let mut parts = flat.split(|&byte| byte == b'\n');
    let mut lines = Vec::with_capacity(24);
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        lines.push((name, value));
    }
    lines
}

/// A contained panic is counted in the stats; Rust's own report on stderr would only alarm the host's operator.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}
