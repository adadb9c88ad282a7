//! Node-API face of the engine: conversions, nothing else.
//!
//! Heads cross as one Latin-1 string, `name\nvalue\nname\nvalue` (a header holds no newline, and Node keeps header bytes
//! as Latin-1 characters), because one string costs less than an array of twenty; so do verdicts, see verdict.rs. Bodies
//! come as Buffers and go as Latin-1 strings. What blocks runs on libuv's thread pool and gives a promise. Every method
//! carries `catch_unwind`: the engine has a guard of its own, this one covers the conversions.

mod blocking;
mod client;
mod engine;
mod exchange;
mod heads;
mod stats;
mod verdict;
