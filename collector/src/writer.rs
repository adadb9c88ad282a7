//! The one task that writes: takes what is queued, writes it in one transaction, answers after the commit.
//!
//! An answer 2xx therefore means "on the disk". While a transaction runs the next group gathers, so under load one fsync
//! carries many batches and a lone batch waits for nobody. The queue is bounded in bytes; a full queue is answered at once.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::store::{Names, Store, Write, Written};

/// Events in one transaction: enough to share the fsync, few enough to end in milliseconds.
const GROUP_EVENTS: usize = 1000;
const GROUP_WRITES: usize = 200;
/// A permit stands for this many bytes.
const PERMIT_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteError {
    /// Too many bytes wait already; try again in a second.
    QueueFull,
    /// The database refused or could not be reached; nothing of this request was kept.
    Storage,
    /// The collector is ending.
    Closing,
}

#[derive(Clone)]
pub struct Writer {
    queue: mpsc::Sender<Job>,
    room: Arc<Semaphore>,
    capacity: usize,
    metrics: Arc<Metrics>,
}

struct Job {
    write: Write,
    answer: oneshot::Sender<Result<Written, WriteError>>,
    _room: Room,
}

impl Writer {
    /// Starts the task. It ends, after writing what is queued, once every clone of the writer is dropped.
    pub fn start(store: Store, clock: Clock, metrics: Arc<Metrics>, max_queued: usize) -> (Self, JoinHandle<()>) {
        let capacity = max_queued / PERMIT_BYTES;
        let (queue, jobs) = mpsc::channel(capacity.clamp(16, 65_536));
        let writer = Self { queue, room: Arc::new(Semaphore::new(capacity)), capacity, metrics: metrics.clone() };
        let task = tokio::spawn(run(store, clock, metrics, jobs));
        (writer, task)
    }

    /// Room for a body of this many bytes, held from before it is read until it is written: memory has a bound however
    /// many clients send at once.
    pub fn reserve(&self, bytes: usize) -> Result<Room, WriteError> {
        let permits = u32::try_from(bytes / PERMIT_BYTES + 1).unwrap_or(u32::MAX);
        let room = self.room.clone().try_acquire_many_owned(permits).map_err(|_| WriteError::QueueFull)?;
        Ok(Room(room))
    }

    /// Queues the write and waits for its commit.
    pub async fn write(&self, write: Write, room: Room) -> Result<Written, WriteError> {
        let (answer, result) = oneshot::channel();
        self.queue.try_send(Job { write, answer, _room: room }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => WriteError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => WriteError::Closing,
        })?;
        let used = self.capacity.saturating_sub(self.room.available_permits()) * PERMIT_BYTES;
        self.metrics.queued_bytes.set(i64::try_from(used).unwrap_or(i64::MAX));
        result.await.unwrap_or(Err(WriteError::Closing))
    }
}

/// Memory set aside in the queue; given back when dropped.
pub struct Room(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

async fn run(store: Store, clock: Clock, metrics: Arc<Metrics>, mut jobs: mpsc::Receiver<Job>) {
    let mut names = Names::default();
    let mut group: Vec<Job> = Vec::new();
    while let Some(first) = jobs.recv().await {
        let mut events = events_in(&first.write);
        group.push(first);
        while events < GROUP_EVENTS && group.len() < GROUP_WRITES {
            let Ok(job) = jobs.try_recv() else { break };
            events += events_in(&job.write);
            group.push(job);
        }
        write_group(&store, &clock, &metrics, &mut names, &mut group, events).await;
    }
}

async fn write_group(
    store: &Store,
    clock: &Clock,
    metrics: &Metrics,
    names: &mut Names,
    group: &mut Vec<Job>,
    events: usize,
) {
    let started = Instant::now();
    let writes: Vec<&Write> = group.iter().map(|job| &job.write).collect();
    match store.write(&writes, names, clock.now_ms()).await {
        Ok(written) => {
            for (job, written) in group.drain(..).zip(written) {
                let _ = job.answer.send(Ok(written));
            }
        }
        Err(error) => {
            metrics.write_failures.inc();
            tracing::warn!(
                error = format!("{error:#}"),
                writes = group.len(),
                "a transaction failed; trying its parts alone"
            );
            // Alone, so that what one request brought cannot fail another's.
            for job in group.drain(..) {
                let alone = store.write(&[&job.write], names, clock.now_ms()).await;
                let result = alone.map(|mut written| written.remove(0)).map_err(|error| {
                    metrics.write_failures.inc();
                    tracing::error!(error = format!("{error:#}"), "could not write");
                    WriteError::Storage
                });
                let _ = job.answer.send(result);
            }
        }
    }
    metrics.write_seconds.observe(started.elapsed().as_secs_f64());
    metrics.write_events.observe(events as f64);
}

fn events_in(write: &Write) -> usize {
    match write {
        Write::Events { events, .. } => events.len(),
        Write::Rating { .. } => 1,
    }
}
