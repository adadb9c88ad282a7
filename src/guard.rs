//! The panic guard: a defect inside becomes "change nothing", counted, never an unwind into the host.
//!
//! Containment lives here and not in the bindings, because a binding cannot be forgotten then.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `work`; where it panics, calls `count` and gives `fallback`.
pub(crate) fn run<T>(count: impl FnOnce(), fallback: impl FnOnce() -> T, work: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => value,
        Err(payload) => {
            contain(payload);
            count();
            fallback()
        }
    }
}

#[cold]
#[inline(never)]
fn contain(payload: Box<dyn Any + Send>) {
    drop_payload(payload);
    EVER.store(true, Ordering::Relaxed);
    HERE.set(true);
}

/// Drops what a panic carried; its destructor may panic too.
pub fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        std::mem::forget(second);
    }
}

/// Whether a panic was contained on this thread since the last time this was asked: for bindings that tell their
/// caller. Costs one load as long as there never was one.
#[inline]
pub fn contained_here() -> bool {
    EVER.load(Ordering::Relaxed) && HERE.replace(false)
}

static EVER: AtomicBool = AtomicBool::new(false);

thread_local! {
    // Without a destructor: a thread may outlive an unloaded library.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p32_a_panic_becomes_the_fallback_and_is_counted() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("and once more while the payload is dropped");
            }
        }
        let mut counted = 0;
        let value = run(|| counted += 1, || 7, || std::panic::panic_any(Bomb));
        assert_eq!((value, counted), (7, 1));
        assert!(contained_here() && !contained_here(), "told once");
    }
}
