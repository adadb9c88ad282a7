//! A challenge that a route has sent before, with what became of it: a merchant's challenge mostly stays the same from call to
//! call, and comparing a kilobyte costs a fiftieth of decoding, checking and writing it anew.
//!
//! It is used again only where everything that decides what is added is the same: the value byte for byte, the link, the other
//! extensions, and the sizes of the head.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Link;
use super::challenge::Extra;

#[derive(Debug)]
pub(crate) struct ChallengeMemo {
    /// The header's value as the merchant sent it, known to hold a v2 challenge.
    value: Vec<u8>,
    given: Given,
    /// The value as it goes out.
    pub edited: Vec<u8>,
    missed: AtomicU32,
}

/// What besides its value decides what a challenge gains.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// The exchange's fixed link; without one, a challenge goes by its own resource and is not remembered.
    pub link: Arc<Link>,
    pub extras: Vec<Extra>,
    /// Bytes of the head as it came, and with the edits made before.
    pub sizes: (usize, usize),
}

impl ChallengeMemo {
    /// `None` where it is too large to be kept.
    pub fn new(value: &[u8], given: Given, edited: &[u8]) -> Option<ChallengeMemo> {
        (edited.len() <= LARGEST).then(|| ChallengeMemo {
            value: value.to_vec(),
            given,
            edited: edited.to_vec(),
            missed: AtomicU32::new(0),
        })
    }

    /// Whether this value was sent before, and so holds a challenge.
    pub fn is_of(&self, value: &[u8]) -> bool {
        self.value == value
    }

    /// Takes note that the route has sent something else, and says whether that is worth remembering instead: a merchant whose
    /// challenges all differ is to pay for few of them.
    pub fn is_outdated(&self) -> bool {
        self.missed.fetch_add(1, Ordering::Relaxed) % PATIENCE == PATIENCE - 1
    }

    /// Whether it would become the same again.
    pub fn holds_for(&self, given: &Given) -> bool {
        Arc::ptr_eq(&self.given.link, &given.link)
            && self.given.extras == given.extras
            && self.given.sizes == given.sizes
    }
}

/// Bytes of a value that is kept; twice that for 128 routes is all that memos can take.
const LARGEST: usize = 8_192;
/// So many other challenges of the route, and it is replaced.
const PATIENCE: u32 = 16;
