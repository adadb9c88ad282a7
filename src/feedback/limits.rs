//! How often ratings may be tried: wrong ids per client, submissions per id, each within a minute from its first.
//!
//! The backend would count as well; this keeps one agent in a loop, or somebody who guesses ids, from reaching it.
//! Bounded: where more clients or ids come than there is room for, the longest unused is forgotten.

use crate::bounded::{Bounded, Keyer};

/// Wrong ids that one client may send within a minute.
pub(crate) const WRONG_IDS: u32 = 30;
/// Ratings that may be sent for one id within a minute.
pub(crate) const SUBMISSIONS: u32 = 10;

/// Refused, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// At least 1, at most 60.
    pub retry_after_s: u32,
}

/// The counts of one engine. All times are milliseconds of one clock that never goes back.
pub(crate) struct Limits {
    keyer: Keyer,
    wrong_ids: Bounded<Window>,
    submissions: Bounded<Window>,
}

impl Limits {
    pub fn new() -> Self {
        Limits { keyer: Keyer::new(), wrong_ids: Bounded::new(CAPACITY), submissions: Bounded::new(CAPACITY) }
    }

    /// Whether a client may still have an id looked at. One that has sent too many wrong ids learns nothing
    /// more, not even whether the next is right. `client` is its address, empty where the host knows none: then all such callers
    /// share a count, and are never refused before the look.
    pub fn client_may_ask(&mut self, client: &[u8], now_ms: u64) -> Result<(), Refused> {
        if client.is_empty() {
            return Ok(());
        }
        let key = self.keyer.key(WRONG_ID, &[client]);
        self.wrong_ids.get(key).map_or(Ok(()), |window| window.check(WRONG_IDS, now_ms))
    }

    /// Counts a wrong id; refused once there were too many.
    pub fn count_wrong_id(&mut self, client: &[u8], now_ms: u64) -> Result<(), Refused> {
        let key = self.keyer.key(WRONG_ID, &[client]);
        self.wrong_ids.get_or_insert_with(key, || Window::at(now_ms)).0.count(WRONG_IDS, now_ms)
    }

    /// Counts a rating of an id that is ours; refused once there were too many.
    pub fn count_submission(&mut self, feedback_id: &str, now_ms: u64) -> Result<(), Refused> {
        let key = self.keyer.key(SUBMISSION, &[feedback_id.as_bytes()]);
        self.submissions.get_or_insert_with(key, || Window::at(now_ms)).0.count(SUBMISSIONS, now_ms)
    }
}

/// A minute that begins with the first thing counted in it.
struct Window {
    start_ms: u64,
    counted: u32,
}

impl Window {
    fn at(now_ms: u64) -> Self {
        Window { start_ms: now_ms, counted: 0 }
    }

    fn count(&mut self, limit: u32, now_ms: u64) -> Result<(), Refused> {
        if self.age(now_ms) >= WINDOW_MS {
            *self = Window::at(now_ms);
        }
        self.check(limit, now_ms)?;
        self.counted += 1;
        Ok(())
    }

    fn check(&self, limit: u32, now_ms: u64) -> Result<(), Refused> {
        let left = WINDOW_MS.saturating_sub(self.age(now_ms));
        if left == 0 || self.counted < limit {
            return Ok(());
        }
        Err(Refused { retry_after_s: left.div_ceil(1000) as u32 })
    }

    fn age(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.start_ms)
    }
}

const WINDOW_MS: u64 = 60_000;
/// Clients, and ids, that are remembered at once.
const CAPACITY: usize = 4_096;
/// Purposes of keys, so that an id is never a client.
const WRONG_ID: u8 = 1;
const SUBMISSION: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &[u8] = b"192.0.2.1";

    #[test]
    fn f02_the_thirty_first_wrong_id_of_a_client_is_refused_for_the_rest_of_the_minute() {
        let mut limits = Limits::new();
        for _ in 0..30 {
            assert_eq!(limits.client_may_ask(CLIENT, 1_000), Ok(()));
            assert_eq!(limits.count_wrong_id(CLIENT, 1_000), Ok(()));
        }
        assert_eq!(limits.client_may_ask(CLIENT, 1_000), Err(Refused { retry_after_s: 60 }));
        assert_eq!(limits.count_wrong_id(CLIENT, 60_001), Err(Refused { retry_after_s: 1 }));
        assert_eq!(limits.client_may_ask(b"192.0.2.2", 1_000), Ok(()));
        assert_eq!(limits.client_may_ask(CLIENT, 61_000), Ok(()));
        assert_eq!(limits.count_wrong_id(CLIENT, 61_000), Ok(()));
    }

    #[test]
    fn f02_callers_without_an_address_share_a_count_and_keep_their_right_ids() {
        let mut limits = Limits::new();
        for _ in 0..30 {
            assert_eq!(limits.count_wrong_id(b"", 0), Ok(()));
        }
        assert_eq!(limits.count_wrong_id(b"", 0), Err(Refused { retry_after_s: 60 }));
        assert_eq!(limits.client_may_ask(b"", 0), Ok(()));
    }

    #[test]
    fn e12_an_id_is_rated_ten_times_a_minute_at_most() {
        let mut limits = Limits::new();
        let passed = (0..200).filter(|_| limits.count_submission("one", 5).is_ok()).count();
        assert_eq!(passed, 10);
        assert_eq!(limits.count_submission("two", 5), Ok(()));
        assert_eq!(limits.count_submission("one", 60_005), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_the_longest_unused_goes() {
        let mut limits = Limits::new();
        for _ in 0..SUBMISSIONS {
            limits.count_submission("first", 0).unwrap();
        }
        for other in 0..CAPACITY {
            limits.count_submission(&other.to_string(), 1).unwrap();
        }
        assert_eq!(limits.submissions.len(), CAPACITY);
        assert_eq!(limits.count_submission("first", 2), Ok(()));
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_opens_nothing_and_overflows_nothing() {
        let mut limits = Limits::new();
        for _ in 0..SUBMISSIONS {
            limits.count_submission("one", u64::MAX).unwrap();
        }
        assert_eq!(limits.count_submission("one", 0), Err(Refused { retry_after_s: 60 }));
    }
}
