//! A lock that is asked for a moment and then given up: what a request may wait for another thread.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// The guard, if the mutex comes free within a few hundred turns. `None` is for the caller to count and to live without.
///
/// Not a plain `lock`: its holder may be descheduled, or may have been another thread when the process forked.
pub(crate) fn enter<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for turn in 0..TURNS {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            // A panic in between left whole values behind: each update ends before the next begins.
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if turn < SPINS => std::hint::spin_loop(),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// Spins first, then turns given to other threads.
const TURNS: u32 = 512;
const SPINS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_given_up() {
        let mutex = Mutex::new(1);
        let held = mutex.lock().unwrap();
        std::thread::scope(|scope| scope.spawn(|| assert!(enter(&mutex).is_none())).join().unwrap());
        drop(held);
        assert_eq!(enter(&mutex).as_deref(), Some(&1));
    }
}
