//! The three things that C holds by pointer.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use forge_x402::client::Budget;
use forge_x402::{Engine, Exchange, Verdict};

use super::verdict::fx402_edit;

/// A merchant's engine: shared, counted; exchanges keep it alive.
pub struct fx402_engine {
    pub(crate) engine: Engine,
    /// The fork generation that shut it down, 0 for none: a child of that process may still send.
    pub(crate) closed_in: AtomicU64,
}

/// One HTTP exchange and the memory that its verdict points into.
pub struct fx402_exchange {
    pub(crate) exchange: Exchange,
    /// Without its body, which stands next to it in one piece.
    pub(crate) verdict: Verdict,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) edits: Vec<fx402_edit>,
}

/// What an agent may spend, and has spent.
pub struct fx402_budget {
    pub(crate) budget: Mutex<Budget>,
}
