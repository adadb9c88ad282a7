//! Node-API face of the engine: conversions, nothing else.
//!
//! Heads cross as Latin-1 text in one buffer, `name\nvalue\nname\nvalue` (a header holds no newline, and Node keeps header bytes
//! as Latin-1 characters), because that costs less than an array of twenty strings; a verdict goes as one string, see
//! verdict.rs. Larger bodies come as Buffers. What blocks runs on libuv's thread pool and gives a promise. Every method
//! carries `catch_unwind`: the engine has a guard of its own, this one covers the conversions.

mod blocking;
mod client;
mod engine;
mod exchange;
mod heads;
mod stats;
mod verdict;
