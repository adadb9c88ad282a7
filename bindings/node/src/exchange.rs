//! One request and its answer, and then another one: making an object that Node's collector must tell us of costs more than
//! all that is done with it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use forge_x402::{Now, Outcome};
use napi::bindgen_prelude::{AsyncTask, Result, Status};
use napi::{Env, Error, JsString};
use napi_derive::napi;

use crate::blocking::Wait;
use crate::heads::{body, split, with_response};
use crate::verdict;

/// One request and its answer; begun by the engine, and once it has ended, again.
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
    pub fn begin(&self, exchange: forge_x402::Exchange) -> Result<()> {
        let slot = &mut *enter(&self.slot);
        if !matches!(slot, Slot::Ended) {
            return Err(Error::new(Status::InvalidArg, "the exchange has not ended"));
        }
        *slot = Slot::Here(exchange);
        Ok(())
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
    /// One that has not begun.
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Exchange {
        Exchange { slot: Arc::new(Mutex::new(Slot::Ended)) }
    }

    /// The body that the verdict on the request asked for; of a longer one the first `body_limit + 1` bytes.
    #[napi(catch_unwind)]
    pub fn on_request_body<'env>(&self, env: &'env Env, body: &[u8]) -> Result<JsString<'env>> {
        verdict::tell(env, self.with(|exchange| exchange.on_request_body(Now::read(), body)), body)
    }

    /// The response's head, which ends at `response` in `scratch`; the same head again with the body that was asked for.
    #[napi(catch_unwind)]
    pub fn on_response<'env>(
        &self,
        env: &'env Env,
        scratch: &[u8],
        response: u32,
        status: u32,
        body_size: i32,
        body_apart: Option<&[u8]>,
    ) -> Result<JsString<'env>> {
        let (head, behind) = split(scratch, response);
        let body = body(behind, body_size, body_apart);
        let made = with_response(head, status, body, |response| {
            self.with(|exchange| exchange.on_response(Now::read(), response))
        });
        verdict::tell(env, made, body.bytes())
    }

    /// After a verdict that says wait: asks the backend on another thread, for `limit_ms` at most.
    #[napi(catch_unwind)]
    pub fn wait(&self, limit_ms: f64) -> AsyncTask<Wait> {
        // Taken now: by the time that a thread is free, the exchange may have ended and the slot serve another.
        let mut slot = enter(&self.slot);
        let exchange = match std::mem::replace(&mut *slot, Slot::Away { ended: None }) {
            Slot::Here(exchange) => Some(exchange),
            other => {
                *slot = other;
                None
            }
        };
        drop(slot);
        AsyncTask::new(Wait { slot: self.slot.clone(), exchange, limit: Duration::from_millis(limit_ms as u64) })
    }

    /// Ends the exchange; `outcome` counts delivered, aborted, failed, anything else says that nobody knows. Whether it may begin
    /// again: not while another thread asks the backend.
    #[napi(catch_unwind)]
    pub fn end(&self, outcome: u32, status: u32, body_bytes: f64) -> bool {
        let (status, body_bytes) = (status as u16, body_bytes as u64);
        let outcome = match outcome {
            0 => Some(Outcome::Delivered { status, body_bytes }),
            1 => Some(Outcome::Aborted { status, body_bytes }),
            2 => Some(Outcome::Failed { status, body_bytes }),
            _ => None,
        };
        let mut slot = enter(&self.slot);
        match std::mem::replace(&mut *slot, Slot::Ended) {
            Slot::Here(exchange) => exchange.end(Now::read(), outcome),
            Slot::Away { ended } => *slot = Slot::Away { ended: ended.or(Some(outcome)) },
            Slot::Ended => {}
        }
        matches!(*slot, Slot::Ended)
    }
}

pub fn enter(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
