//! The waiting events, and where each one ended: the lock around the ring, and who sleeps on it.
//!
//! A mutex around a ring, because a channel emptied by try_send/try_recv drops events while a consumer drains, and
//! because a channel registers thread-local destructors in the host's threads. Under the lock there is never I/O, never
//! a system call but the wake of a sleeper.
//!
//! The books: pushed = waiting + in flight + sent + dropped, at every moment and exactly. The ring holds 1,000 events
//! and 8 MiB; the batch being sent is beside it. A batch that failed goes back to the front, and what is then too much
//! goes from the front: always the oldest.
//!
//! A batch that was tried keeps its idempotency key when it is tried again, also when its oldest events were dropped in
//! between: the backend has either taken the key (then all of them are in) or not (then the rest goes in now).

mod ring;

pub use ring::Batch;

use super::event::Event;
use crate::sys::clock::monotonic_ms;
use ring::{End, Phase, Ring, Worker};
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

impl Queue {
    pub fn new() -> Queue {
        Queue { ring: Mutex::new(Ring::new()), wake: Condvar::new(), moved: Condvar::new() }
    }

    /// Takes an event. Waits for nothing but the lock; a full ring drops its oldest event, a closed one this event.
    #[inline]
    pub fn push(&self, event: Event) -> Need {
        let mut ring = self.lock();
        let evicted = ring.push(event.into_json());
        let wake = ring.waiting() >= ring.wake_at;
        if wake {
            ring.wake_at = usize::MAX;
        }
        let need = match ring.phase {
            Phase::Open => ring.need_worker(),
            _ => Need::Nothing,
        };
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
        self.wake_worker(ring)
    }

    /// Asks for an attempt now and says which event was the last pushed. Nothing waiting: nothing to wait for.
    pub fn hurry(&self) -> (u64, Need) {
        let mut ring = self.lock();
        let last = ring.last_pushed();
        if ring.oldest_open().is_none() {
            return (last, Need::Nothing);
        }
        ring.hurry = true;
        (last, self.wake_worker(ring))
    }

    /// Whether a worker is missing that the waiting events need: none could be started before.
    pub fn worker_missing(&self) -> Need {
        let mut ring = self.lock();
        match ring.oldest_open() {
            Some(_) => ring.need_worker(),
            None => Need::Nothing,
        }
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
            ring = sleep(&self.moved, ring, left);
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
        ring.hurry = true;
        if ring.oldest_open().is_some() {
            return self.wake_worker(ring);
        }
        drop(ring);
        self.wake.notify_one();
        Need::Nothing
    }

    /// The end: whatever is not sent by now is dropped and counted, also a batch in flight, whatever its answer will
    /// be. Gives the number of events lost by this call.
    pub fn close(&self) -> u64 {
        let mut ring = self.lock();
        let (lost, events) = ring.close();
        drop(ring);
        drop(events);
        self.wake.notify_one();
        self.moved.notify_all();
        lost
    }

    pub fn counts(&self) -> Counts {
        self.lock().counts()
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
            let full = ring.waiting() >= wake_at;
            let commanded = ring.hurry || ring.look_up || ring.phase == Phase::Closed;
            if due || full || emptied || commanded {
                ring.wake_at = usize::MAX;
                return Woken {
                    hurry: std::mem::take(&mut ring.hurry),
                    look_up: std::mem::take(&mut ring.look_up),
                    closing: ring.phase != Phase::Open,
                    abandoned: ring.phase == Phase::Abandoned,
                    closed: ring.phase == Phase::Closed,
                    waiting: ring.waiting(),
                };
            }
            ring.wake_at = wake_at;
            let limit = until.map_or(LONG_SLEEP, |until| Duration::from_millis(until - now));
            ring = sleep(&self.wake, ring, limit);
        }
    }

    /// The oldest events as a batch: one that was tried before exactly as it was, else at most 100 events and
    /// `max_bytes` (but one event at least). Nothing once closed, or when the oldest waiting event is younger than
    /// `last` and no full batch waits.
    pub fn take(&self, max_bytes: usize, last: u64) -> Option<Batch> {
        self.lock().take(max_bytes, last)
    }

    /// The number of the last event pushed.
    pub fn last_pushed(&self) -> u64 {
        self.lock().last_pushed()
    }

    /// Whether parts of a batch that was tried still wait.
    pub fn has_tried(&self) -> bool {
        self.lock().has_tried()
    }

    /// The backend has these events.
    pub fn sent(&self, batch: Batch) {
        self.change(|ring| ring.settle(&batch, End::Sent));
    }

    /// The backend will never take these events.
    pub fn refused(&self, batch: Batch) {
        self.change(|ring| ring.settle(&batch, End::Dropped));
    }

    /// Nobody knows yet: back to the front, to be tried again as the same batch.
    pub fn put_back(&self, batch: Batch) {
        self.change(|ring| ring.put_back(batch, false));
    }

    /// Back to the front in two halves, each a batch of its own from now on. A single event stays one.
    pub fn split_back(&self, batch: Batch) {
        self.change(|ring| ring.put_back(batch, true));
    }

    /// The thread is not there: it ended, or (with a time) the system refused it until then.
    pub fn worker_absent(&self, refused_until: Option<u64>) {
        self.change(|ring| ring.worker = refused_until.map_or(Worker::Absent, Worker::Refused));
    }

    fn change(&self, change: impl FnOnce(&mut Ring)) {
        let mut ring = self.lock();
        change(&mut ring);
        drop(ring);
        self.moved.notify_all();
    }

    fn wake_worker(&self, mut ring: MutexGuard<'_, Ring>) -> Need {
        let need = ring.need_worker();
        drop(ring);
        self.wake.notify_one();
        need
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sleep<'a>(on: &Condvar, ring: MutexGuard<'a, Ring>, limit: Duration) -> MutexGuard<'a, Ring> {
    match on.wait_timeout(ring, limit.min(LONG_SLEEP)) {
        Ok((ring, _)) => ring,
        Err(poisoned) => poisoned.into_inner().0,
    }
}

/// Sleeps are never longer: some systems refuse very long ones.
const LONG_SLEEP: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests;
