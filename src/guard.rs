//! The panic guard: a defect inside becomes "change nothing", counted, never an unwind into the host.
//!
//! Containment lives here and not in the bindings, because a binding cannot be forgotten then.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; where it panics, calls `count` and gives `fallback`.
/// The payload is dropped under a guard of its own: its destructor may panic too.
pub(crate) fn run<T>(count: impl FnOnce(), fallback: impl FnOnce() -> T, work: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => value,
        Err(payload) => {
            if let Err(second) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
                std::mem::forget(second);
            }
            count();
            fallback()
        }
    }
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
    }
}
