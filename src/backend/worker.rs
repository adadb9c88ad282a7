//! The one thread that talks to the backend: when to deliver, what an answer means, when to try again.
//!
//! Regular deliveries are at ticks (the first one jittered) or when a full batch waits. After a failure there is one
//! point in time before which nothing is tried, however much traffic comes; a flush or a shutdown may come earlier, once
//! a second, unless the backend itself has named the time (Retry-After) or refused the key.
//!
//! | answer | what happens |
//! |---|---|
//! | 2xx | sent |
//! | none, 3xx, 408, 425, 429, 5xx | kept, tried again after a jittered 2 s to 60 s, or after Retry-After |
//! | 401, 403 | kept, one try a minute |
//! | 413 | halved, later batches are smaller; an event alone too large is dropped |
//! | other 4xx | halved until the refused event is alone; it is dropped |

use super::Shared;
use super::backoff::{Backoff, between_0_and};
use super::origin::LookUp;
use super::queue::{BATCH_BYTES, BATCH_EVENTS, Batch, Queue, Woken};
use super::transport::{Answer, Transport};
use crate::sys::clock::monotonic_ms;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The body of the thread. A panic is contained and counted; after the third the queue is closed for good.
pub(super) fn run(shared: &Shared, transport: &Transport) {
    mark_this_thread();
    let mut worker = Worker::new(shared, transport);
    loop {
        let ended = catch_unwind(AssertUnwindSafe(|| worker.work()));
        let Err(payload) = ended else { break };
        // A payload may itself panic when dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        if shared.count_panic() >= MAX_PANICS {
            shared.diagnostics.say("worker", || "telemetry failed inside repeatedly and is off".into());
            shared.queue.close();
            break;
        }
        shared.diagnostics.say("worker", || "telemetry failed inside and was restarted".into());
        worker.hold(None);
    }
    shared.queue.worker_absent(None);
}

pub(super) fn mark_this_thread() {
    IS_WORKER.set(true);
}

/// Whether this thread is a worker: it must not wait for itself.
pub(super) fn is_this_thread() -> bool {
    IS_WORKER.get()
}

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

struct Worker<'a> {
    shared: &'a Shared,
    queue: &'a Queue,
    transport: &'a Transport,
    tick_at: u64,
    idle_ticks: u32,
    hold_until: u64,
    hold: Hold,
    hurried_at: Option<u64>,
    backoff: Backoff,
    max_bytes: usize,
    /// When a batch of full size is tried again after a 413.
    full_size_at: u64,
    halving: Halving,
    look_up: LookUp,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// Our own caution: a flush may come earlier.
    Backoff,
    /// The backend's word.
    Ordered,
}

/// How far a refused batch is taken apart.
struct Halving {
    left: u32,
    accepted: bool,
    /// The last batch was taken apart and nothing of it was accepted: perhaps nothing ever will be.
    hopeless: bool,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared, transport: &'a Transport) -> Worker<'a> {
        Worker {
            shared,
            queue: &shared.queue,
            transport,
            tick_at: monotonic_ms() + between_0_and(shared.interval_ms()),
            idle_ticks: 0,
            hold_until: 0,
            hold: Hold::Backoff,
            hurried_at: None,
            backoff: Backoff::default(),
            max_bytes: BATCH_BYTES,
            full_size_at: 0,
            halving: Halving { left: 0, accepted: true, hopeless: false },
            look_up: LookUp::default(),
        }
    }

    /// Works until the queue is closed, or closing and empty.
    fn work(&mut self) {
        loop {
            let woken = self.sleep();
            if woken.closed || (woken.closing && woken.waiting == 0) {
                return;
            }
            self.shared.provoked_panic();
            if woken.closing {
                self.look_up.stop();
            } else {
                self.look_up.step(woken.look_up, self.shared, self.transport);
            }
            let now = monotonic_ms();
            if woken.hurry {
                self.end_hold_early(now, woken.closing);
            }
            let full = woken.waiting >= BATCH_EVENTS;
            if now >= self.hold_until && (woken.hurry || woken.closing || full || now >= self.tick_at) {
                self.deliver();
            }
            if woken.abandoned {
                self.queue.close();
                return;
            }
            self.next_tick(woken.waiting);
        }
    }

    fn sleep(&self) -> Woken {
        let now = monotonic_ms();
        let asleep = self.idle_ticks >= IDLE_TICKS;
        let tick = (!asleep).then(|| self.tick_at.max(self.hold_until));
        let until = [tick, self.look_up.due_at()].into_iter().flatten().min();
        let wake_at = if now < self.hold_until {
            usize::MAX
        } else if asleep {
            1
        } else {
            BATCH_EVENTS
        };
        self.queue.wait(until, wake_at)
    }

    /// Missed ticks are not made up for: after a freeze there is one delivery, not many. A queue that stays empty lets
    /// the thread sleep until the next event, and that one waits for a jittered tick again.
    fn next_tick(&mut self, waiting: usize) {
        let now = monotonic_ms();
        let interval = self.shared.interval_ms();
        if self.idle_ticks >= IDLE_TICKS && waiting > 0 {
            self.idle_ticks = 0;
            self.tick_at = now + between_0_and(interval);
        } else if now >= self.tick_at {
            self.tick_at = now + interval;
            self.idle_ticks = if waiting == 0 { self.idle_ticks + 1 } else { 0 };
        }
    }

    fn end_hold_early(&mut self, now: u64, closing: bool) {
        let lately = !closing && self.hurried_at.is_some_and(|at| now - at < HURRY_MS);
        if self.hold == Hold::Backoff && !lately {
            self.hurried_at = Some(now);
            self.hold_until = 0;
        }
    }

