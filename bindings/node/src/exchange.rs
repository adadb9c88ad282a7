//! One request and its answer.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use forge_x402::{Now, Outcome};
use napi::bindgen_prelude::{AsyncTask, Result};
use napi::{Env, JsString};
use napi_derive::napi;

use crate::blocking::Wait;
use crate::heads::{lines, response_head};
use crate::verdict::{self, Verdict};

/// One request and its answer.
#[napi]
pub struct Exchange {
    slot: Arc<Mutex<Slot>>,
}

/// Where the engine's exchange is.
#[expect(clippy::large_enum_variant, reason = "each stands alone on the heap, behind its mutex")]
pub enum Slot {
    Here(forge_x402::Exchange),
    /// On another thread, asking the backend; `ended`: how it is to end when it comes back.
    Away {
        ended: Option<Option<Outcome>>,
    },
    Ended,
}

impl Exchange {
    pub fn new(exchange: forge_x402::Exchange) -> Exchange {
        Exchange { slot: Arc::new(Mutex::new(Slot::Here(exchange))) }
    }

    /// Calls on an exchange that is away or has ended pass.
    fn with(&self, work: impl FnOnce(&mut forge_x402::Exchange) -> forge_x402::Verdict) -> forge_x402::Verdict {
        match &mut *enter(&self.slot) {
            Slot::Here(exchange) => work(exchange),
            Slot::Away { .. } | Slot::Ended => forge_x402::Verdict::pass(),
        }
    }
}

#[napi]
impl Exchange {
    /// The body that the verdict on the request asked for; of a longer one the first `body_limit + 1` bytes.
    #[napi(catch_unwind)]
    pub fn on_request_body<'env>(&self, env: &'env Env, body: &[u8]) -> Result<Verdict<'env>> {
        verdict::convert(env, self.with(|exchange| exchange.on_request_body(Now::read(), body)))
    }

    /// The response's head; the same head again with the body that was asked for.
    #[napi(catch_unwind)]
    pub fn on_response<'env>(
        &self,
        env: &'env Env,
        status: u32,
        route: JsString<'env>,
        headers: JsString<'env>,
        body: Option<&[u8]>,
        body_none: bool,
    ) -> Result<Verdict<'env>> {
        let (route, headers) = (route.into_utf8()?, headers.into_latin1()?);
        let lines = lines(headers.as_slice());
        let response = response_head(status, route.as_slice(), &lines, body, body_none);
        verdict::convert(env, self.with(|exchange| exchange.on_response(Now::read(), &response)))
    }

    /// After a verdict that says wait: asks the backend on another thread, for `limit_ms` at most.
    #[napi(catch_unwind)]
    pub fn wait(&self, limit_ms: f64) -> AsyncTask<Wait> {
        AsyncTask::new(Wait { slot: self.slot.clone(), limit: Duration::from_millis(limit_ms as u64) })
    }

    /// Ends the exchange; `outcome` is "delivered", "aborted" or "failed", anything else says that nobody knows.
    #[napi(catch_unwind)]
    pub fn end(&self, outcome: String, status: u32, body_bytes: f64) {
        let (status, body_bytes) = (status as u16, body_bytes as u64);
        let outcome = match outcome.as_str() {
            "delivered" => Some(Outcome::Delivered { status, body_bytes }),
            "aborted" => Some(Outcome::Aborted { status, body_bytes }),
            "failed" => Some(Outcome::Failed { status, body_bytes }),
            _ => None,
        };
        let mut slot = enter(&self.slot);
        match std::mem::replace(&mut *slot, Slot::Ended) {
            Slot::Here(exchange) => exchange.end(Now::read(), outcome),
            Slot::Away { ended } => *slot = Slot::Away { ended: ended.or(Some(outcome)) },
            Slot::Ended => {}
        }
    }
}

pub fn enter(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
