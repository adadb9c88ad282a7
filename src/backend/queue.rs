//! The waiting events, and where each one ended: the ring, its limits and its books.
//!
//! A mutex around a ring, because a channel emptied by try_send/try_recv drops events while a consumer drains. Under
//! the lock there is never I/O, never a system call but the wake of a sleeping worker.
//!
//! The books: pushed = waiting + in flight + sent + dropped, at every moment and exactly. The ring holds 1,000 events
//! and 8 MiB; the batch being sent is beside it. A batch that failed goes back to the front, and what is then too much
//! goes from the front: always the oldest.
//!
//! A batch that was tried keeps its idempotency key when it is tried again, also when its oldest events were dropped in
//! between: the backend has either taken the key (then all of them are in) or not (then the rest goes in now).

use super::event::{Event, uuid};
use crate::sys::clock::monotonic_ms;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Events that wait at most.
pub const MAX_EVENTS: usize = 1_000;
/// Bytes of waiting events at most.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Events in one batch at most; as many waiting ones wake the worker before its tick.
pub const BATCH_EVENTS: usize = 100;
/// Bytes of one request body at most.
pub const BATCH_BYTES: usize = 512 * 1024;

/// The queue of one process.
pub struct Queue {
    ring: Mutex<Ring>,
    /// The worker sleeps here.
    wake: Condvar,
    /// flush and shutdown wait here for the books to move.
    moved: Condvar,
}

struct Ring {
    events: VecDeque<Entry>,
    bytes: usize,
    /// How the front of the ring is divided into batches that were tried before.
    tried: VecDeque<Part>,
    in_flight: Option<InFlight>,
    books: Books,
    phase: Phase,
    worker: Worker,
    /// This many waiting events wake the worker.
    wake_at: usize,
    hurry: bool,
    look_up: bool,
}

struct Entry {
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Takes nothing more, sends what is there.
    Closing,
    /// The same, but nobody waits: one attempt, then the end.
    Abandoned,
    /// Everything is sent or counted as dropped.
    Closed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Worker {
    Absent,
    Running,
    /// The system gave no thread; ask again from this time on.
    Refused(u64),
}

/// What a call that may need the worker has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Need {
    Nothing,
    /// This caller starts the worker and nobody else does.
    StartWorker,
}

/// Where every event is, in one exact snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events handed in; the sum of the four below.
    pub pushed: u64,
    pub waiting: u64,
    pub in_flight: u64,
    pub sent: u64,
    pub dropped: u64,
    pub worker_running: bool,
}

/// What ended a sleep of the worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Woken {
    /// A flush or shutdown asks for an attempt now.
    pub hurry: bool,
    /// The registered origin is asked for.
    pub look_up: bool,
    pub closing: bool,
    /// Closing, and after one attempt the rest is given up.
    pub abandoned: bool,
    pub closed: bool,
    pub waiting: usize,
}

/// Some of the oldest events, out of the ring until one of the queue's methods takes them back.
pub struct Batch {
    key: [u8; 36],
    entries: Vec<Entry>,
    retried: bool,
}

impl Queue {
    pub fn new() -> Queue {
        Queue {
            ring: Mutex::new(Ring {
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
            }),
            wake: Condvar::new(),
            moved: Condvar::new(),
        }
    }

    /// Takes an event. Waits for nothing but the lock; a full ring drops its oldest event, a closed one this event.
    #[inline]
    pub fn push(&self, event: Event) -> Need {
        let json = event.into_json();
        let size = json.len() + ENTRY_BYTES;
        let mut ring = self.lock();
        ring.books.pushed += 1;
        if ring.phase != Phase::Open || size > MAX_BYTES {
            ring.books.dropped += 1;
            return Need::Nothing;
        }
        // Freed after the lock: the ordinary eviction is one event for one event.
        let mut evicted = None;
        while ring.events.len() >= MAX_EVENTS || ring.bytes + size > MAX_BYTES {
            evicted = ring.drop_oldest();
        }
        if ring.events.capacity() == 0 {
            ring.events.reserve_exact(MAX_EVENTS + BATCH_EVENTS);
        }
        let number = ring.books.pushed;
        ring.events.push_back(Entry { number, json });
        ring.bytes += size;
        let wake = ring.events.len() >= ring.wake_at;
        if wake {
            ring.wake_at = usize::MAX;
        }
        let need = ring.need_worker();
        drop(ring);
        if wake {
            self.wake.notify_one();
        }
        drop(evicted);
        need
    }

