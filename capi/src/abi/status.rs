//! Status numbers. Never an enum by value: a number the compiler does not know would be undefined behaviour.

/// Zero is success. Numbers are never reused; treat one you do not know as a failure.
pub type fx402_status = i32;

pub const FX402_OK: i32 = 0;
/// NULL, an absurd length, broken packed headers, a flag or number nobody knows, a call in the wrong state.
pub const FX402_E_ARG: i32 = 1;
/// Header and library disagree, or struct_size is too small.
pub const FX402_E_ABI: i32 = 2;
/// The message says which option and why.
pub const FX402_E_CONFIG: i32 = 3;
/// The time limit passed first.
pub const FX402_E_TIMEOUT: i32 = 4;
/// After fx402_engine_shutdown.
pub const FX402_E_CLOSED: i32 = 5;
/// The input is larger than the cap.
pub const FX402_E_LIMIT: i32 = 6;
/// What was handed in is no challenge, JSON or amount that goes; the message says why. (Client functions.)
pub const FX402_E_INPUT: i32 = 7;
/// A payment that would break a limit; nothing was booked. (Client functions.)
pub const FX402_E_BUDGET: i32 = 8;
/// A contained panic; counted in the stats.
pub const FX402_E_INTERNAL: i32 = 100;
