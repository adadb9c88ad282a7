//! What arrives at the backend and what each of its answers does: the cases of delivery.

mod support;

use forge_x402::backend::{Answer, BackendOptions, Event, Happened, Interaction, InteractionId, PaymentFacts, Text};
use std::time::{Duration, Instant};
use support::*;

#[test]
fn events_arrive_once_in_order_with_key_and_type() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = quick(server.url());
    assert!(!backend.counters().worker_running, "nothing runs before the first event");
    push(&backend, 0..250);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(server.numbers(), (0..250).collect::<Vec<_>>());
    let counters = backend.counters();
    assert_eq!((counters.sent, counters.dropped, counters.queued), (250, 0, 0));
    let seen = server.seen();
    assert_eq!(seen.connections, 1, "the connection is kept");
    let mut keys = std::collections::HashSet::new();
    for request in &seen.requests {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/events"));
        assert_eq!(request.headers["authorization"], format!("Bearer {API_KEY}"));
        assert_eq!(request.headers["content-type"], "application/json");
        assert!(request.headers["user-agent"].starts_with("forge-x402/"));
        assert!(!request.headers.contains_key("accept-encoding"));
        assert!(keys.insert(request.headers["idempotency-key"].clone()));
        let events = serde_json::from_slice::<serde_json::Value>(&request.body).unwrap();
        assert!(events["events"].as_array().unwrap().len() <= 100);
    }
}

#[test]
fn a_tick_delivers_without_a_flush_and_a_full_batch_before_the_tick() {
    let server = FaultBackend::start(Mode::Ok);
    let ticking = quick(server.url());
    push(&ticking, 0..1);
    assert!(eventually(LONG, || server.numbers() == [0]));
    let patient = backend(BackendOptions { flush_interval_ms: 3_600_000, ..options(server.url()) });
    push(&patient, 0..99);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(patient.counters().sent, 0, "99 events wait for the tick");
    push(&patient, 99..100);
    assert!(eventually(LONG, || patient.counters().sent == 100));
}

#[test]
fn e01_a_lone_surrogate_spoils_nothing() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = quick(server.url());
    for raw in [br"\ud800".as_slice(), b"\xff\xfe", br"\udfff\udfff"] {
        for text in [Text::InJson(raw), Text::Plain(raw)] {
            let facts = PaymentFacts { amount: Some(text), ..PaymentFacts::default() };
            let interaction = Interaction {
                id: InteractionId::Random,
                dialect: "x402/2",
                facts,
                settled: None,
                outcome: "delivered",
                error_reason: Some(text),
                status: 402,
                latency_ms: 1,
            };
            let happened = Happened { route: text, ..Happened::default() };
            backend.push(Event::interaction(&happened, &interaction));
        }
    }
    push(&backend, 0..3);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(server.seen().events.len(), 9);
}

