//! The ring and its books as plain data: what `Queue` does under its lock. No locking and no waiting here.

use super::super::event::uuid;
use super::{BATCH_EVENTS, Counts, MAX_BYTES, MAX_EVENTS, Need};
use crate::sys::clock::monotonic_ms;
use std::collections::VecDeque;

pub(super) struct Ring {
    events: VecDeque<Entry>,
    bytes: usize,
    /// How the front of the ring is divided into batches that were tried before.
    tried: VecDeque<Part>,
    in_flight: Option<InFlight>,
    books: Books,
    pub phase: Phase,
    pub worker: Worker,
    /// This many waiting events wake the worker.
    pub wake_at: usize,
    pub hurry: bool,
    pub look_up: bool,
}

/// Some of the oldest events, out of the ring until one of the queue's methods takes them back.
pub struct Batch {
    key: [u8; 36],
    entries: Vec<Entry>,
    tried: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Takes nothing more, sends what is there.
    Closing,
    /// The same, but nobody waits: one attempt, then the end.
    Abandoned,
    /// Everything is sent or counted as dropped.
    Closed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Worker {
    Absent,
    Running,
    /// The system gave no thread; ask again from this time on.
    Refused(u64),
}

/// Where a batch that was out ends.
pub(super) enum End {
    Sent,
    Dropped,
}

/// Freed by the caller, after the lock.
pub(super) struct Evicted(#[expect(dead_code, reason = "only its drop matters")] Option<Entry>);

pub(super) struct Entry {
    number: u64,
    json: Vec<u8>,
}

struct Part {
    key: [u8; 36],
    count: usize,
}

struct InFlight {
    first: u64,
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct Books {
    pushed: u64,
    sent: u64,
    dropped: u64,
}

impl Ring {
    pub fn new() -> Ring {
        Ring {
            events: VecDeque::new(),
            bytes: 0,
            tried: VecDeque::new(),
            in_flight: None,
            books: Books::default(),
            phase: Phase::Open,
            worker: Worker::Absent,
            wake_at: BATCH_EVENTS,
            hurry: false,
            look_up: false,
        }
    }

    /// Takes an event or, once closing, counts it as dropped. The oldest go only if the ring is full.
    #[inline]
    pub fn push(&mut self, json: Vec<u8>) -> Evicted {
        self.books.pushed += 1;
        let size = json.len() + ENTRY_BYTES;
        if self.phase != Phase::Open || size > MAX_BYTES {
            self.books.dropped += 1;
            return Evicted(None);
        }
        // One event for one event is the ordinary case; more go only by bytes, and those are freed here.
        let mut evicted = None;
        while self.events.len() >= MAX_EVENTS || self.bytes + size > MAX_BYTES {
            evicted = self.drop_oldest();
        }
        if self.events.capacity() == 0 {
            self.events.reserve_exact(MAX_EVENTS + BATCH_EVENTS);
        }
        self.bytes += size;
        self.events.push_back(Entry { number: self.books.pushed, json });
        Evicted(evicted)
    }

    pub fn waiting(&self) -> usize {
        self.events.len()
    }

    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn last_pushed(&self) -> u64 {
        self.books.pushed
    }

    /// The number of the oldest event that is neither sent nor dropped.
    pub fn oldest_open(&self) -> Option<u64> {
        match &self.in_flight {
            Some(flight) => Some(flight.first),
            None => self.events.front().map(|entry| entry.number),
        }
    }

    pub fn has_tried(&self) -> bool {
        !self.tried.is_empty()
    }

    /// See `Queue::take`.
    pub fn take(&mut self, max_bytes: usize, last: u64) -> Option<Batch> {
        let oldest = self.events.front()?.number;
        if self.phase == Phase::Closed || (oldest > last && self.events.len() < BATCH_EVENTS) {
            return None;
        }
        let part = self.tried.pop_front();
        let count = match &part {
            Some(part) => part.count,
            None => self.fitting(max_bytes),
        };
        let entries: Vec<Entry> = self.events.drain(..count).collect();
        self.bytes -= entries.iter().map(Entry::size).sum::<usize>();
        self.in_flight = Some(InFlight { first: oldest, count });
        Some(Batch { tried: part.is_some(), key: part.map_or_else(uuid, |part| part.key), entries })
    }

    /// Writes down where the batch in flight ended. Nothing, if it was given up meanwhile: then it is counted already.
    pub fn settle(&mut self, batch: &Batch, end: End) {
        if self.in_flight.take().is_none() {
            return;
        }
        let count = batch.entries.len() as u64;
        match end {
            End::Sent => self.books.sent += count,
            End::Dropped => self.books.dropped += count,
        }
    }

    /// The batch in flight goes back to the front, whole with its key or as two halves with new ones; what is too much
    /// then goes from the front.
    pub fn put_back(&mut self, batch: Batch, halved: bool) {
        // Given up meanwhile: counted already.
        if self.in_flight.take().is_none() {
            return;
        }
        let count = batch.entries.len();
        let parts = if halved {
            [count / 2, count - count / 2].map(|count| Part { key: uuid(), count })
        } else {
            let nothing = Part { key: [0; 36], count: 0 };
            [Part { key: batch.key, count }, nothing]
        };
        for entry in batch.entries.into_iter().rev() {
            self.bytes += entry.size();
            self.events.push_front(entry);
        }
        for part in parts.into_iter().rev().filter(|part| part.count > 0) {
            self.tried.push_front(part);
        }
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            self.drop_oldest();
        }
    }

    /// Drops and counts everything, also the batch in flight. Gives how many, and the events to free.
    pub fn close(&mut self) -> (u64, VecDeque<Entry>) {
        self.phase = Phase::Closed;
        let in_flight = self.in_flight.take().map_or(0, |flight| flight.count);
        let lost = (self.events.len() + in_flight) as u64;
        self.books.dropped += lost;
        self.bytes = 0;
        self.tried.clear();
        (lost, std::mem::take(&mut self.events))
    }

    pub fn counts(&self) -> Counts {
        Counts {
            pushed: self.books.pushed,
            waiting: self.events.len() as u64,
            in_flight: self.in_flight.as_ref().map_or(0, |flight| flight.count) as u64,
            sent: self.books.sent,
            dropped: self.books.dropped,
            worker_running: self.worker == Worker::Running,
        }
    }

    #[inline]
    pub fn need_worker(&mut self) -> Need {
        match self.worker {
            Worker::Running => return Need::Nothing,
            Worker::Refused(until) if monotonic_ms() < until => return Need::Nothing,
            Worker::Refused(_) | Worker::Absent => {}
        }
        self.worker = Worker::Running;
        Need::StartWorker
    }

    fn drop_oldest(&mut self) -> Option<Entry> {
        let oldest = self.events.pop_front()?;
        self.bytes -= oldest.size();
        self.books.dropped += 1;
        if let Some(part) = self.tried.front_mut() {
            part.count -= 1;
            if part.count == 0 {
                self.tried.pop_front();
            }
        }
        Some(oldest)
    }

    /// How many of the oldest events one body of `max_bytes` takes, one at least.
    fn fitting(&self, max_bytes: usize) -> usize {
        let mut bytes = ENVELOPE.0.len() + ENVELOPE.1.len();
        let mut count = 0;
        for entry in self.events.iter().take(BATCH_EVENTS) {
            bytes += entry.json.len() + 1;
            if count > 0 && bytes > max_bytes {
                break;
            }
            count += 1;
        }
        count
    }
}

impl Entry {
    fn size(&self) -> usize {
        self.json.len() + ENTRY_BYTES
    }
}

impl Batch {
    /// The Idempotency-Key: the same for every try of this batch.
    pub fn key(&self) -> &str {
        std::str::from_utf8(&self.key).unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it was tried before, as it is or as part of a larger one.
    pub fn was_tried(&self) -> bool {
        self.tried
    }

    /// The request body: `{"events":[…]}`.
    pub fn body(&self) -> Vec<u8> {
        let size: usize = self.entries.iter().map(|entry| entry.json.len() + 1).sum();
        let mut body = Vec::with_capacity(size + ENVELOPE.0.len() + ENVELOPE.1.len());
        body.extend_from_slice(ENVELOPE.0);
        for (index, entry) in self.entries.iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(&entry.json);
        }
        body.extend_from_slice(ENVELOPE.1);
        body
    }
}

const ENVELOPE: (&[u8], &[u8]) = (b"{\"events\":[", b"]}");
/// What an entry takes beside its text.
const ENTRY_BYTES: usize = size_of::<Entry>();
