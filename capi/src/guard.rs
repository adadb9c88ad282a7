//! The guard at each entry: a fault becomes a status and a message, a panic becomes `FX402_E_INTERNAL`.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::status::{FX402_E_INTERNAL, FX402_OK, fx402_status};
use crate::abi::values::fx402_error;
use crate::sized;

/// Why a call failed.
pub(crate) struct Fault {
    pub status: fx402_status,
    pub message: Cow<'static, str>,
}

impl Fault {
    pub fn new(status: fx402_status, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault { status, message: message.into() }
    }
}

/// Runs `work`, tells `err` (may be NULL) of a fault and gives the status.
///
/// # Safety
/// `err` is NULL or points to an `fx402_error` of at least its own `struct_size` bytes.
#[inline]
pub(crate) unsafe fn guard(err: *mut fx402_error, work: impl FnOnce() -> Result<(), Fault>) -> fx402_status {
    let caught = catch_unwind(AssertUnwindSafe(|| {
        point::maybe_panic();
        work()
    }));
    let fault = match caught {
        // The engine contains its own panics and lets the traffic pass; the caller is still to hear of it.
        Ok(Ok(())) if !forge_x402::contained_here() => return FX402_OK,
        Ok(Ok(())) => internal(),
        Ok(Err(fault)) => fault,
        Err(payload) => {
            forge_x402::drop_payload(payload);
            internal()
        }
    };
    // SAFETY: the caller's promise.
    unsafe { sized::write_error(err, &fault) };
    fault.status
}

#[cold]
fn internal() -> Fault {
    Fault::new(FX402_E_INTERNAL, "a defect inside; nothing was changed; please report it")
}

/// Silences the message that a panic prints: rule R9, no stdio. The hook belongs to this library's own copy of std, so no
/// other Rust code of the process is silenced (linked statically into a Rust program it is the program's).
pub(crate) fn silence_panics() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Relaxed) && !DONE.swap(true, Ordering::Relaxed) {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

/// Where the tests make a call panic; nothing in a library that ships.
#[cfg(not(feature = "panic_points"))]
mod point {
    #[inline(always)]
    pub fn maybe_panic() {}
}

#[cfg(feature = "panic_points")]
mod point {
    use std::sync::atomic::{AtomicU32, Ordering};

    static ARMED: AtomicU32 = AtomicU32::new(0);

    /// Arms the next guarded call: 1 panics in the conversions, 2 in the engine under its own guard.
    #[unsafe(no_mangle)]
    pub extern "C" fn fx402_test_panic_next(place: u32) {
        ARMED.store(place, Ordering::SeqCst);
    }

    #[allow(clippy::panic)]
    pub fn maybe_panic() {
        match ARMED.swap(0, Ordering::SeqCst) {
            1 => std::panic::panic_any("armed by the test"),
            2 => _ = forge_x402::Engine::panic_contained(),
            _ => {}
        }
    }
}
