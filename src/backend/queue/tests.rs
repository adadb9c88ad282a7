use super::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn event(number: u32) -> Event {
    sized_event(number, 0)
}

fn sized_event(number: u32, padding: usize) -> Event {
    let json = format!(r#"{{"type":"t","n":{number},"p":"{}"}}"#, "x".repeat(padding));
    Event::from_json_unchecked(json.into_bytes())
}

fn push(queue: &Queue, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let _ = queue.push(event(number));
    }
}

fn numbers(batch: &Batch) -> Vec<u32> {
    let body: serde_json::Value = serde_json::from_slice(&batch.body()).unwrap();
    let number = |event: &serde_json::Value| event["n"].as_u64().unwrap() as u32;
    body["events"].as_array().unwrap().iter().map(number).collect()
}

fn all_waiting(queue: &Queue) -> Vec<u32> {
    let mut all = Vec::new();
    while let Some(batch) = queue.take(BATCH_BYTES, u64::MAX) {
        all.extend(numbers(&batch));
        queue.sent(batch);
    }
    all
}

fn assert_books_close(counts: Counts) {
    assert_eq!(counts.pushed, counts.waiting + counts.in_flight + counts.sent + counts.dropped, "{counts:?}");
}

#[test]
fn the_oldest_goes_and_only_when_the_ring_is_full() {
    let queue = Queue::new();
    push(&queue, 0..1_000);
    assert_eq!(queue.counts().dropped, 0);
    push(&queue, 1_000..1_003);
    assert_eq!(queue.counts().dropped, 3);
    assert_eq!(all_waiting(&queue), (3..1_003).collect::<Vec<_>>());
    assert_books_close(queue.counts());
}

#[test]
fn e13_large_events_are_bounded_by_bytes() {
    let queue = Queue::new();
    for number in 0..1_000 {
        let _ = queue.push(sized_event(number, 60_000));
        assert!(queue.lock().bytes() <= MAX_BYTES);
    }
    let counts = queue.counts();
    assert!((135..=140).contains(&counts.waiting), "{counts:?}");
    assert_books_close(counts);
    let last = all_waiting(&queue);
    assert_eq!(last.last(), Some(&999));
    assert_eq!(last.len() as u64, counts.waiting);
    assert!(last.windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
fn a_batch_is_at_most_a_hundred_events_and_its_bytes() {
    let queue = Queue::new();
    push(&queue, 0..150);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert_eq!(batch.len(), 100);
    queue.sent(batch);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert_eq!(batch.len(), 50);
    queue.sent(batch);
    for number in 0..20 {
        let _ = queue.push(sized_event(number, 60_000));
    }
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert_eq!(batch.len(), 8);
    assert!(batch.body().len() <= BATCH_BYTES);
    queue.sent(batch);
    let batch = queue.take(100, u64::MAX).unwrap();
    assert_eq!(batch.len(), 1, "one event goes whatever its size");
}

#[test]
fn e16_a_failed_batch_goes_back_to_the_front_and_the_oldest_are_dropped() {
    let queue = Queue::new();
    push(&queue, 0..100);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    push(&queue, 100..1_050);
    assert_eq!(queue.counts().dropped, 0, "the batch in flight is beside the ring");
    queue.put_back(batch);
    assert_eq!(queue.counts().dropped, 50);
    assert_eq!(all_waiting(&queue), (50..1_050).collect::<Vec<_>>());
    assert_books_close(queue.counts());
}

#[test]
fn e07_a_batch_keeps_its_key_and_its_events_when_it_is_tried_again() {
    let queue = Queue::new();
    push(&queue, 0..10);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    let (key, body) = (batch.key().to_owned(), batch.body());
    assert!(!batch.was_tried());
    queue.put_back(batch);
    push(&queue, 10..20);
    let again = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert_eq!((again.key(), again.body()), (key.as_str(), body));
    assert!(again.was_tried());
    queue.sent(again);
    let next = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert_ne!(next.key(), key);
    assert_eq!(numbers(&next), (10..20).collect::<Vec<_>>());
}

#[test]
fn a_batch_that_lost_its_oldest_to_a_full_ring_keeps_key_and_order() {
    let queue = Queue::new();
    push(&queue, 0..100);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    let key = batch.key().to_owned();
    queue.put_back(batch);
    push(&queue, 100..1_030);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert_eq!(batch.key(), key);
    assert_eq!(numbers(&batch), (30..100).collect::<Vec<_>>());
    queue.put_back(batch);
    push(&queue, 1_030..1_200);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert_ne!(batch.key(), key, "all of that batch is gone");
    assert_eq!(numbers(&batch), (200..300).collect::<Vec<_>>());
}

#[test]
fn halves_are_batches_of_their_own_in_order() {
    let queue = Queue::new();
    push(&queue, 0..7);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    let key = batch.key().to_owned();
    queue.split_back(batch);
    push(&queue, 7..9);
    let mut seen = vec![key];
    for expected in [0..3, 3..7, 7..9] {
        let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
        assert_eq!(numbers(&batch), expected.collect::<Vec<_>>());
        assert!(!seen.contains(&batch.key().to_owned()));
        seen.push(batch.key().to_owned());
        queue.sent(batch);
    }
    assert!(queue.take(BATCH_BYTES, u64::MAX).is_none());
    assert_books_close(queue.counts());
}

#[test]
fn only_what_was_there_is_taken_unless_a_full_batch_waits() {
    let queue = Queue::new();
    push(&queue, 0..3);
    let last = queue.last_pushed();
    push(&queue, 3..5);
    let batch = queue.take(BATCH_BYTES, last).unwrap();
    assert_eq!(batch.len(), 5, "what fits travels along");
    queue.sent(batch);
    push(&queue, 5..50);
    assert!(queue.take(BATCH_BYTES, last).is_none());
    push(&queue, 50..105);
    assert_eq!(queue.take(BATCH_BYTES, last).unwrap().len(), 100);
}

#[test]
fn closing_takes_nothing_more_and_the_end_counts_what_is_in_flight() {
    let queue = Queue::new();
    push(&queue, 0..150);
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    let _ = queue.begin_closing();
    push(&queue, 150..160);
    assert_eq!(queue.counts().dropped, 10);
    assert_eq!(queue.close(), 150);
    assert_eq!(queue.close(), 0);
    let ended = queue.counts();
    queue.sent(batch);
    assert_eq!(queue.counts(), ended, "an answer after the end changes nothing");
    assert_eq!(ended.dropped, 160);
    assert_books_close(ended);
    assert!(queue.take(BATCH_BYTES, u64::MAX).is_none());
}

#[test]
fn one_caller_alone_starts_the_worker() {
    let queue = Queue::new();
    assert_eq!(queue.push(event(0)), Need::StartWorker);
    assert_eq!(queue.push(event(1)), Need::Nothing);
    queue.worker_absent(Some(monotonic_ms() + 60_000));
    assert_eq!(queue.push(event(2)), Need::Nothing, "refused for a minute");
    queue.worker_absent(Some(monotonic_ms()));
    assert_eq!(queue.push(event(3)), Need::StartWorker);
}

#[test]
fn waiting_for_the_end_of_one_event_does_not_wait_for_later_ones() {
    let queue = Queue::new();
    let soon = || Instant::now() + Duration::from_millis(20);
    assert!(queue.wait_until_gone(u64::MAX, soon()));
    push(&queue, 0..3);
    let (last, _) = queue.hurry();
    assert!(!queue.wait_until_gone(last, soon()));
    let batch = queue.take(BATCH_BYTES, u64::MAX).unwrap();
    assert!(!queue.wait_until_gone(last, soon()), "in flight is not gone");
    push(&queue, 3..5);
    queue.sent(batch);
    assert!(queue.wait_until_gone(last, soon()));
}

#[test]
fn a_sleep_ends_by_time_command_or_a_full_batch() {
    let queue = Queue::new();
    let start = Instant::now();
    queue.wait(Some(monotonic_ms() + 30), BATCH_EVENTS);
    assert!(start.elapsed() >= Duration::from_millis(29));
    push(&queue, 0..1);
    let _ = queue.hurry();
    assert!(queue.wait(None, BATCH_EVENTS).hurry);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| queue.wait(None, BATCH_EVENTS));
        std::thread::sleep(Duration::from_millis(20));
        push(&queue, 1..100);
        assert_eq!(worker.join().unwrap().waiting, 100);
    });
}

