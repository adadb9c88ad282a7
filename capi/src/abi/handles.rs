//! The two things that C holds by pointer.

use forge_x402::{Engine, Exchange, Verdict};

use super::verdict::fx402_edit;

/// A merchant's engine: shared, counted; exchanges keep it alive.
pub struct fx402_engine {
    pub(crate) engine: Engine,
}

/// One HTTP exchange and the memory that its verdict points into.
pub struct fx402_exchange {
    pub(crate) exchange: Exchange,
    pub(crate) verdict: Verdict,
    pub(crate) edits: Vec<fx402_edit>,
}