    /// Asks the worker for the registered origin.
    pub fn ask_for_look_up(&self) -> Need {
        let mut ring = self.lock();
        if ring.phase != Phase::Open {
            return Need::Nothing;
        }
        ring.look_up = true;
        let need = ring.need_worker();
        drop(ring);
        self.wake.notify_one();
        need
    }

    /// Asks for an attempt now and says which event was the last pushed. Nothing waiting: nothing to wait for.
    pub fn hurry(&self) -> (u64, Need) {
        let mut ring = self.lock();
        let last = ring.books.pushed;
        if ring.oldest_open().is_none() {
            return (last, Need::Nothing);
        }
        ring.hurry = true;
        let need = ring.need_worker();
        drop(ring);
        self.wake.notify_one();
        (last, need)
    }

    /// Waits until every event up to number `last` is sent or dropped. False: not by `deadline`.
    pub fn wait_until_gone(&self, last: u64, deadline: Instant) -> bool {
        let mut ring = self.lock();
        loop {
            if ring.oldest_open().is_none_or(|oldest| oldest > last) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            ring = self.sleep(&self.moved, ring, left);
        }
    }

    /// Takes nothing more from now on, and asks for what is there to be sent.
    pub fn begin_closing(&self) -> Need {
        self.stop_taking(Phase::Closing)
    }

    /// Takes nothing more from now on; what is there is tried once and the rest dropped and counted.
    pub fn abandon(&self) -> Need {
        self.stop_taking(Phase::Abandoned)
    }

    fn stop_taking(&self, phase: Phase) -> Need {
        let mut ring = self.lock();
        if ring.phase == Phase::Closed {
            return Need::Nothing;
        }
        ring.phase = phase;
        let need = if ring.oldest_open().is_some() { ring.need_worker() } else { Need::Nothing };
        ring.hurry = true;
        drop(ring);
        self.wake.notify_all();
        need
    }

    /// The end: whatever is not sent by now is dropped and counted, also a batch in flight, whatever its answer will
    /// be. Gives the number of events lost by this call.
    pub fn close(&self) -> u64 {
        let mut ring = self.lock();
        ring.phase = Phase::Closed;
        let in_flight = ring.in_flight.take().map_or(0, |flight| flight.count);
        let lost = (ring.events.len() + in_flight) as u64;
        ring.books.dropped += lost;
        let events = std::mem::take(&mut ring.events);
        ring.bytes = 0;
        ring.tried.clear();
        drop(ring);
        drop(events);
        self.wake.notify_all();
        self.moved.notify_all();
        lost
    }

    pub fn counts(&self) -> Counts {
        let ring = self.lock();
        Counts {
            pushed: ring.books.pushed,
            waiting: ring.events.len() as u64,
            in_flight: ring.in_flight.as_ref().map_or(0, |flight| flight.count) as u64,
            sent: ring.books.sent,
            dropped: ring.books.dropped,
            worker_running: ring.worker == Worker::Running,
        }
    }

    /// The worker's sleep: until `until` (monotonic milliseconds; none = no limit), a command, or `wake_at` waiting
    /// events.
    pub fn wait(&self, until: Option<u64>, wake_at: usize) -> Woken {
        let mut ring = self.lock();
        loop {
            let ending = matches!(ring.phase, Phase::Closing | Phase::Abandoned);
            let emptied = ending && ring.oldest_open().is_none();
            let now = monotonic_ms();
            let due = until.is_some_and(|until| now >= until);
            let full = ring.events.len() >= wake_at;
            if due || full || emptied || ring.hurry || ring.look_up || ring.phase == Phase::Closed {
                ring.wake_at = usize::MAX;
                return Woken {
                    hurry: std::mem::take(&mut ring.hurry),
                    look_up: std::mem::take(&mut ring.look_up),
                    closing: ring.phase != Phase::Open,
                    abandoned: ring.phase == Phase::Abandoned,
                    closed: ring.phase == Phase::Closed,
                    waiting: ring.events.len(),
                };
            }
            ring.wake_at = wake_at;
            let sleep = until.map_or(LONG_SLEEP, |until| Duration::from_millis(until - now));
            ring = self.sleep(&self.wake, ring, sleep);
        }
    }

