//! Engines and forks: a child that was forked from a serving process tells its own events and none of its parent's, and its
//! ids are new and good everywhere.
//!
//! A program of its own (no test harness): it forks.

mod exchange_support;
mod support;

use exchange_support::*;
use forge_x402::{Engine, Now, Verification};
use std::collections::BTreeSet;
use support::{FaultBackend, LONG, Mode};

fn main() {
    if !cfg!(target_os = "linux") {
        println!("skipped: forks are tested on Linux");
        return;
    }
    let tests: [(&str, fn()); 4] = [
        (
            "h02_a_child_of_a_serving_process_starts_its_own_reporter",
            h02_a_child_of_a_serving_process_starts_its_own_reporter,
        ),
        ("h03_two_workers_of_one_preloaded_engine", h03_two_workers_of_one_preloaded_engine),
        ("p21_an_exchange_begun_before_the_fork_ends_once_in_each_process", p21_an_exchange_begun_before_the_fork),
        ("h02_a_given_document_holds_in_every_process", h02_a_given_document_holds_in_every_process),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

fn routes(server: &FaultBackend) -> Vec<String> {
    let mut routes: Vec<String> =
        server.seen().events.iter().map(|event| event["route"].as_str().unwrap().to_owned()).collect();
    routes.sort();
    routes
}

fn pay(engine: &Engine, path: &str) -> String {
    serve(engine, &get(path).paying(), json(200, "{}")).id.unwrap()
}

fn h02_a_child_of_a_serving_process_starts_its_own_reporter() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    pay(&engine, "/warm-up");
    engine.flush(LONG).unwrap();
    assert!(engine.stats().worker_running);
    let generation = engine.stats().generation;
    let child = fork(|| {
        let stats = engine.stats();
        let fresh =
            stats.generation != generation && !stats.worker_running && stats.sent + stats.queued + stats.minted == 0;
        pay(&engine, "/child");
        fresh && engine.shutdown(LONG).is_ok() && engine.stats().sent == 1
    });
    assert!(ended_well(child));
    pay(&engine, "/parent");
    engine.flush(LONG).unwrap();
    assert_eq!(routes(&server), ["GET /child", "GET /parent", "GET /warm-up"]);
}

fn h03_two_workers_of_one_preloaded_engine() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let unsent = pay(&engine, "/parent");
    let children: Vec<i32> = (0..2)
        .map(|worker| {
            fork(|| {
                for call in 0..100 {
                    pay(&engine, &format!("/worker-{worker}/{call}"));
                }
                engine.flush(LONG).is_ok()
            })
        })
        .collect();
    assert!(children.into_iter().all(ended_well));
    engine.flush(LONG).unwrap();
    let events = server.seen().events.clone();
    assert_eq!(events.len(), 201, "each event of each process once");
    let ids: BTreeSet<&str> = events.iter().map(|event| event["feedback_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 201, "no id twice");
    assert!(ids.contains(unsent.as_str()));
    assert!(ids.iter().all(|id| matches!(engine.verify_id(id.as_bytes(), Now::read()), Verification::Valid { .. })));
    // And in a worker that made none of them.
    let another = fork(|| {
        ids.iter().all(|id| matches!(engine.verify_id(id.as_bytes(), Now::read()), Verification::Valid { .. }))
    });
    assert!(ended_well(another));
}

fn p21_an_exchange_begun_before_the_fork() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), r#""replay_guard":true,"diagnostics":true"#);
    let request =
        get("/in-flight").with("Authorization", "x402 0xfeed").with("X-x402-Timestamp", "1").with("X-x402-Nonce", "n");
    let lines = request.lines();
    let (exchange, _) = engine.on_request(Now::read(), &request.head(&lines)).unwrap();
    let mut exchange = Some(exchange);
    let child = fork(|| {
        // The copy belongs to the child: whatever it does with it is its own.
        exchange.take().unwrap().end(Now::read(), delivered(200));
        engine.flush(LONG).is_ok() && engine.stats().internal_errors == 0
    });
    assert!(ended_well(child));
    exchange.take().unwrap().end(Now::read(), delivered(200));
    engine.flush(LONG).unwrap();
    assert_eq!(routes(&server), ["GET /in-flight", "GET /in-flight"]);
    let ids: BTreeSet<String> = server.seen().events.iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(ids.len(), 2);
}

fn h02_a_given_document_holds_in_every_process() {
    let server = FaultBackend::start(Mode::Ok);
    let document = r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/w/{city}":{"get":{"responses":{"402":{"description":"pay"}}}}}}"#;
    let given = reporting(
        &server.url(),
        &format!(r#""openapi":{{"document":{}}}"#, serde_json::Value::String(document.into())),
    );
    let child = fork(|| {
        pay(&given, "/w/oslo");
        given.flush(LONG).is_ok()
    });
    assert!(ended_well(child));
    assert!(server.seen().events.iter().any(|event| event["route"] == "GET /w/{city}"));
}

/// Starts a child that says whether all went well and leaves by `_exit`. It is killed after twenty seconds.
fn fork(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: plain fork, alarm and _exit; the child never returns from here.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            libc::alarm(20);
            let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(false);
            libc::_exit(i32::from(!well));
        }
        pid
    }
}

fn ended_well(pid: i32) -> bool {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    status == 0
}
