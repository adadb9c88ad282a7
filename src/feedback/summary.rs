//! The summary as last heard from the backend: fresh for 30 s, fetched by one reader at a time.
//!
//! A state machine without I/O, clock or waiting: [`Summary::read`] says what a reader gets or that it is the one to
//! fetch; [`Summary::fetched`] takes what it got. A second reader never waits: it gets the last value, or 503.

use std::sync::Arc;

/// What a reader does now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Show this: fresh, or the last that was heard.
    Show(Arc<[u8]>),
    /// Fetch it, then call [`Summary::fetched`] with the ticket, whatever came of it.
    Fetch(Ticket),
    /// Nothing to show: somebody else is fetching, or the backend failed a moment ago.
    Unavailable { retry_after_s: u32 },
}

/// The right to tell what came of one fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// All times are milliseconds of one clock that never goes back.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    last: Option<(Arc<[u8]>, u64)>,
    fetching: Option<(Ticket, u64)>,
    failed_at_ms: Option<u64>,
    tickets: u64,
}

impl Summary {
    pub fn read(&mut self, now_ms: u64) -> Reading {
        if let Some((value, heard_ms)) = &self.last
            && since(*heard_ms, now_ms) < FRESH_MS
        {
            return Reading::Show(value.clone());
        }
        // A fetch whose reader vanished (a thread ended, a process forked) must not stand in the way for ever.
        let fetching = self.fetching.filter(|(_, begun_ms)| since(*begun_ms, now_ms) < ABANDONED_MS);
        let failing =
            self.failed_at_ms.map(|at_ms| FAILED_MS.saturating_sub(since(at_ms, now_ms))).filter(|left| *left > 0);
        if fetching.is_none() && failing.is_none() {
            self.tickets += 1;
            let ticket = Ticket(self.tickets);
            self.fetching = Some((ticket, now_ms));
            return Reading::Fetch(ticket);
        }
        self.stale(now_ms)
            .unwrap_or(Reading::Unavailable { retry_after_s: failing.unwrap_or(1_000).div_ceil(1_000) as u32 })
    }

    /// Takes what the backend gave (`None`: nothing that can be shown), and says what the reader who fetched shows.
    pub fn fetched(&mut self, ticket: Ticket, now_ms: u64, value: Option<&[u8]>) -> Reading {
        if self.fetching.is_some_and(|(current, _)| current == ticket) {
            self.fetching = None;
            self.failed_at_ms = value.is_none().then_some(now_ms);
        }
        match value {
            Some(json) => {
                let value: Arc<[u8]> = json.into();
                self.last = Some((value.clone(), now_ms));
                Reading::Show(value)
            }
            None => self.stale(now_ms).unwrap_or(Reading::Unavailable { retry_after_s: (FAILED_MS / 1_000) as u32 }),
        }
    }

    /// Ends a fetch that never asked the backend: nothing failed, the next reader may fetch.
    pub fn abandoned(&mut self, ticket: Ticket, now_ms: u64) -> Reading {
        if self.fetching.is_some_and(|(current, _)| current == ticket) {
            self.fetching = None;
        }
        self.stale(now_ms).unwrap_or(Reading::Unavailable { retry_after_s: 1 })
    }

    fn stale(&self, now_ms: u64) -> Option<Reading> {
        let (value, heard_ms) = self.last.as_ref()?;
        (since(*heard_ms, now_ms) < STALE_MS).then(|| Reading::Show(value.clone()))
    }
}

fn since(then_ms: u64, now_ms: u64) -> u64 {
    now_ms.saturating_sub(then_ms)
}

const FRESH_MS: u64 = 30_000;
/// How long a summary may still be shown where no newer one can be had.
const STALE_MS: u64 = 3_600_000;
/// How long a failure is remembered instead of asking again.
const FAILED_MS: u64 = 5_000;
/// A fetch has a deadline of 3 s; one that has said nothing by then will not.
const ABANDONED_MS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn show(json: &str) -> Reading {
        Reading::Show(json.as_bytes().into())
    }

    fn ticket(reading: Reading) -> Ticket {
        let Reading::Fetch(ticket) = reading else { panic!("{reading:?}") };
        ticket
    }

    #[test]
    fn e11_fifty_readers_make_one_request() {
        let mut summary = Summary::default();
        let readings: Vec<Reading> = (0..50).map(|_| summary.read(0)).collect();
        assert_eq!(readings.iter().filter(|one| matches!(one, Reading::Fetch(_))).count(), 1);
        assert!(readings[1..].iter().all(|one| *one == Reading::Unavailable { retry_after_s: 1 }));
        assert_eq!(summary.fetched(ticket(readings[0].clone()), 2_000, Some(b"{}")), show("{}"));
        assert_eq!(summary.read(31_999), show("{}"));
    }

    #[test]
    fn e11_while_one_fetches_again_the_others_see_the_last_value() {
        let mut summary = Summary::default();
        let first = ticket(summary.read(0));
        summary.fetched(first, 0, Some(b"1"));
        let second = ticket(summary.read(30_000));
        assert_eq!(summary.read(30_001), show("1"));
        assert_eq!(summary.fetched(second, 30_500, Some(b"2")), show("2"));
        assert_eq!(summary.read(60_499), show("2"));
    }

    #[test]
    fn a_fetch_that_never_asked_is_no_failure() {
        let mut summary = Summary::default();
        let first = ticket(summary.read(0));
        assert_eq!(summary.abandoned(first, 10), Reading::Unavailable { retry_after_s: 1 });
        let second = ticket(summary.read(20));
        // The first one's word comes too late to count.
        summary.abandoned(first, 30);
        assert_eq!(summary.read(40), Reading::Unavailable { retry_after_s: 1 });
        summary.fetched(second, 50, Some(b"1"));
        let third = ticket(summary.read(40_000));
        assert_eq!(summary.abandoned(third, 40_001), show("1"));
    }

    #[test]
    fn e11_a_failure_is_remembered_briefly() {
        let mut summary = Summary::default();
        let first = ticket(summary.read(0));
        assert_eq!(summary.fetched(first, 3_000, None), Reading::Unavailable { retry_after_s: 5 });
        assert_eq!(summary.read(4_500), Reading::Unavailable { retry_after_s: 4 });
        assert_eq!(summary.read(7_999), Reading::Unavailable { retry_after_s: 1 });
        let again = ticket(summary.read(8_000));
        summary.fetched(again, 8_000, Some(b"1"));
        let later = ticket(summary.read(40_000));
        assert_eq!(summary.fetched(later, 43_000, None), show("1"));
        assert_eq!(summary.read(43_001), show("1"));
        // An hour on, the old value is no longer told.
        let last = ticket(summary.read(8_000 + 3_600_000));
        assert_eq!(summary.fetched(last, 3_608_001, None), Reading::Unavailable { retry_after_s: 5 });
    }

    #[test]
    fn a_fetch_that_never_ends_is_given_up_and_its_late_end_frees_nobody_else() {
        let mut summary = Summary::default();
        let lost = ticket(summary.read(0));
        assert_eq!(summary.read(9_999), Reading::Unavailable { retry_after_s: 1 });
        let second = ticket(summary.read(10_000));
        summary.fetched(lost, 10_001, None);
        assert_eq!(summary.read(10_002), Reading::Unavailable { retry_after_s: 1 });
        summary.fetched(second, 10_003, Some(b"2"));
        assert_eq!(summary.read(10_004), show("2"));
    }
}