#[test]
fn e03_p26_one_refused_event_is_isolated_and_the_others_arrive() {
    let server = FaultBackend::start(Mode::RefuseIf(r#""n":37,"#));
    let backend = quick(server.url());
    push(&backend, 0..100);
    assert_eq!(backend.flush(LONG), Ok(()));
    let mut arrived = server.numbers();
    arrived.sort_unstable();
    assert_eq!(arrived, (0..100).filter(|n| *n != 37).collect::<Vec<_>>());
    let counters = backend.counters();
    assert_eq!((counters.sent, counters.dropped), (99, 1));
    assert!(server.posts() <= 15, "two posts for each of seven halvings: {}", server.posts());
    assert!(backend.diagnostics().drain().iter().any(|line| line.contains("400")));
}

#[test]
fn e03_several_refused_events_in_one_batch_are_isolated() {
    let server = FaultBackend::start(Mode::RefuseIf(r#"5,"p""#));
    let backend = quick(server.url());
    push(&backend, 0..60);
    assert_eq!(backend.flush(LONG), Ok(()));
    let mut arrived = server.numbers();
    arrived.sort_unstable();
    assert_eq!(arrived, (0..60).filter(|n| n % 10 != 5).collect::<Vec<_>>());
    assert_eq!(backend.counters().dropped, 6);
}

#[test]
fn e03_a_backend_that_refuses_everything_is_not_hammered() {
    let server = FaultBackend::start(Mode::Status(400));
    let backend = quick(server.url());
    push(&backend, 0..1_000);
    std::thread::sleep(Duration::from_millis(1_500));
    let posts = server.posts();
    // One batch taken apart (65 posts at most), then jittered waiting: 17 posts a batch.
    assert!(posts <= 65 + 8 * 17, "{posts} posts");
    let counters = backend.counters();
    assert_eq!(counters.sent, 0);
    assert_books_close(&backend);
}

#[test]
fn e04_p26_a_body_too_large_is_halved_and_an_event_too_large_is_dropped() {
    let server = FaultBackend::start(Mode::TooLargeAbove(20_000));
    let backend = quick(server.url());
    for number in 0..50 {
        backend.push(padded_event(number, 1_000));
    }
    for number in 50..52 {
        backend.push(padded_event(number, 15_500));
    }
    assert_eq!(backend.flush(LONG), Ok(()));
    let mut arrived = server.numbers();
    arrived.sort_unstable();
    assert_eq!(arrived, (0..52).collect::<Vec<_>>());
    server.set(Mode::TooLargeAbove(5_000));
    backend.push(padded_event(60, 15_000));
    push(&backend, 61..64);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(server.numbers()[52..], [61, 62, 63]);
    assert_eq!(backend.counters().dropped, 1);
    let before = server.posts();
    push(&backend, 70..80);
    assert_eq!(backend.flush(LONG), Ok(()));
    let large = server.seen().requests[before..].iter().filter(|request| request.body.len() > 5_000).count();
    assert_eq!(large, 0, "the limit is remembered");
}

#[test]
fn e05_p26_a_refused_key_is_said_once_and_tried_once_a_minute() {
    for status in [401, 403] {
        let server = FaultBackend::start(Mode::Status(status));
        let backend = quick(server.url());
        push(&backend, 0..10);
        assert!(eventually(LONG, || server.posts() == 1));
        for round in 0..5 {
            push(&backend, 10 + round * 150..160 + round * 150);
            assert!(backend.flush(Duration::from_millis(100)).is_err());
        }
        assert_eq!(server.posts(), 1, "neither traffic nor flushes cause another try");
        let lines = backend.diagnostics().drain();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("API key") && !lines[0].contains(API_KEY));
        assert_eq!(backend.counters().dropped, 0, "the events wait");
    }
}

#[test]
fn e06_retries_are_bounded_by_time_and_not_by_traffic() {
    let server = FaultBackend::start(Mode::Status(500));
    let backend = quick(server.url());
    let start = Instant::now();
    let mut number = 0;
    while start.elapsed() < Duration::from_millis(2_500) {
        push(&backend, number..number + 200);
        number += 200;
        std::thread::sleep(Duration::from_millis(5));
    }
    let posts = server.posts();
    // Delays are drawn from growing bounds; ten tries in 2.5 s have a chance far below one in a million.
    assert!((1..=10).contains(&posts), "{posts} posts for {number} events");
    let counters = backend.counters();
    assert_eq!(counters.failed_posts, posts as u64);
    assert_eq!(counters.queued, 1_000);
    assert_books_close(&backend);
    assert_eq!(backend.diagnostics().drain().len(), 1, "one line a minute");
}

#[test]
fn e07_a_backend_that_accepts_but_answers_too_late_counts_each_event_once() {
    let server = FaultBackend::start(Mode::Slow(Duration::from_secs(6)));
    let backend = quick(server.url());
    push(&backend, 0..20);
    assert!(eventually(Duration::from_secs(8), || backend.counters().failed_posts == 1));
    server.set(Mode::Ok);
    push(&backend, 20..30);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(server.numbers(), (0..30).collect::<Vec<_>>());
    let seen = server.seen();
    let key = |at: usize| &seen.requests[at].headers["idempotency-key"];
    assert_eq!(key(0), key(1), "the second try is the same batch");
    assert_eq!(seen.requests[0].body, seen.requests[1].body);
    assert_eq!(backend.counters().sent, 30);
}

#[test]
fn a_dripping_backend_is_given_up_after_the_total_limit() {
    for mode in [Mode::Drip, Mode::DripBody] {
        let server = FaultBackend::start(mode.clone());
        let backend = quick(server.url());
        push(&backend, 0..1);
        let start = Instant::now();
        let moved = || backend.counters().failed_posts + backend.counters().sent == 1;
        assert!(eventually(Duration::from_secs(8), moved), "{mode:?}");
        let took = start.elapsed();
        assert!(took < Duration::from_millis(5_800), "{mode:?} {took:?}");
        // A whole head with a 2xx is an acceptance, whatever follows.
        assert_eq!(backend.counters().sent, u64::from(matches!(mode, Mode::DripBody)));
    }
}

#[test]
fn e13_e14_huge_texts_stay_small_on_the_wire() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = quick(server.url());
    let huge = "9".repeat(60_000);
    for _ in 0..1_000 {
        let facts = PaymentFacts { amount: Some(huge.as_str().into()), ..PaymentFacts::default() };
        let interaction = Interaction {
            id: InteractionId::Random,
            dialect: "x402/2",
            facts,
            settled: None,
            outcome: "delivered",
            error_reason: None,
            status: 200,
            latency_ms: 1,
        };
        let happened = Happened { route: huge.as_str().into(), ..Happened::default() };
        backend.push(Event::interaction(&happened, &interaction));
    }
    assert_eq!(backend.flush(LONG), Ok(()));
    let seen = server.seen();
    assert!(seen.requests.iter().all(|request| request.body.len() < 300_000));
    assert_eq!(seen.events.len() as u64 + backend.counters().dropped, 1_000);
}

#[test]
fn e16_after_an_outage_the_newest_thousand_arrive() {
    let server = FaultBackend::start(Mode::Status(503));
    let backend = quick(server.url());
    push(&backend, 0..50);
    assert!(eventually(LONG, || backend.counters().failed_posts >= 1));
    push(&backend, 50..3_000);
    server.set(Mode::Ok);
    assert!(eventually(LONG, || backend.flush(Duration::from_secs(1)).is_ok()));
    let arrived = server.numbers();
    let counters = backend.counters();
    assert_eq!(counters.sent + counters.dropped, 3_000);
    assert_eq!(arrived.len() as u64, counters.sent);
    assert!(arrived.len() >= 1_000);
    assert_eq!(arrived[arrived.len() - 1_000..], (2_000..3_000).collect::<Vec<_>>());
}

#[test]
fn e17_a_redirect_is_not_followed_and_the_key_stays_here() {
    let thief = FaultBackend::start(Mode::Ok);
    let server = FaultBackend::start(Mode::Redirect(format!("{}/v1/events", thief.url())));
    let backend = quick(server.url());
    push(&backend, 0..5);
    assert!(eventually(LONG, || backend.counters().failed_posts >= 1));
    assert_eq!(thief.seen().requests.len(), 0);
    assert!(backend.rating(b"{}", Duration::from_secs(2)) != Answer::None(String::new()));
    assert_eq!(thief.seen().connections, 0);
    assert_eq!(backend.counters().queued, 5);
    assert!(backend.diagnostics().drain().iter().any(|line| line.contains("redirect")));
}

#[test]
fn p26_retry_after_is_obeyed_whatever_traffic_and_flushes_come() {
    let server = FaultBackend::start(Mode::RetryAfter(2));
    let backend = quick(server.url());
    push(&backend, 0..1);
    assert!(eventually(LONG, || server.posts() == 1));
    let start = Instant::now();
    server.set(Mode::Ok);
    let mut number = 1;
    while start.elapsed() < Duration::from_millis(1_800) {
        push(&backend, number..number + 120);
        number += 120;
        let _ = backend.flush(Duration::from_millis(50));
    }
    assert_eq!(server.posts(), 1);
    assert!(eventually(Duration::from_secs(3), || server.posts() > 1));
    let seen = server.seen();
    let waited = seen.requests[1].at - seen.requests[0].at;
    assert!(waited >= Duration::from_secs(2), "{waited:?}");
}

#[test]
fn p24_a_connection_the_backend_closed_is_replaced_at_once() {
    let server = FaultBackend::start(Mode::CloseAfterAnswer);
    let backend = quick(server.url());
    for number in 0..10 {
        push(&backend, number..number + 1);
        assert_eq!(backend.flush(LONG), Ok(()));
    }
    assert_eq!(server.numbers(), (0..10).collect::<Vec<_>>());
    assert_eq!(backend.counters().failed_posts, 0);
}

#[test]
fn a_backend_that_is_back_gets_everything_that_waited() {
    for fault in [Mode::Reset, Mode::Garbage, Mode::Status(500), Mode::Status(429), Mode::Status(408)] {
        let server = FaultBackend::start(fault.clone());
        let backend = quick(server.url());
        push(&backend, 0..120);
        assert!(eventually(LONG, || backend.counters().failed_posts >= 1), "{fault:?}");
        server.set(Mode::Ok);
        assert!(eventually(LONG, || backend.flush(Duration::from_millis(1_100)).is_ok()), "{fault:?}");
        assert_eq!(server.numbers(), (0..120).collect::<Vec<_>>(), "{fault:?}");
        assert_eq!(backend.counters().dropped, 0);
    }
}

#[test]
fn p32_a_panic_of_the_worker_is_contained_and_counted_and_loses_nothing() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = quick(server.url());
    backend.provoke_worker_panic();
    push(&backend, 0..10);
    assert!(eventually(LONG, || backend.counters().worker_panics == 1));
    assert!(eventually(LONG, || backend.flush(Duration::from_secs(1)).is_ok()));
    assert_eq!(server.numbers(), (0..10).collect::<Vec<_>>());
    for panics in 2..=3 {
        backend.provoke_worker_panic();
        push(&backend, 0..1);
        let _ = backend.flush(Duration::from_millis(1_100));
        assert!(eventually(LONG, || backend.counters().worker_panics == panics));
    }
    assert!(eventually(LONG, || !backend.counters().worker_running));
    push(&backend, 0..5);
    let counters = backend.counters();
    assert_eq!(counters.queued, 0, "off after the third: {counters:?}");
    assert_books_close(&backend);
}

#[test]
fn telemetry_off_sends_and_counts_nothing() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = backend(BackendOptions { telemetry: false, ..options(server.url()) });
    push(&backend, 0..200);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(backend.counters(), Default::default());
    assert_eq!(server.seen().connections, 0);
    assert!(matches!(backend.summary(LONG), Answer::Http { status: 200, .. }));
}

#[test]
fn without_a_backend_nothing_is_done_and_one_line_says_so() {
    let backend = backend(BackendOptions { backend_url: None, ..options("") });
    push(&backend, 0..200);
    assert_eq!(backend.registered_origin(), None);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(backend.counters(), Default::default());
    assert!(matches!(backend.rating(b"{}", LONG), Answer::None(_)));
    assert_eq!(backend.diagnostics().drain().len(), 1);
    assert_eq!(backend.shutdown(LONG), Ok(()));
}
