//! forge-x402: the engine.
