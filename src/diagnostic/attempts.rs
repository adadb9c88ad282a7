//! Who has tried how often: exact counts per client, in bounded memory.
//!
//! A client is known under up to three keys: a payer who has proven to be it, the credential it sent, its address together with its
//! user agent. Each kind has a pool of its own, so that a flood of fresh credentials pushes out no address.
//! An evicted key counts from nothing again: forgetting errs towards silence.
//!
//! Not done on purpose: no clock, no locking, no text of a client. Counts are per process; of several workers each sees its share.

use crate::bounded::{Bounded, Key, Keyer};
use crate::sys::random;

use super::code::{CorrelationId, Escalate, Reason};

/// A client's network: an IPv4 address, or the first 64 bits of an IPv6 one.
pub(super) type Place = [u8; 16];

/// The keys of one request. Absent: the request has no such key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keys {
    pub payer: Option<Key>,
    pub credential: Option<Key>,
    /// Address and user agent.
    pub address: Option<Key>,
    /// The address alone: whether somebody has settled there.
    pub place: Option<Place>,
}

/// What happened to one request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happened {
    Settled,
    Unpaid,
    Failed(Reason),
}

/// Where a client stands after one more failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// The largest count among the client's keys.
    pub attempts: u64,
    /// Unix milliseconds of the first failure behind that count, or now.
    pub first_ms: u64,
    /// Whether attempts and age have passed the thresholds, by a key that may decide.
    pub exceeded: bool,
    /// Whether the same reason came often enough in a row, by a key that may decide.
    pub repeated: bool,
    pub correlation_id: CorrelationId,
}

pub(super) struct Thresholds {
    pub attempts: u64,
    pub min_age_ms: u64,
}

pub(super) struct Attempts {
    payers: Bounded<Sequence>,
    credentials: Bounded<Sequence>,
    addresses: Bounded<Sequence>,
    /// Unix milliseconds of the last settled payment from an address.
    settled: Bounded<u64>,
    keyer: Keyer,
}

/// One run of failures of one key, from its first until a payment settles.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    id: u64,
    first_ms: u64,
    attempts: u32,
    run: u16,
    reason: Reason,
    told: Told,
}

/// What was reported for a sequence already.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    escalation: bool,
    contact: bool,
}

impl Attempts {
    pub fn new(keyer: Keyer) -> Attempts {
        Attempts {
            keyer,
            payers: Bounded::new(PAYERS),
            credentials: Bounded::new(CREDENTIALS),
            addresses: Bounded::new(ADDRESSES),
            settled: Bounded::new(PLACES),
        }
    }

    /// Takes one request in. `None` where the request has no key, or settled.
    pub fn update(&mut self, now_ms: u64, keys: &Keys, happened: Happened, limits: &Thresholds) -> Option<Standing> {
        match happened {
            Happened::Settled => {
                self.reset(now_ms, keys);
                None
            }
            Happened::Unpaid => self.failure(now_ms, keys, Reason::NoPayment, limits),
            Happened::Failed(reason) => self.failure(now_ms, keys, reason, limits),
        }
    }

    /// Whether an escalation of this sequence is news. The second question about one sequence is answered no.
    pub fn tell_escalation(&mut self, keys: &Keys, id: CorrelationId) -> bool {
        self.tell(keys, id, |told| !std::mem::replace(&mut told.escalation, true))
    }

    /// Whether the sequence has escalated and its operator's contact is news.
    pub fn tell_contact(&mut self, keys: &Keys, id: CorrelationId) -> bool {
        self.tell(keys, id, |told| told.escalation && !std::mem::replace(&mut told.contact, true))
    }

    /// Keys held now, of all kinds.
    pub fn keys_held(&self) -> usize {
        self.payers.len() + self.credentials.len() + self.addresses.len() + self.settled.len()
    }

    fn failure(&mut self, now_ms: u64, keys: &Keys, reason: Reason, limits: &Thresholds) -> Option<Standing> {
        let mut tally = Tally { now_ms, reason, limits, standing: None, by_address: (false, false) };
        let pools = [&mut self.payers, &mut self.credentials, &mut self.addresses];
        let of_pools = [keys.payer, keys.credential, keys.address];
        let mut known: Option<(u64, Told)> = None;
        let mut absent = [None; 3];
        for (index, pool) in pools.into_iter().enumerate() {
            let Some(key) = of_pools[index] else { continue };
            match pool.get(key) {
                Some(sequence) => {
                    known.get_or_insert((sequence.id, sequence.told));
                    tally.count(sequence, index == BY_ADDRESS);
                }
                None => absent[index] = Some(key),
            }
        }
        // A new key joins the sequence the request belongs to: the payer's, else the credential's, else the address's.
        for (index, key) in absent.into_iter().enumerate() {
            let Some(key) = key else { continue };
            let (id, told) = *known.get_or_insert_with(|| (new_id(), Told::default()));
            let mut sequence = Sequence { id, told, first_ms: now_ms, attempts: 0, run: 0, reason: Reason::NoPayment };
            tally.count(&mut sequence, index == BY_ADDRESS);
            let pool = match index {
                0 => &mut self.payers,
                1 => &mut self.credentials,
                _ => &mut self.addresses,
            };
            pool.insert(key, sequence);
        }
        let mut standing = tally.standing?;
        standing.correlation_id = CorrelationId(known?.0);
        // Looked up only when it matters: the ordinary unpaid request pays for one key, not for two.
        if tally.by_address != (false, false) && !keys.place.is_some_and(|place| self.is_held_back(now_ms, place)) {
            standing.exceeded |= tally.by_address.0;
            standing.repeated |= tally.by_address.1;
        }
        Some(standing)
    }

