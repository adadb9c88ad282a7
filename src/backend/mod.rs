//! Telemetry: every event arrives at the backend once, or is counted as dropped. And the calls of the rating routes.
//!
//! ```text
//! push ─▶ queue (1,000 events, 8 MiB) ─▶ worker (one thread) ─▶ transport (HTTP) ─▶ backend
//!                                           └ diagnostics: lines the host pulls
//! ```
//!
//! `Backend::new` starts no thread and opens no socket: the first event starts the worker. Pushing and asking for the
//! registered origin never wait for the network. Only `flush`, `shutdown`, `rating` and `summary` block, each for the
//! limit it is given.
//!
//! One `Backend` belongs to one process: the engine makes a new one in a forked child (`sys::fork::PerProcess`) and
//! leaves the inherited one alone.

mod backoff;
mod captured;
mod diagnostics;
mod event;
mod origin;
mod queue;
mod resolver;
mod settings;
mod transport;
mod worker;

pub use captured::Captured;
pub use diagnostics::Diagnostics;
pub use event::{Escalation, Event, EventRefused, Happened, Interaction, InteractionId, PaymentFacts, Text, uuid};
pub use settings::{BackendOptions, Settings};
pub use transport::{Answer, tls_selftest};

use crate::sys::{clock, signals};
use origin::RegisteredOrigin;
use queue::{Need, Queue};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use transport::Transport;

/// The way to the backend, for one process. Shared by all its threads.
pub struct Backend {
    shared: Arc<Shared>,
}

/// What the worker thread and the callers share.
struct Shared {
    settings: Arc<Settings>,
    transport: Option<Arc<Transport>>,
    queue: Queue,
    diagnostics: Diagnostics,
    origin: RegisteredOrigin,
    origin_asked: AtomicBool,
    failed_posts: AtomicU64,
    panics: AtomicU64,
    provoke_panic: AtomicBool,
}

/// Where all events are: `pushed` = `queued` + `sent` + `dropped`, exactly, at every moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events handed in since this process began.
    pub pushed: u64,
    /// Waiting or being sent.
    pub queued: u64,
    /// Accepted by the backend (2xx).
    pub sent: u64,
    /// Pushed out of a full queue, refused by the backend, or not sent by the end.
    pub dropped: u64,
    /// POST /events that were not answered by a 2xx.
    pub failed_posts: u64,
    /// Contained panics of the worker.
    pub worker_panics: u64,
    pub worker_running: bool,
}

/// The limit of a flush passed, or no worker can run; this many events are still queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub queued: u64,
}

/// The limit of a shutdown passed; this many events were not sent (or not known to be) and are counted as dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    pub events: u64,
}

impl Backend {
    /// A backend that has not started anything.
    pub fn new(settings: Arc<Settings>) -> Backend {
        let diagnostics = Diagnostics::default();
        for (topic, line) in &settings.notes {
            diagnostics.say(topic, || line.clone());
        }
        let transport = settings.reach.clone().map(|reach| Arc::new(Transport::new(reach)));
        Backend {
            shared: Arc::new(Shared {
                transport,
                queue: Queue::new(),
                diagnostics,
                origin: RegisteredOrigin::default(),
                origin_asked: AtomicBool::new(false),
                failed_posts: AtomicU64::new(0),
                panics: AtomicU64::new(0),
                provoke_panic: AtomicBool::new(false),
                settings,
            }),
        }
    }

    /// Hands in an event. Never blocks on I/O and cannot fail: with telemetry off it is ignored, a full queue drops its
    /// oldest event, after shutdown the event is dropped and counted. Starts the worker if there is none.
    #[inline]
    pub fn push(&self, event: Event) {
        if self.shared.settings.telemetry {
            let need = self.shared.queue.push(event);
            self.meet(need);
        }
    }

    /// Hands in an event the host wrote itself; see `Event::from_json` for what is taken.
    pub fn enqueue_event(&self, json: &[u8]) -> Result<(), EventRefused> {
        self.push(Event::from_json(json, clock::unix_ms())?);
        Ok(())
    }

    /// The origin the merchant registered with the backend, if known by now. Never blocks; the first call has it looked
    /// up in the background, with retries.
    #[inline]
    pub fn registered_origin(&self) -> Option<Arc<str>> {
        if !self.shared.origin_asked.load(Ordering::Relaxed) {
            self.ask_for_origin();
        }
        self.shared.origin.get()
    }

    /// Waits until every event handed in so far is sent or dropped. BLOCKS for `limit` at most.
    ///
    /// Ends a waiting time after a failure early, but not one the backend has ordered. Called on the worker itself (by a
    /// hook of the host, say) it refuses at once.
    pub fn flush(&self, limit: Duration) -> Result<(), Unfinished> {
        let (last, need) = self.shared.queue.hurry();
        self.meet(need);
        if !worker::is_this_thread() && self.wait_until_gone(last, limit) {
            return Ok(());
        }
        Err(Unfinished { queued: self.counters().queued })
    }