    fn deliver(&mut self) {
        if monotonic_ms() >= self.full_size_at {
            self.max_bytes = BATCH_BYTES;
        }
        let last = self.queue.last_pushed();
        while let Some(batch) = self.queue.take(self.max_bytes, last) {
            let hand = InHand { queue: self.queue, batch: Some(batch) };
            if !self.deliver_one(hand) {
                return;
            }
        }
    }

    /// Sends one batch; false when nothing more is to be tried now.
    fn deliver_one(&mut self, hand: InHand<'_>) -> bool {
        let batch = hand.batch();
        if !batch.was_tried() {
            self.halving = Halving {
                left: if self.halving.hopeless { FEW_HALVINGS } else { MANY_HALVINGS },
                accepted: false,
                hopeless: self.halving.hopeless,
            };
        }
        let body = batch.body();
        let answer = self.transport.events(batch.key(), &body);
        match &answer {
            Answer::Http { status: 200..=299, .. } => {
                self.queue.sent(hand.take());
                self.backoff.reset();
                self.halving.accepted = true;
                self.halving.hopeless = false;
                return true;
            }
            _ => self.shared.count_failed_post(),
        }
        match answer {
            Answer::Http { status: status @ (401 | 403), .. } => {
                self.queue.put_back(hand.take());
                self.hold_for(Hold::Ordered, KEY_REFUSED_MS);
                self.shared.diagnostics.say("key", || {
                    format!("the backend refuses the API key ({status}), one try a minute; {}", self.waiting())
                });
                false
            }
            Answer::Http { status: 413, .. } => {
                self.max_bytes = (body.len() / 2).max(1);
                self.full_size_at = monotonic_ms() + SMALLER_MS;
                self.halve(hand, 413)
            }
            Answer::Http { status: status @ (400..=499), .. } if !matches!(status, 408 | 425 | 429) => {
                if self.halving.left == 0 {
                    return self.refuse(hand, status);
                }
                self.halving.left -= u32::from(hand.batch().len() > 1);
                self.halve(hand, status)
            }
            Answer::Http { status, retry_after_ms, .. } => {
                self.queue.put_back(hand.take());
                self.hold(retry_after_ms);
                let why = match status {
                    300..=399 => "redirects, which is not followed",
                    _ => "does not take events now",
                };
                self.shared.diagnostics.say("events", || format!("the backend {why} ({status}); {}", self.waiting()));
                false
            }
            Answer::None(fault) => {
                self.queue.put_back(hand.take());
                self.hold(None);
                self.shared
                    .diagnostics
                    .say("events", || format!("the backend is not reached: {fault}; {}", self.waiting()));
                false
            }
        }
    }

    fn halve(&mut self, hand: InHand<'_>, status: u16) -> bool {
        if hand.batch().len() == 1 {
            return self.refuse(hand, status);
        }
        self.queue.split_back(hand.take());
        true
    }

    /// Drops a batch the backend will never take. When a whole batch was refused piece by piece, that is a failure like
    /// any other: it waits before it tries the next.
    fn refuse(&mut self, hand: InHand<'_>, status: u16) -> bool {
        let count = hand.batch().len();
        self.queue.refused(hand.take());
        self.shared
            .diagnostics
            .say("refused", || format!("the backend refused an event ({status}); {count} dropped and counted"));
        if self.halving.accepted || self.queue.has_tried() {
            return true;
        }
        self.halving.hopeless = true;
        self.hold(None);
        false
    }

    /// How it stands, for the operator.
    fn waiting(&self) -> String {
        let counts = self.queue.counts();
        format!("{} events wait, {} dropped so far", counts.waiting, counts.dropped)
    }

    /// Nothing is tried before the time the backend named, or before a jittered delay. "At once" is no time to come
    /// back, so that counts as none named.
    fn hold(&mut self, ordered_ms: Option<u64>) {
        let delay = self.backoff.next_delay_ms();
        match ordered_ms.filter(|ordered| *ordered >= SPREAD_MS) {
            Some(ordered) => self.hold_for(Hold::Ordered, ordered + between_0_and(SPREAD_MS)),
            None => self.hold_for(Hold::Backoff, delay),
        }
    }

    fn hold_for(&mut self, hold: Hold, delay_ms: u64) {
        self.hold = hold;
        self.hold_until = monotonic_ms().saturating_add(delay_ms);
        self.tick_at = self.hold_until;
    }
}

/// A batch that goes back to the queue if nobody decides otherwise: a panic in between loses nothing.
struct InHand<'a> {
    queue: &'a Queue,
    batch: Option<Batch>,
}

impl InHand<'_> {
    fn batch(&self) -> &Batch {
        match &self.batch {
            Some(batch) => batch,
            None => unreachable!("take() consumes the hand"),
        }
    }

    fn take(mut self) -> Batch {
        match self.batch.take() {
            Some(batch) => batch,
            None => unreachable!("take() consumes the hand"),
        }
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.queue.put_back(batch);
        }
    }
}

const MAX_PANICS: u64 = 3;
/// Empty ticks after which the thread sleeps until the next event: about a minute.
const IDLE_TICKS: u32 = 30;
const HURRY_MS: u64 = 1_000;
const SMALLER_MS: u64 = 3_600_000;
pub(super) const KEY_REFUSED_MS: u64 = 60_000;
/// Halvings for one batch: two refused events among a hundred are found within fourteen.
const MANY_HALVINGS: u32 = 32;
/// And after a batch of which nothing was accepted: one refused event is still found.
const FEW_HALVINGS: u32 = 8;
/// Processes told the same Retry-After come back spread over this time.
pub(super) const SPREAD_MS: u64 = 1_000;
