//! What the engine needs from the operating system: the fork generation, randomness, the clocks, quiet threads.
//!
//! Each file is one small promise; nothing here knows of HTTP, JSON or payments, and nothing here reads the
//! environment.

pub mod clock;
pub mod fork;
pub mod random;
pub mod signals;
