//! What only the inside can provoke; the rest is in tests/backend_*.rs.

use super::*;

fn unreachable_backend() -> Backend {
    Backend::new(Arc::new(Settings::new(BackendOptions {
        backend_url: Some("http://127.0.0.1:9".into()),
        api_key: "ffk_test_fake".into(),
        flush_interval_ms: 20,
        ..BackendOptions::default()
    })))
}

#[test]
fn a_worker_the_system_refused_is_started_later() {
    let backend = unreachable_backend();
    // As if the first spawn had failed.
    let need = backend.shared.queue.push(Event::discovery(&Happened::default()));
    assert_eq!(need, Need::StartWorker);
    backend.shared.queue.worker_absent(Some(clock::monotonic_ms() + 300));
    backend.push(Event::discovery(&Happened::default()));
    assert!(!backend.counters().worker_running);
    assert!(backend.flush(Duration::from_millis(1_500)).is_err(), "nobody answers");
    assert!(backend.counters().failed_posts >= 1, "but it was tried");
    assert_eq!(backend.counters().queued, 2);
}

#[test]
fn on_the_worker_itself_flush_and_shutdown_do_not_wait() {
    let backend = unreachable_backend();
    backend.push(Event::discovery(&Happened::default()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            worker::mark_this_thread();
            let start = Instant::now();
            assert_eq!(backend.flush(Duration::from_secs(5)), Err(Unfinished { queued: 1 }));
            assert_eq!(backend.shutdown(Duration::from_secs(5)), Err(Lost { events: 1 }));
            assert!(start.elapsed() < Duration::from_millis(500));
        });
    });
}

#[test]
fn an_event_of_the_host_is_taken_or_refused_with_a_reason() {
    let backend = unreachable_backend();
    assert_eq!(backend.enqueue_event(br#"{"type":"mine"}"#), Ok(()));
    assert_eq!(backend.enqueue_event(b"{}"), Err(EventRefused::NoType));
    assert_eq!(backend.counters().pushed, 1);
}
