//! Enriched documents remembered by their content, so that serving one again costs a comparison.
//!
//! Bounded to four documents and 32 MiB of text. Not kept by hash: the stored text is compared whole, which is
//! faster than any strong hash and cannot be fooled.

use std::sync::{Arc, Mutex, TryLockError};

use super::enrich::{Enriched, Skip, enrich};
use super::plan::Plan;

#[derive(Debug, Default)]
pub struct Cache {
    /// The latest used first.
    entries: Mutex<Vec<Arc<Entry>>>,
}

#[derive(Debug)]
struct Entry {
    plan: Plan,
    document: Vec<u8>,
    result: Result<Arc<Enriched>, Skip>,
}

impl Cache {
    /// As [`enrich`], remembered. Never waits for another thread: if the entries are in use it enriches anew.
    pub fn enrich(&self, document: &[u8], plan: &Plan) -> Result<Arc<Enriched>, Skip> {
        let known = self.with_entries(|entries| entries.clone()).unwrap_or_default();
        if let Some(entry) = known.iter().find(|entry| entry.document == document && entry.plan == *plan) {
            self.with_entries(|entries| {
                if let Some(at) = entries.iter().position(|known| Arc::ptr_eq(known, entry)) {
                    entries[..=at].rotate_right(1);
                }
            });
            return entry.result.clone();
        }
        let result = enrich(document, plan).map(Arc::new);
        if result.as_ref().err() != Some(&Skip::TooLarge) {
            let entry = Entry { plan: plan.clone(), document: document.to_vec(), result: result.clone() };
            self.with_entries(|entries| {
                entries.insert(0, Arc::new(entry));
                let mut bytes = 0;
                let kept = entries.iter().take(MAX_ENTRIES).take_while(|entry| {
                    bytes += entry.size();
                    bytes <= MAX_BYTES
                });
                let kept = kept.count();
                entries.truncate(kept);
            });
        }
        result
    }

    fn with_entries<R>(&self, work: impl FnOnce(&mut Vec<Arc<Entry>>) -> R) -> Option<R> {
        match self.entries.try_lock() {
            Ok(mut entries) => Some(work(&mut entries)),
            Err(TryLockError::Poisoned(poisoned)) => Some(work(&mut poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Entry {
    fn size(&self) -> usize {
        self.document.len() + self.result.as_ref().map_or(0, |enriched| enriched.text.len())
    }
}

const MAX_ENTRIES: usize = 4;
const MAX_BYTES: usize = 32 << 20;

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