    /// The oldest events as a batch: one that was tried before exactly as it was, else at most 100 events and
    /// `max_bytes` (but one event at least). Nothing once closed, or when the oldest waiting event is younger than
    /// `last` and no full batch waits.
    pub fn take(&self, max_bytes: usize, last: u64) -> Option<Batch> {
        let mut ring = self.lock();
        let oldest = ring.events.front()?.number;
        if ring.phase == Phase::Closed || (oldest > last && ring.events.len() < BATCH_EVENTS) {
            return None;
        }
        let tried = ring.tried.pop_front();
        let count = match &tried {
            Some(part) => part.count,
            None => ring.fitting(max_bytes),
        };
        let entries: Vec<Entry> = ring.events.drain(..count).collect();
        ring.bytes -= entries.iter().map(Entry::size).sum::<usize>();
        ring.in_flight = Some(InFlight { first: oldest, count });
        Some(Batch { retried: tried.is_some(), key: tried.map_or_else(uuid, |part| part.key), entries })
    }

    /// The number of the last event pushed.
    pub fn last_pushed(&self) -> u64 {
        self.lock().books.pushed
    }

    /// The backend has these events.
    pub fn sent(&self, batch: Batch) {
        let count = batch.entries.len() as u64;
        self.settle(|books| books.sent += count);
    }

    /// The backend will never take these events.
    pub fn refused(&self, batch: Batch) {
        let count = batch.entries.len() as u64;
        self.settle(|books| books.dropped += count);
    }

    /// Nobody knows yet: back to the front, to be tried again as the same batch.
    pub fn put_back(&self, batch: Batch) {
        let part = Part { key: batch.key, count: batch.entries.len() };
        self.return_to_front(batch.entries, [part]);
    }

    /// Back to the front in two halves, each a batch of its own from now on. A single event stays one.
    pub fn split_back(&self, batch: Batch) {
        let half = batch.entries.len() / 2;
        let rest = batch.entries.len() - half;
        self.return_to_front(batch.entries, [half, rest].map(|count| Part { key: uuid(), count }));
    }

    /// Whether parts of a batch that was tried still wait.
    pub fn has_tried(&self) -> bool {
        !self.lock().tried.is_empty()
    }

    /// The thread is not there: it ended, or (with a time) the system refused it until then.
    pub fn worker_absent(&self, refused_until: Option<u64>) {
        let mut ring = self.lock();
        ring.worker = refused_until.map_or(Worker::Absent, Worker::Refused);
        drop(ring);
        self.moved.notify_all();
    }

    fn return_to_front<const N: usize>(&self, entries: Vec<Entry>, parts: [Part; N]) {
        let mut ring = self.lock();
        // Closed meanwhile: these events are counted already.
        if ring.in_flight.take().is_none() {
            return;
        }
        ring.bytes += entries.iter().map(Entry::size).sum::<usize>();
        for entry in entries.into_iter().rev() {
            ring.events.push_front(entry);
        }
        for part in parts.into_iter().rev() {
            if part.count > 0 {
                ring.tried.push_front(part);
            }
        }
        while ring.events.len() > MAX_EVENTS || ring.bytes > MAX_BYTES {
            ring.drop_oldest();
        }
        drop(ring);
        self.moved.notify_all();
    }

    fn settle(&self, write: impl FnOnce(&mut Books)) {
        let mut ring = self.lock();
        if ring.in_flight.take().is_some() {
            write(&mut ring.books);
        }
        drop(ring);
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(&self, on: &Condvar, ring: MutexGuard<'a, Ring>, limit: Duration) -> MutexGuard<'a, Ring> {
        match on.wait_timeout(ring, limit.min(LONG_SLEEP)) {
            Ok((ring, _)) => ring,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }
}

impl Ring {
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

    /// The number of the oldest event that is neither sent nor dropped.
    fn oldest_open(&self) -> Option<u64> {
        match &self.in_flight {
            Some(flight) => Some(flight.first),
            None => self.events.front().map(|entry| entry.number),
        }
    }

    /// How many of the oldest events one body of `max_bytes` takes.
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

    fn need_worker(&mut self) -> Need {
        match self.worker {
            Worker::Running => return Need::Nothing,
            Worker::Refused(until) if monotonic_ms() < until => return Need::Nothing,
            Worker::Refused(_) | Worker::Absent => {}
        }
        self.worker = Worker::Running;
        Need::StartWorker
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
        self.retried
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
/// Sleeps are never longer: some systems refuse very long ones.
const LONG_SLEEP: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests;
