//! What library is this, and is it sound.

use std::ffi::{CStr, c_char};

use forge_x402::{Engine, Verification};

use super::status::*;
use super::values::fx402_error;
use crate::guard::{self, Fault, guard};

/// The ABI of the library that is loaded, laid out as FX402_ABI. Compare the upper half with FX402_ABI_MAJOR.
#[unsafe(no_mangle)]
pub extern "C" fn fx402_abi_version() -> u32 {
    ABI
}

/// The version of the library that is loaded, such as "1.4.2". Static.
#[unsafe(no_mangle)]
pub extern "C" fn fx402_version() -> *const c_char {
    text(concat!(env!("CARGO_PKG_VERSION"), "\0"))
}

/// One line for a bug report: version, commit, compiler, target, TLS provider. Static; its form may change.
#[unsafe(no_mangle)]
pub extern "C" fn fx402_build_info() -> *const c_char {
    text(concat!(
        "forge-x402 ",
        env!("CARGO_PKG_VERSION"),
        "; commit ",
        env!("FX402_COMMIT"),
        "; ",
        env!("FX402_RUSTC"),
        "; ",
        env!("FX402_TARGET"),
        "; TLS rustls with ring\0"
    ))
}

/// A few words for a status. Static, never NULL, also for numbers nobody knows.
#[unsafe(no_mangle)]
pub extern "C" fn fx402_status_text(s: fx402_status) -> *const c_char {
    text(match s {
        FX402_OK => "success\0",
        FX402_E_ARG => "bad argument\0",
        FX402_E_ABI => "header and library disagree\0",
        FX402_E_CONFIG => "bad options\0",
        FX402_E_TIMEOUT => "the time limit passed\0",
        FX402_E_CLOSED => "the engine was shut down\0",
        FX402_E_LIMIT => "input is too large\0",
        FX402_E_INPUT => "not the input it should be\0",
        FX402_E_BUDGET => "over the budget\0",
        FX402_E_INTERNAL => "a defect inside was contained\0",
        _ => "unknown status\0",
    })
}

/// Proves on this machine that the library works. what is the sum of: 1 ids come out as published vectors say; 2 a real
/// panic is contained; 4 the TLS provider can be set up. 0 means all of them. Takes milliseconds, needs no engine and
/// reaches for no network.
///
/// FX402_E_ARG: a bit that nobody knows. FX402_E_INTERNAL: a test failed; err says which.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_selftest(what: u32, err: *mut fx402_error) -> fx402_status {
    guard::silence_panics();
    // SAFETY: rule R2.
    unsafe {
        guard(err, || {
            if what & !(IDS | PANIC | TLS) != 0 {
                return Err(Fault::new(FX402_E_ARG, "what: a bit that this version does not know"));
            }
            let wanted = |bit| what == 0 || what & bit != 0;
            let failed = |what| Fault::new(FX402_E_INTERNAL, what);
            if wanted(IDS) && !ids_hold() {
                return Err(failed("ids do not come out as the published vectors say"));
            }
            if wanted(PANIC) && !panics_are_contained() {
                return Err(failed("a panic was not contained"));
            }
            if wanted(TLS) {
                forge_x402::backend::tls_selftest().map_err(|why| Fault::new(FX402_E_INTERNAL, why))?;
            }
            Ok(())
        })
    }
}

fn ids_hold() -> bool {
    let Ok(engine) = Engine::open(br#"{"api_key":"ffk_test_0123456789abcdef","strict":true}"#) else { return false };
    let at = 1_796_000_000_999;
    engine.verify_id_at(b"awzJAAABAgMEBU0fS7Pmqw", at) == Verification::Valid { issued_ms: 1_796_000_000_000 }
        && engine.verify_id_at(b"awzJAAABAgMEBU0fS7Pmqg", at) == Verification::BadSignature
        && engine.verify_id_at(b"awzJAAABAgMEBU0fS7Pmq", at) == Verification::Malformed
}

/// One panic in the engine under its own guard, one here under the guard that every function runs in.
#[allow(clippy::panic)]
fn panics_are_contained() -> bool {
    if !Engine::panic_contained() || !forge_x402::contained_here() {
        return false;
    }
    // SAFETY: NULL is a caller that wants no message.
    let status = unsafe { guard(std::ptr::null_mut(), || std::panic::panic_any("self-test")) };
    status == FX402_E_INTERNAL
}

fn text(with_nul: &'static str) -> *const c_char {
    CStr::from_bytes_with_nul(with_nul.as_bytes()).unwrap_or_default().as_ptr()
}

const IDS: u32 = 1;
const PANIC: u32 = 2;
const TLS: u32 = 4;
/// FX402_ABI in the header, which a test in C compares with this.
pub(crate) const ABI: u32 = (ABI_MAJOR << 16) | ABI_MINOR;
pub(crate) const ABI_MAJOR: u32 = 1;
const ABI_MINOR: u32 = 0;