    /// Sends what was handed in before, then stops the worker. BLOCKS for `limit` at most: when it has passed, the call
    /// in flight is cancelled and what is left is dropped and counted. Later events are dropped and counted; a second
    /// call has nothing left to do. Called on the worker itself it does not wait.
    pub fn shutdown(&self, limit: Duration) -> Result<(), Lost> {
        let need = self.shared.queue.begin_closing();
        self.meet(need);
        let limit = if worker::is_this_thread() { Duration::ZERO } else { limit };
        self.wait_until_gone(u64::MAX, limit);
        let events = self.shared.queue.close();
        if let Some(transport) = &self.shared.transport {
            transport.cancel();
        }
        match events {
            0 => Ok(()),
            events => Err(Lost { events }),
        }
    }

    /// POST /feedback with `json` as its body. BLOCKS for `limit` at most, whatever hangs.
    pub fn rating(&self, json: &[u8], limit: Duration) -> Answer {
        let key = uuid();
        match &self.shared.transport {
            Some(transport) => transport.rating(std::str::from_utf8(&key).unwrap_or_default(), json, limit),
            None => no_backend(),
        }
    }

    /// GET /summary. BLOCKS for `limit` at most, whatever hangs.
    pub fn summary(&self, limit: Duration) -> Answer {
        match &self.shared.transport {
            Some(transport) => transport.summary(limit),
            None => no_backend(),
        }
    }

    /// Where all events are. One short lock.
    pub fn counters(&self) -> Counters {
        let counts = self.shared.queue.counts();
        Counters {
            pushed: counts.pushed,
            queued: counts.waiting + counts.in_flight,
            sent: counts.sent,
            dropped: counts.dropped,
            failed_posts: self.shared.failed_posts.load(Ordering::Relaxed),
            worker_panics: self.shared.panics.load(Ordering::Relaxed),
            worker_running: counts.worker_running,
        }
    }

    /// Lines for the operator.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.shared.diagnostics
    }

    /// Makes the worker panic at its next wake-up: for tests of the containment.
    #[doc(hidden)]
    pub fn provoke_worker_panic(&self) {
        self.shared.provoke_panic.store(true, Ordering::Release);
    }

    /// In steps: a worker the system refused is asked for again.
    fn wait_until_gone(&self, last: u64, limit: Duration) -> bool {
        let now = Instant::now();
        let deadline = now.checked_add(limit).unwrap_or(now + LONGEST);
        loop {
            let step = deadline.min(Instant::now() + Duration::from_millis(THREAD_AGAIN_MS));
            if self.shared.queue.wait_until_gone(last, step) {
                return true;
            }
            if step == deadline {
                return false;
            }
            self.meet(self.shared.queue.worker_missing());
        }
    }

    #[cold]
    fn ask_for_origin(&self) {
        if self.shared.transport.is_some() && !self.shared.origin_asked.swap(true, Ordering::Relaxed) {
            let need = self.shared.queue.ask_for_look_up();
            self.meet(need);
        }
    }

    #[inline]
    fn meet(&self, need: Need) {
        if need == Need::StartWorker {
            self.start_worker();
        }
    }

    #[cold]
    fn start_worker(&self) {
        let Some(transport) = self.shared.transport.clone() else {
            return self.shared.queue.worker_absent(None);
        };
        let shared = self.shared.clone();
        if let Err(fault) = signals::spawn("fx402-worker", move || worker::run(&shared, &transport)) {
            self.shared.queue.worker_absent(Some(clock::monotonic_ms() + THREAD_AGAIN_MS));
            self.shared
                .diagnostics
                .say("worker", || format!("no thread for telemetry ({}); events wait", fault.kind()));
        }
    }
}

impl Drop for Backend {
    /// Without a shutdown: takes nothing more, does not wait. The worker tries once more to send what is there, within
    /// the limits of its calls, and ends.
    fn drop(&mut self) {
        let need = self.shared.queue.abandon();
        self.meet(need);
    }
}

impl Shared {
    fn interval_ms(&self) -> u64 {
        self.settings.flush_interval.as_millis() as u64
    }

    fn count_failed_post(&self) {
        self.failed_posts.fetch_add(1, Ordering::Relaxed);
    }

    fn count_panic(&self) -> u64 {
        self.panics.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn provoked_panic(&self) {
        if self.provoke_panic.swap(false, Ordering::AcqRel) {
            panic!("provoked");
        }
    }
}

fn no_backend() -> Answer {
    Answer::None("no backend".into())
}

/// The system gave no thread: ask again after this time.
const THREAD_AGAIN_MS: u64 = 1_000;
const LONGEST: Duration = Duration::from_secs(86_400 * 365);

#[cfg(test)]
mod tests;