    fn is_held_back(&self, now_ms: u64, place: Place) -> bool {
        self.settled
            .peek(self.keyer.key(PLACE, &[&place]))
            .is_some_and(|&settled_ms| now_ms.saturating_sub(settled_ms) < HOLD_BACK_MS)
    }

    fn reset(&mut self, now_ms: u64, keys: &Keys) {
        for (pool, key) in self.pools(keys) {
            pool.remove(key);
        }
        if let Some(place) = keys.place {
            self.settled.insert(self.keyer.key(PLACE, &[&place]), now_ms);
        }
    }

    fn tell(&mut self, keys: &Keys, id: CorrelationId, mut ask: impl FnMut(&mut Told) -> bool) -> bool {
        let mut answer = None;
        for (pool, key) in self.pools(keys) {
            if let Some(sequence) = pool.get(key).filter(|sequence| sequence.id == id.0) {
                // The first key is asked, the others learn of it.
                let news = ask(&mut sequence.told);
                answer.get_or_insert(news);
            }
        }
        answer.unwrap_or(false)
    }

    fn pools(&mut self, keys: &Keys) -> impl Iterator<Item = (&mut Bounded<Sequence>, Key)> {
        let pools = [&mut self.payers, &mut self.credentials, &mut self.addresses];
        let keys = [keys.payer, keys.credential, keys.address];
        pools.into_iter().zip(keys).filter_map(|(pool, key)| key.map(|key| (pool, key)))
    }
}

/// One failure being counted under each of its keys.
struct Tally<'l> {
    now_ms: u64,
    reason: Reason,
    limits: &'l Thresholds,
    standing: Option<Standing>,
    /// What the address alone would say: exceeded, repeated.
    by_address: (bool, bool),
}

impl Tally<'_> {
    fn count(&mut self, sequence: &mut Sequence, is_address: bool) {
        sequence.count(self.now_ms, self.reason);
        let standing = self.standing.get_or_insert(Standing {
            attempts: 0,
            first_ms: self.now_ms,
            exceeded: false,
            repeated: false,
            correlation_id: CorrelationId(sequence.id),
        });
        if u64::from(sequence.attempts) > standing.attempts {
            standing.attempts = sequence.attempts.into();
            standing.first_ms = sequence.first_ms;
        }
        let (exceeded, repeated) = (sequence.exceeds(self.now_ms, self.limits), sequence.repeats(self.reason));
        if is_address {
            self.by_address = (exceeded, repeated);
        } else {
            standing.exceeded |= exceeded;
            standing.repeated |= repeated;
        }
    }
}

impl Sequence {
    fn count(&mut self, now_ms: u64, reason: Reason) {
        if reason.counts() {
            if self.attempts == 0 {
                self.first_ms = now_ms;
            }
            self.attempts = self.attempts.saturating_add(1);
        }
        // An unpaid leg stands between two payments of every client; it does not end a run of failures.
        if reason != Reason::NoPayment {
            self.run = if self.reason == reason { self.run.saturating_add(1) } else { 1 };
            self.reason = reason;
        }
    }

    fn exceeds(&self, now_ms: u64, limits: &Thresholds) -> bool {
        u64::from(self.attempts) >= limits.attempts && now_ms.saturating_sub(self.first_ms) >= limits.min_age_ms
    }

    fn repeats(&self, reason: Reason) -> bool {
        matches!(reason.facts().escalate, Escalate::From(limit) if self.run >= limit)
    }
}

fn new_id() -> u64 {
    let mut bytes = [0; 8];
    random::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Purposes of keys, so that equal bytes of two kinds are two keys.
pub(super) const PAYER: u8 = 1;
pub(super) const CREDENTIAL: u8 = 2;
pub(super) const ADDRESS: u8 = 3;
const PLACE: u8 = 4;

/// Place of the addresses among the pools.
const BY_ADDRESS: usize = 2;

/// Pool sizes, in keys: under 4 MB with all of them full and after any number of evictions. The odd ones fill half of what
/// their hash table holds; one key more, and evictions would make it double.
const ADDRESSES: usize = 16_384;
const CREDENTIALS: usize = 1_792;
const PAYERS: usize = 3_584;
const PLACES: usize = 7_168;

/// After a settled payment, how long nobody at that address is escalated for what the address did.
const HOLD_BACK_MS: u64 = 24 * 3_600_000;