/// Eight producers, a consumer that sends, returns, halves and refuses at random: every event ends in one place.
#[test]
fn eight_producers_and_a_draining_consumer_lose_nothing_uncounted() {
    const EACH: u32 = 40_000;
    let queue = Queue::new();
    let done = AtomicBool::new(false);
    let arrived = AtomicUsize::new(0);
    let mut seen = HashSet::new();
    let mut refused = 0;
    std::thread::scope(|scope| {
        let producers: Vec<_> = (0..8)
            .map(|producer| {
                let queue = &queue;
                scope.spawn(move || push(queue, producer * EACH..(producer + 1) * EACH))
            })
            .collect();
        let consumer = scope.spawn(|| {
            let mut turn = 0u32;
            loop {
                let last_round = done.load(Ordering::Acquire);
                while let Some(batch) = queue.take(BATCH_BYTES, u64::MAX) {
                    turn += 1;
                    match turn % 5 {
                        0 => queue.put_back(batch),
                        1 if batch.len() > 1 => queue.split_back(batch),
                        2 if turn % 50 == 2 => {
                            refused += batch.len() as u64;
                            queue.refused(batch);
                        }
                        _ => {
                            for number in numbers(&batch) {
                                assert!(seen.insert(number), "{number} came twice");
                            }
                            arrived.fetch_add(batch.len(), Ordering::Relaxed);
                            queue.sent(batch);
                        }
                    }
                    assert_books_close(queue.counts());
                }
                if last_round {
                    return;
                }
            }
        });
        for producer in producers {
            producer.join().unwrap();
        }
        done.store(true, Ordering::Release);
        consumer.join().unwrap();
    });
    let counts = queue.counts();
    assert_eq!(counts.pushed, u64::from(8 * EACH));
    assert_eq!(counts.sent, seen.len() as u64);
    assert_eq!(counts.sent + counts.dropped, counts.pushed);
    assert!(counts.dropped >= refused);
    assert_eq!(counts.waiting + counts.in_flight, 0);
}

/// The producers wait while 800 events are on their way, so nothing may be dropped: a channel emptied by
/// try_send/try_recv fails this.
#[test]
fn nothing_is_dropped_while_the_ring_is_not_full() {
    let queue = Queue::new();
    let on_their_way = AtomicUsize::new(0);
    let producing = AtomicUsize::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..25_000 {
                    while on_their_way.load(Ordering::SeqCst) > 800 {
                        std::thread::yield_now();
                    }
                    on_their_way.fetch_add(1, Ordering::SeqCst);
                    let _ = queue.push(event(number));
                }
                producing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| {
            loop {
                let last_round = producing.load(Ordering::SeqCst) == 0;
                while let Some(batch) = queue.take(BATCH_BYTES, u64::MAX) {
                    let count = batch.len();
                    queue.sent(batch);
                    on_their_way.fetch_sub(count, Ordering::SeqCst);
                }
                if last_round {
                    return;
                }
            }
        });
    });
    let counts = queue.counts();
    assert_eq!((counts.sent, counts.dropped), (100_000, 0));
}
