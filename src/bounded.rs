//! The one bounded map: a fixed number of entries, the least recently used one goes.
//!
//! Attempts, nonces, rate limits and remembered origins all live in one of these, so none of them can grow with what
//! clients send. Keys are not the clients' bytes but a keyed hash of them (`Keyer`): constant size, nothing personal
//! kept, and nobody outside can aim at a bucket.
//!
//! Not done on purpose: no clock and no locking. Expiry is the owner's business, a value carries its own time.

use crate::sys::random;
use lru::LruCache;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroUsize;

/// A map of at most `capacity` entries with exact least-recently-used order.
pub struct Bounded<V> {
    entries: LruCache<Key, V, Spread>,
    capacity: NonZeroUsize,
}

impl<V> Bounded<V> {
    /// An empty map. A capacity of 0 counts as 1. Memory grows with the entries, not with the capacity.
    pub fn new(capacity: usize) -> Bounded<V> {
        Bounded {
            entries: LruCache::unbounded_with_hasher(Spread),
            capacity: NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN),
        }
    }

    /// The value of `key`, which becomes the most recently used.
    pub fn get(&mut self, key: Key) -> Option<&mut V> {
        self.entries.get_mut(&key)
    }

    /// The value of `key`, leaving the order as it is.
    pub fn peek(&self, key: Key) -> Option<&V> {
        self.entries.peek(&key)
    }

    /// The value of `key`, made by `make` if absent; it becomes the most recently used. The second part is the entry
    /// that had to go for it.
    pub fn get_or_insert_with(&mut self, key: Key, make: impl FnOnce() -> V) -> (&mut V, Option<V>) {
        let evicted = if self.entries.contains(&key) { None } else { self.make_room() };
        (self.entries.get_or_insert_mut(key, make), evicted)
    }

    /// Sets `key`, which becomes the most recently used. Gives back what had to go: the old value of `key`, or the least
    /// recently used entry of a full map.
    pub fn insert(&mut self, key: Key, value: V) -> Option<V> {
        let evicted = if self.entries.contains(&key) { None } else { self.make_room() };
        self.entries.put(key, value).or(evicted)
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: Key) -> Option<V> {
        self.entries.pop(&key)
    }

    /// Entries held now, at most the capacity.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries from the most to the least recently used.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        self.entries.iter().map(|(key, value)| (*key, value))
    }

    fn make_room(&mut self) -> Option<V> {
        if self.entries.len() < self.capacity.get() {
            return None;
        }
        self.entries.pop_lru().map(|(_, value)| value)
    }
}

/// A 128-bit keyed hash. Only a `Keyer` makes one, so the bytes of a client are never a key themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key(u128);

/// Turns clients' bytes into keys: SipHash-2-4 of 128 bits under a secret of its own, a keyed hash made for tables that
/// strangers fill. The secret never leaves the process, and a forked child makes a new one with the rest of its state.
#[derive(Clone)]
pub struct Keyer(SipHasher24);

impl Keyer {
    /// A keyer with a fresh random secret.
    pub fn new() -> Keyer {
        let mut secret = [0; 16];
        random::fill(&mut secret);
        Keyer(SipHasher24::new_with_key(&secret))
    }

    /// The key of `parts` within `purpose`. Each part counts with its length: ("ab", "c") is not ("a", "bc").
    pub fn key(&self, purpose: u8, parts: &[&[u8]]) -> Key {
        let mut state = self.0;
        state.write_u8(purpose);
        for part in parts {
            state.write_u64((part.len() as u64).to_le());
            state.write(part);
        }
        Key(state.finish128().as_u128())
    }
}

impl Default for Keyer {
    fn default() -> Keyer {
        Keyer::new()
    }
}

/// Keys are spread evenly already; hashing them again would only cost time.
#[derive(Clone, Copy, Default)]
struct Spread;

impl BuildHasher for Spread {
    type Hasher = LowHalf;
    fn build_hasher(&self) -> LowHalf {
        LowHalf(0)
    }
}

struct LowHalf(u64);

impl Hasher for LowHalf {
    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
