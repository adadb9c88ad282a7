//! Limits that hold whatever the backend does: flush, shutdown, drop, and many processes at once.

mod support;

use forge_x402::backend::{BackendOptions, Lost};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;

fn faults() -> Vec<Mode> {
    vec![
        Mode::Ok,
        Mode::Slow(Duration::from_secs(6)),
        Mode::Hang,
        Mode::Reset,
        Mode::Drip,
        Mode::DripBody,
        Mode::Garbage,
        Mode::Status(400),
        Mode::Status(401),
        Mode::Status(413),
        Mode::Status(500),
        Mode::RetryAfter(60),
        Mode::Redirect("http://127.0.0.1:9/".into()),
    ]
}

#[test]
fn e08_shutdown_ends_within_its_limit_in_every_fault_and_counts_the_loss() {
    let all: Vec<_> = faults().into_iter().map(|fault| std::thread::spawn(move || shutdown_in(fault))).collect();
    for thread in all {
        thread.join().unwrap();
    }
}

fn shutdown_in(fault: Mode) {
    let server = FaultBackend::start(fault.clone());
    let backend = quick(server.url());
    push(&backend, 0..150);
    std::thread::sleep(Duration::from_millis(200));
    push(&backend, 150..160);
    let start = Instant::now();
    let ended = backend.shutdown(Duration::from_millis(1_500));
    let took = start.elapsed();
    println!("shutdown(1.5 s) took {took:?} in {fault:?}");
    assert!(took < Duration::from_millis(1_700), "{fault:?}: {took:?}");
    let counters = backend.counters();
    assert_eq!(counters.queued, 0);
    assert_eq!(counters.sent + counters.dropped, 160, "{fault:?}: {counters:?}");
    match fault {
        Mode::Ok => assert_eq!((ended, counters.sent), (Ok(()), 160)),
        // The cut of the call in flight leaves a whole 2xx head without its body: that batch may count as sent.
        Mode::DripBody | Mode::Status(400 | 413) => {}
        _ => assert_eq!(ended, Err(Lost { events: 160 }), "{fault:?}"),
    }
    push(&backend, 0..7);
    assert_eq!(backend.counters().dropped, counters.dropped + 7, "{fault:?}: later events");
    let again = Instant::now();
    assert_eq!(backend.shutdown(Duration::from_secs(5)), Ok(()), "nothing left to lose");
    assert!(again.elapsed() < Duration::from_millis(100));
    let gone = eventually(Duration::from_secs(6), || !backend.counters().worker_running);
    assert!(gone, "{fault:?}: the worker ends");
}

#[test]
fn p24_shutdown_sends_what_came_during_a_slow_flush() {
    let server = FaultBackend::start(Mode::Slow(Duration::from_millis(500)));
    let backend = Arc::new(quick(server.url()));
    push(&backend, 0..10);
    let flushing = {
        let backend = backend.clone();
        std::thread::spawn(move || backend.flush(LONG))
    };
    std::thread::sleep(Duration::from_millis(200));
    push(&backend, 10..20);
    assert_eq!(backend.shutdown(Duration::from_secs(5)), Ok(()));
    assert_eq!(flushing.join().unwrap(), Ok(()));
    assert_eq!(server.numbers(), (0..20).collect::<Vec<_>>());
}

#[test]
fn flush_ends_within_its_limit_and_says_what_waits() {
    let server = FaultBackend::start(Mode::Hang);
    let backend = quick(server.url());
    push(&backend, 0..5);
    let start = Instant::now();
    let unfinished = backend.flush(Duration::from_millis(300)).unwrap_err();
    assert!((300..500).contains(&(start.elapsed().as_millis() as u64)));
    assert_eq!(unfinished.queued, 5);
    assert_eq!(backend.counters().dropped, 0, "a flush loses nothing");
}

#[test]
fn flush_of_an_idle_backend_starts_nothing() {
    let server = FaultBackend::start(Mode::Hang);
    let backend = quick(server.url());
    let start = Instant::now();
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(backend.shutdown(LONG), Ok(()));
    assert!(start.elapsed() < Duration::from_millis(100));
    assert!(!backend.counters().worker_running);
    assert_eq!(server.seen().connections, 0);
}

#[test]
fn many_flushes_during_an_outage_are_not_many_requests() {
    let server = FaultBackend::start(Mode::Status(500));
    let backend = quick(server.url());
    push(&backend, 0..5);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        let _ = backend.flush(Duration::from_millis(10));
    }
    // One a second for the flushes, and the regular retries (see e06).
    assert!(server.posts() <= 14, "{}", server.posts());
}

#[test]
fn a_dropped_backend_tries_once_more_and_its_worker_ends() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = backend(BackendOptions { flush_interval_ms: 3_600_000, ..options(server.url()) });
    push(&backend, 0..30);
    let start = Instant::now();
    drop(backend);
    assert!(start.elapsed() < Duration::from_millis(100), "dropping does not wait");
    assert!(eventually(LONG, || server.numbers().len() == 30));

    let dead = FaultBackend::start(Mode::Status(500));
    let backend = quick(dead.url());
    push(&backend, 0..30);
    assert!(eventually(LONG, || dead.posts() >= 1));
    drop(backend);
    std::thread::sleep(Duration::from_millis(500));
    let posts = dead.posts();
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(dead.posts(), posts, "no worker is left to try again");
}

#[test]
fn exact_books_with_eight_producers_while_the_backend_comes_and_goes() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = Arc::new(quick(server.url()));
    let producers: Vec<_> = (0..8u64)
        .map(|producer| {
            let backend = backend.clone();
            std::thread::spawn(move || {
                for round in 0..100 {
                    push(&backend, producer * 20_000 + round * 200..producer * 20_000 + round * 200 + 200);
                    std::thread::sleep(Duration::from_millis(10));
                }
            })
        })
        .collect();
    for mode in [Mode::Status(500), Mode::Ok, Mode::Reset, Mode::Ok, Mode::TooLargeAbove(2_000), Mode::Ok] {
        std::thread::sleep(Duration::from_millis(200));
        server.set(mode);
        assert_books_close(&backend);
    }
    for producer in producers {
        producer.join().unwrap();
    }
    assert!(eventually(Duration::from_secs(20), || backend.flush(Duration::from_millis(1_100)).is_ok()));
    let counters = backend.counters();
    assert_eq!(counters.sent + counters.dropped, 160_000);
    let mut arrived = server.numbers();
    assert_eq!(arrived.len() as u64, counters.sent, "what counts as sent is what arrived");
    arrived.sort_unstable();
    arrived.dedup();
    assert_eq!(arrived.len() as u64, counters.sent, "and each once");
}
