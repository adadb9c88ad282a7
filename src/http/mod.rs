//! HTTP facts the engine needs: header look-up and sizes, base64 JSON header values, where a body may be
//! edited, and what an origin is. Knows JSON, knows nothing of x402.

pub(crate) mod body_gate;
pub(crate) mod caching;
pub(crate) mod envelope;
pub(crate) mod head;
pub(crate) mod origin;

pub(crate) use head::{Line, find};
