//! Time as an argument: the system's clock, or one that a test moves by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

pub const MINUTE_MS: i64 = 60_000;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;

#[derive(Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// A clock that stands still until `set` is called.
    pub fn fixed(now_ms: i64) -> Self {
        Self(Some(Arc::new(AtomicI64::new(now_ms))))
    }

    pub fn set(&self, now_ms: i64) {
        if let Some(fixed) = &self.0 {
            fixed.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Unix time in milliseconds.
    pub fn now_ms(&self) -> i64 {
        match &self.0 {
            Some(fixed) => fixed.load(Ordering::Relaxed),
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
        }
    }
}

/// `2026-11-30T14:15:16Z`; an instant outside the calendar is shown as its number.
pub fn rfc3339(unix_ms: i64) -> String {
    jiff::Timestamp::from_second(unix_ms.div_euclid(1000)).map_or_else(|_| unix_ms.to_string(), |time| time.to_string())
}
