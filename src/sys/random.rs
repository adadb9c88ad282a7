//! Random bytes that nobody can guess and no other process has.
//!
//! Bytes come from the operating system through a small pool per thread (a system call for every id would cost three
//! times the id). The pool is tied to the fork generation, so a forked child never hands out its parent's bytes, and
//! bytes are wiped as they leave. The pool has no destructor: a thread may outlive an unloaded library.

use crate::sys::fork;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Six bytes of operating-system randomness: the random part of a feedback id. Never blocks once the system has
/// booted, never fails (see `fill`).
#[inline]
pub fn six_bytes() -> [u8; 6] {
    array()
}

/// Any small number of such bytes.
#[inline]
pub fn array<const N: usize>() -> [u8; N] {
    const { assert!(N <= POOL_BYTES) };
    let mut out = [0; N];
    // SAFETY: as in `fill`.
    POOL.with(|pool| unsafe { &mut *pool.get() }.take(&mut out));
    out
}

/// Fills `out` with operating-system randomness.
///
/// If the operating system refuses (a sandbox without getrandom and /dev/urandom), the bytes come from SHA-256 over the
/// kernel's start-up bytes, the clocks, the process, the thread and a counter: still different in every call.
#[inline]
pub fn fill(out: &mut [u8]) {
    if out.len() > POOL_BYTES {
        return from_system(out);
    }
    // A thread that is being torn down still has its pool: without a destructor the slot stays usable.
    POOL.with(|pool| {
        // SAFETY: the pool belongs to this thread and `take` calls nothing that could come back here.
        unsafe { &mut *pool.get() }.take(out)
    });
}

const POOL_BYTES: usize = 1_024;

struct Pool {
    generation: u64,
    left: usize,
    bytes: [u8; POOL_BYTES],
}

thread_local! {
    static POOL: UnsafeCell<Pool> = const {
        UnsafeCell::new(Pool { generation: 0, left: 0, bytes: [0; POOL_BYTES] })
    };
}

impl Pool {
    #[inline(always)]
    fn take(&mut self, out: &mut [u8]) {
        let generation = fork::generation();
        if self.generation != generation || self.left < out.len() {
            self.refill(generation);
        }
        let from = self.left - out.len();
        out.copy_from_slice(&self.bytes[from..self.left]);
        wipe(&mut self.bytes[from..self.left]);
        self.left = from;
    }

    #[cold]
    fn refill(&mut self, generation: u64) {
        self.left = 0;
        from_system(&mut self.bytes);
        self.left = POOL_BYTES;
        self.generation = generation;
    }
}

#[inline]
fn wipe(bytes: &mut [u8]) {
    for byte in bytes {
        // SAFETY: a valid reference; volatile so that the store to bytes nobody reads again is not dropped.
        unsafe { std::ptr::write_volatile(byte, 0) };
    }
}

fn from_system(out: &mut [u8]) {
    if getrandom::fill(out).is_err() {
        without_system(out);
    }
}

#[cold]
fn without_system(out: &mut [u8]) {
    use sha2::{Digest, Sha256};
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    for chunk in out.chunks_mut(32) {
        let mut hash = Sha256::new();
        hash.update(startup_bytes());
        hash.update(std::process::id().to_le_bytes());
        hash.update(fork::generation().to_le_bytes());
        hash.update(COUNTER.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        hash.update((&raw const chunk as usize).to_le_bytes());
        if let Ok(now) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
            hash.update(now.as_nanos().to_le_bytes());
        }
        chunk.copy_from_slice(&hash.finalize()[..chunk.len()]);
    }
}

/// The 16 random bytes the kernel gives every program at its start.
fn startup_bytes() -> [u8; 16] {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // SAFETY: getauxval has no preconditions.
        let at = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const [u8; 16];
        if !at.is_null() {
            // SAFETY: AT_RANDOM points to 16 bytes that stay for the life of the process.
            return unsafe { *at };
        }
    }
    [0; 16]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn f06_a_million_draws_of_eight_threads_are_all_different() {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn(|| {
                    (0..125_000)
                        .map(|_| {
                            let mut draw = [0; 16];
                            fill(&mut draw);
                            draw
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let mut seen = HashSet::new();
        for thread in threads {
            for draw in thread.join().unwrap() {
                assert!(seen.insert(draw));
            }
        }
        assert_eq!(seen.len(), 1_000_000);
    }

    #[test]
    fn every_length_is_filled() {
        for length in [0, 1, 6, 16, 1_023, 1_024, 1_025, 5_000] {
            let mut out = vec![0; length];
            fill(&mut out);
            let zeros = out.iter().filter(|byte| **byte == 0).count();
            assert!(length < 16 || zeros < length / 8, "{zeros} zeros in {length}");
        }
    }

    #[test]
    fn bytes_that_left_the_pool_are_wiped() {
        let draw = six_bytes();
        POOL.with(|pool| {
            // SAFETY: this thread's pool, no other borrow alive.
            let pool = unsafe { &*pool.get() };
            assert!(pool.bytes[pool.left..].iter().all(|byte| *byte == 0));
            assert!(!pool.bytes[..pool.left].windows(6).any(|six| six == draw));
        });
    }

    #[test]
    fn a_pool_of_another_generation_is_thrown_away() {
        let mut pool = Pool { generation: fork::generation() + 1_000, left: POOL_BYTES, bytes: [7; POOL_BYTES] };
        let mut draw = [0; 16];
        pool.take(&mut draw);
        assert_ne!(draw, [7; 16]);
        assert_eq!(pool.generation, fork::generation());
    }

    #[test]
    fn a_system_without_randomness_still_gives_different_bytes() {
        let mut seen = HashSet::new();
        for _ in 0..1_000 {
            let mut draw = [0; 40];
            without_system(&mut draw);
            assert!(seen.insert(draw));
        }
    }
}
