//! Two refusals before a payment is looked at: a request sent twice, and a payer that comes too often.
//!
//! Both are options, off by default, and both are careful with people who have paid: a nonce is given back unless the answer was a
//! 2xx, no request is refused for its age (paying on a chain takes as long as it takes), and nobody else's requests under a payer's
//! name use up that payer's share. Answers are data; nothing is sent from here.
//!
//! The guard catches a request replayed as it is while its nonce is remembered. The nonce is not signed together with the payment, so that a
//! stolen credential with a fresh nonce passes; whether a payment was spent is for the facilitator to say.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bounded::{Bounded, Key, Keyer};
use crate::brief_lock::enter;
use crate::diagnostic::place;
use crate::dialect::open402::ReplayFields;
use crate::http::head::HeaderLine;
use crate::sys::random;

/// An answer instead of the merchant's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: u16,
    /// JSON, in the words of the ag402 gateway, which diagnostics and clients know.
    pub body: Vec<u8>,
    /// Seconds, for `Retry-After`, where waiting helps.
    pub retry_after_s: Option<u64>,
}

/// The nonces of paid open402 requests, as long as they count.
pub(crate) struct ReplayGuard {
    window_ms: u64,
    keyer: Keyer,
    seen: Mutex<Bounded<Nonce>>,
    unguarded: AtomicU64,
}

#[derive(Clone, Copy)]
struct Nonce {
    since_ms: u64,
    ticket: u64,
}

/// A nonce that is in use until [`ReplayGuard::finish`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Reservation(Option<(Key, u64)>);

impl ReplayGuard {
    /// `window_s`: for how many seconds a used nonce is refused.
    pub fn new(window_s: u64) -> ReplayGuard {
        ReplayGuard {
            window_ms: window_s.saturating_mul(1000),
            keyer: Keyer::new(),
            seen: Mutex::new(Bounded::new(NONCES)),
            unguarded: AtomicU64::new(0),
        }
    }

    /// Reserves the nonce of a paid open402 request. Not to be asked for unpaid legs, which carry the same nonce.
    ///
    /// # Errors
    /// 403: the fields are missing or malformed, or the nonce is in use or was used within the window.
    pub fn reserve(&self, now_ms: u64, headers: &[HeaderLine<'_>]) -> Result<Reservation, Refusal> {
        let fields = ReplayFields::find(headers).map_err(|detail| rejected(detail, None))?;
        let key = self.keyer.key(NONCE, &[fields.nonce]);
        let Some(mut seen) = enter(&self.seen) else {
            self.unguarded.fetch_add(1, Ordering::Relaxed);
            return Ok(Reservation(None));
        };
        if let Some(earlier) = seen.peek(key) {
            let age = now_ms.saturating_sub(earlier.since_ms);
            if age < self.window_ms {
                let left = (self.window_ms - age).div_ceil(1000);
                return Err(rejected("Duplicate nonce (possible replay)", Some(left)));
            }
        }
        let mut bytes = [0; 8];
        random::fill(&mut bytes);
        let ticket = u64::from_le_bytes(bytes);
        seen.insert(key, Nonce { since_ms: now_ms, ticket });
        Ok(Reservation(Some((key, ticket))))
    }

    /// Ends a reservation with the answer's status: a 2xx has used the nonce up, anything else gives it back.
    pub fn finish(&self, now_ms: u64, reservation: Reservation, status: u16) {
        let Some((key, ticket)) = reservation.0 else { return };
        let Some(mut seen) = enter(&self.seen) else {
            self.unguarded.fetch_add(1, Ordering::Relaxed);
            return;
        };
        // The entry may be somebody else's by now: evicted, and reserved again.
        if seen.peek(key).is_none_or(|nonce| nonce.ticket != ticket) {
            return;
        }
        if (200..300).contains(&status) {
            seen.insert(key, Nonce { since_ms: now_ms, ticket });
        } else {
            seen.remove(key);
        }
    }

    /// Requests that passed unguarded, or nonces that were not given back, because too many threads came at once.
    pub fn unguarded(&self) -> u64 {
        self.unguarded.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        enter(&self.seen).map_or(0, |seen| seen.len())
    }
}

/// How many paid requests a payer may send in a minute.
pub(crate) struct RateLimit {
    per_minute: u32,
    keyer: Keyer,
    counts: Mutex<Counts>,
    unlimited: AtomicU64,
}

/// Two pools: claims of a payer's name cannot push out what has settled.
struct Counts {
    claimed: Bounded<Minute>,
    settled: Bounded<Minute>,
}

#[derive(Clone, Copy, Default)]
struct Minute {
    start_ms: u64,
    count: u32,
}

impl RateLimit {
    /// `per_minute` of 0 limits nothing.
    pub fn new(per_minute: u32) -> RateLimit {
        RateLimit {
            per_minute,
            keyer: Keyer::new(),
            counts: Mutex::new(Counts { claimed: Bounded::new(CLAIMED), settled: Bounded::new(SETTLED) }),
            unlimited: AtomicU64::new(0),
        }
    }

