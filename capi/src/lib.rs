//! The C interface of forge-x402: conversions between C's view and the engine's, nothing else.
//!
//! `abi/` holds what C sees, one file per section of include/forge_x402.h, which is generated from these files; their
//! doc comments are the manual. The other files turn spans, structs and verdicts from one view into the other.
//!
//! Every entry runs inside [`guard::guard`]: a panic, here or in the engine, becomes `FX402_E_INTERNAL`. A crate of its
//! own, because exported functions of a dependency would leak into every Python and Node module that links the engine.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// The rules R1 to R10 at the top of the header are the safety contract of every function.
#![allow(clippy::missing_safety_doc, non_camel_case_types)]

mod abi;
mod guard;
mod headers;
mod input;
mod lend;
mod out;
mod sized;
mod span;
