//! JSON as bytes: where things are, and how to add or cut without touching the rest.
//!
//! Nothing here builds a tree or writes a value back: a document is checked once, whole, and every answer
//! is a byte range of the caller's text. This room knows nothing of x402.

pub(crate) mod escape;
pub(crate) mod outline;
mod runs;
pub(crate) mod scan;
mod skip;
pub(crate) mod splice;

pub(crate) use outline::{At, Found, Outline};
pub(crate) use scan::{Fault, Kind, Members, Slot};
pub(crate) use splice::Splice;
