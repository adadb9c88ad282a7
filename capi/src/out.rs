//! Handles in, plain out pointers out.

use std::sync::atomic::Ordering;

use forge_x402::Engine;
use forge_x402::sys::fork;

use crate::abi::handles::{fx402_engine, fx402_exchange};
use crate::abi::status::FX402_E_ARG;
use crate::guard::Fault;

/// Writes what a call that fails leaves behind: NULL, 0, an empty buffer.
///
/// # Safety
/// `to` is NULL or writable.
#[inline(always)]
pub(crate) unsafe fn clear<T>(to: *mut T, empty: T) {
    if !to.is_null() && to.is_aligned() {
        // SAFETY: not NULL, aligned, writable; T is plain data.
        unsafe { to.write(empty) };
    }
}

/// Where a result goes.
///
/// # Safety
/// `to` is NULL or writable, and was written by [`clear`].
#[inline(always)]
pub(crate) unsafe fn slot<'a, T>(to: *mut T) -> Result<&'a mut T, Fault> {
    if to.is_null() || !to.is_aligned() {
        return Err(Fault::new(FX402_E_ARG, "an out pointer is NULL or not aligned"));
    }
    // SAFETY: not NULL, aligned, written by `clear`.
    Ok(unsafe { &mut *to })
}

/// # Safety
/// `e` is NULL or a live engine.
#[inline(always)]
pub(crate) unsafe fn engine<'a>(e: *const fx402_engine) -> Result<&'a Engine, Fault> {
    // SAFETY: the caller's promise.
    match unsafe { e.as_ref() } {
        Some(handle) => Ok(&handle.engine),
        None => Err(Fault::new(FX402_E_ARG, "the engine is NULL")),
    }
}

/// Whether this process has shut the engine down.
///
/// # Safety
/// `e` is a live engine.
pub(crate) unsafe fn is_closed(e: *const fx402_engine) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*e).closed_in.load(Ordering::Relaxed) == fork::generation() }
}

/// # Safety
/// `e` is a live engine.
pub(crate) unsafe fn close(e: *const fx402_engine) {
    // SAFETY: the caller's promise.
    unsafe { (*e).closed_in.store(fork::generation(), Ordering::Relaxed) }
}

/// # Safety
/// `ex` is NULL or a live exchange that no other thread is in (rule R5).
#[inline(always)]
pub(crate) unsafe fn exchange<'a>(ex: *mut fx402_exchange) -> Result<&'a mut fx402_exchange, Fault> {
    // SAFETY: the caller's promise.
    unsafe { ex.as_mut() }.ok_or_else(|| Fault::new(FX402_E_ARG, "the exchange is NULL"))
}
