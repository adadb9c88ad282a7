//! The end of an exchange: what became of the answer.

use super::{Exchange, Phase};
use crate::sys::clock::Now;

/// How the answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it was handed to the network.
    Delivered { status: u16, body_bytes: u64 },
    /// The client went away first.
    Aborted { status: u16, body_bytes: u64 },
    /// The handler threw.
    Failed { status: u16, body_bytes: u64 },
}

impl Exchange {
    /// Ends the exchange. `None`: nobody knows how it ended.
    pub fn end(mut self, now: Now, outcome: Option<Outcome>) {
        self.phase = Phase::Done;
        let _ = (now, outcome, self.started);
    }
}
