//! When to try again: full jitter, so that many processes that failed together do not come back together.

use crate::sys::random;
use std::time::{Duration, SystemTime};

/// Delays that double from 2 s to 60 s, each drawn between nothing and its bound.
#[derive(Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The delay after one more failure, in milliseconds.
    pub fn next_delay_ms(&mut self) -> u64 {
        let bound = FIRST_MS << self.failures.min(10);
        self.failures = self.failures.saturating_add(1);
        between_0_and(bound.min(LAST_MS))
    }

    /// It worked: the next failure starts from the beginning.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// A random number of milliseconds, 0 to `bound`.
pub fn between_0_and(bound_ms: u64) -> u64 {
    let mut draw = [0; 8];
    random::fill(&mut draw);
    // Multiply and shift: the bias of a 64-bit draw over an hour is below anything a clock shows.
    ((u128::from(u64::from_le_bytes(draw)) * (u128::from(bound_ms) + 1)) >> 64) as u64
}

/// A Retry-After value in milliseconds from now: seconds or an HTTP date. At most an hour, whatever it says.
pub fn retry_after_ms(value: &str, now: SystemTime) -> Option<u64> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let date = httpdate::parse_http_date(value).ok()?;
        date.duration_since(now).unwrap_or_default()
    };
    Some(wait.min(LONGEST).as_millis() as u64)
}

const FIRST_MS: u64 = 2_000;
const LAST_MS: u64 = 60_000;
const LONGEST: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e06_delays_are_spread_from_nothing_to_a_bound_that_grows_to_a_minute() {
        let bounds = [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
        let mut highest = [0; 7];
        let mut lowest = [u64::MAX; 7];
        for _ in 0..2_000 {
            let mut backoff = Backoff::default();
            for step in 0..bounds.len() {
                let delay = backoff.next_delay_ms();
                assert!(delay <= bounds[step]);
                highest[step] = highest[step].max(delay);
                lowest[step] = lowest[step].min(delay);
            }
        }
        for step in 0..bounds.len() {
            assert!(highest[step] > bounds[step] * 9 / 10, "step {step}: {}", highest[step]);
            assert!(lowest[step] < bounds[step] / 10, "step {step}: {}", lowest[step]);
        }
    }

    /// 200 processes whose first delivery is within 2 s and fails, and so does every later one: their first 6 s.
    #[test]
    fn p27_no_tenth_of_a_second_gets_four_times_the_mean() {
        for _ in 0..20 {
            let mut times = Vec::new();
            for _ in 0..200 {
                let mut backoff = Backoff::default();
                let mut at = between_0_and(2_000);
                while at < 6_000 {
                    times.push(at);
                    at += backoff.next_delay_ms();
                }
            }
            let mean = times.len() as f64 / 60.0;
            let within = |from: u64| times.iter().filter(|at| (from..from + 100).contains(*at)).count();
            let densest = times.iter().map(|from| within(*from)).max().unwrap();
            assert!((densest as f64) < 4.0 * mean, "{densest} against {mean:.1}");
        }
    }

    #[test]
    fn a_thousand_failures_do_not_overflow_and_success_starts_over() {
        let mut backoff = Backoff::default();
        for _ in 0..1_000 {
            assert!(backoff.next_delay_ms() <= 60_000);
        }
        backoff.reset();
        assert!((0..50).all(|_| {
            backoff.reset();
            backoff.next_delay_ms() <= 2_000
        }));
    }

    #[test]
    fn p26_retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Mon, 30 Nov 2026 10:00:00 GMT").unwrap();
        for (value, expected) in [
            ("7", Some(7_000)),
            (" 7 ", Some(7_000)),
            ("0", Some(0)),
            ("Mon, 30 Nov 2026 10:00:30 GMT", Some(30_000)),
            ("Mon, 30 Nov 2026 09:00:00 GMT", Some(0)),
            ("99999999999999999999999", Some(3_600_000)),
            ("-1", None),
            ("7.5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after_ms(value, now), expected, "{value:?}");
        }
    }
}
