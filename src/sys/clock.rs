//! Both clocks, read together: the wall clock for what is written down, the monotonic one for what is waited for.

/// One reading of the clocks. Time is an argument everywhere in the engine; this is where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970-01-01 UTC; 0 if the wall clock stands before that. May jump either way.
    pub unix_ms: u64,
    /// Milliseconds since an arbitrary point, the same for every process of one boot. Never goes back.
    pub monotonic_ms: u64,
}

impl Now {
    /// Reads both clocks. Does not block and cannot fail.
    pub fn read() -> Now {
        Now { unix_ms: unix_ms(), monotonic_ms: monotonic_ms() }
    }
}

/// The wall clock in milliseconds since 1970-01-01 UTC, 0 before that.
pub fn unix_ms() -> u64 {
    match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        Err(_) => 0,
    }
}

/// The monotonic clock in milliseconds since an arbitrary point.
#[cfg(unix)]
pub fn monotonic_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec; CLOCK_MONOTONIC exists wherever libc declares it. On failure the zeros stay.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000).wrapping_add(time.tv_nsec as u64 / 1_000_000)
}

/// The monotonic clock in milliseconds since the first reading of this process.
#[cfg(not(unix))]
pub fn monotonic_ms() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_move_with_real_time() {
        let before = Now::read();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let after = Now::read();
        assert!(before.unix_ms > 1_600_000_000_000, "a date after 2020: {}", before.unix_ms);
        let monotonic = after.monotonic_ms - before.monotonic_ms;
        assert!((19..5_000).contains(&monotonic), "slept 20 ms, saw {monotonic}");
    }
}