    /// Counts one paid request of `payer`, a name anybody can claim, from `client_ip` as the host gives it.
    ///
    /// # Errors
    /// 429: this payer at this address, or this payer by payments that settled, has had its share of the minute.
    pub fn admit(&self, now_ms: u64, payer: &str, client_ip: &str) -> Result<(), Refusal> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let Some(mut counts) = enter(&self.counts) else {
            self.unlimited.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        let by_payer = self.keyer.key(BY_PAYER, &[payer.as_bytes()]);
        if let Some(minute) = counts.settled.peek(by_payer) {
            minute.admits(now_ms, self.per_minute)?;
        }
        // Without an address that tells clients apart, anybody could use up a payer's share under its name.
        let Some(place) = place(client_ip, false) else { return Ok(()) };
        let by_both = self.keyer.key(BY_BOTH, &[payer.as_bytes(), &place]);
        let minute = counts.claimed.get_or_insert_with(by_both, Minute::default).0;
        minute.admits(now_ms, self.per_minute)?;
        minute.count(now_ms);
        Ok(())
    }

    /// Counts one settled payment of `payer`, proven by its receipt.
    pub fn settled(&self, now_ms: u64, payer: &str) {
        if self.per_minute == 0 {
            return;
        }
        match enter(&self.counts) {
            Some(mut counts) => {
                let by_payer = self.keyer.key(BY_PAYER, &[payer.as_bytes()]);
                counts.settled.get_or_insert_with(by_payer, Minute::default).0.count(now_ms);
            }
            None => {
                self.unlimited.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Requests or settlements that were not counted because too many threads came at once.
    pub fn unlimited(&self) -> u64 {
        self.unlimited.load(Ordering::Relaxed)
    }
}

impl Minute {
    fn admits(&self, now_ms: u64, most: u32) -> Result<(), Refusal> {
        let age = now_ms.saturating_sub(self.start_ms);
        if age >= MINUTE_MS || self.count < most {
            return Ok(());
        }
        Err(Refusal {
            status: 429,
            body: br#"{"error":"Too Many Requests","detail":"Rate limit exceeded"}"#.to_vec(),
            retry_after_s: Some((MINUTE_MS - age).div_ceil(1000)),
        })
    }

    fn count(&mut self, now_ms: u64) {
        if now_ms.saturating_sub(self.start_ms) >= MINUTE_MS {
            *self = Minute { start_ms: now_ms, count: 0 };
        }
        self.count = self.count.saturating_add(1);
    }
}

fn rejected(detail: &'static str, retry_after_s: Option<u64>) -> Refusal {
    let body = format!(r#"{{"error":"Replay rejected","detail":"{detail}"}}"#).into_bytes();
    Refusal { status: 403, body, retry_after_s }
}

const NONCES: usize = 16_384;
const CLAIMED: usize = 8_192;
const SETTLED: usize = 4_096;
const MINUTE_MS: u64 = 60_000;
const NONCE: u8 = 16;
const BY_PAYER: u8 = 17;
const BY_BOTH: u8 = 18;

#[cfg(test)]
mod tests;
