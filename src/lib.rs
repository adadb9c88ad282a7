//! forge-x402: the engine.

pub mod backend;
pub mod bounded;
pub mod sys;
