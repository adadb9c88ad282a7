//! The calls that block, run on libuv's thread pool; each has a limit. The event loop never waits for one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use forge_x402::Now;
use napi::bindgen_prelude::Result;
use napi::{Env, JsString, ScopedTask, Task};

use crate::exchange::{Slot, enter};
use crate::verdict;

/// Asks the backend for an exchange, which comes back to its slot; resolves with the verdict.
pub struct Wait {
    pub slot: Arc<Mutex<Slot>>,
    /// `None`: it was away or had ended.
    pub exchange: Option<forge_x402::Exchange>,
    pub limit: Duration,
}

impl<'task> ScopedTask<'task> for Wait {
    type Output = forge_x402::Verdict;
    type JsValue = JsString<'task>;

    fn compute(&mut self) -> Result<forge_x402::Verdict> {
        // The lock is not held while waiting: the loop may end the exchange at any time.
        let Some(mut exchange) = self.exchange.take() else { return Ok(forge_x402::Verdict::pass()) };
        let made = exchange.wait(self.limit);
        let mut slot = enter(&self.slot);
        match std::mem::replace(&mut *slot, Slot::Ended) {
            Slot::Away { ended: Some(outcome) } => exchange.end(Now::read(), outcome),
            _ => *slot = Slot::Here(exchange),
        }
        Ok(made)
    }

    fn resolve(&mut self, env: &'task Env, made: forge_x402::Verdict) -> Result<JsString<'task>> {
        verdict::tell(env, made, b"")
    }
}

/// Resolves with whether everything handed in before was sent, or dropped and counted, within the limit.
pub struct Flush {
    pub engine: forge_x402::Engine,
    pub limit: Duration,
}

impl Task for Flush {
    type Output = bool;
    type JsValue = bool;

    fn compute(&mut self) -> Result<bool> {
        Ok(self.engine.flush(self.limit).is_ok())
    }

    fn resolve(&mut self, _env: Env, sent: bool) -> Result<bool> {
        Ok(sent)
    }
}

/// Resolves with the number of events that were lost, and counted.
pub struct Shutdown {
    pub engine: forge_x402::Engine,
    pub limit: Duration,
}

impl Task for Shutdown {
    type Output = f64;
    type JsValue = f64;

    fn compute(&mut self) -> Result<f64> {
        Ok(self.engine.shutdown(self.limit).err().map_or(0.0, |lost| lost.events as f64))
    }

    fn resolve(&mut self, _env: Env, lost: f64) -> Result<f64> {
        Ok(lost)
    }
}
