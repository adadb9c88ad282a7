//! Events and forks: a child starts fresh, sends its own events and none of its parent's, and ends in time.
//!
//! A program of its own (no test harness). `fork_delivery 2000` forks that often under four busy threads; without a
//! number it is 200.

mod support;

use forge_x402::backend::{Backend, BackendOptions, Settings};
use forge_x402::sys::fork::PerProcess;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::*;

fn main() {
    if !cfg!(target_os = "linux") {
        println!("skipped: forks are tested on Linux");
        return;
    }
    let forks = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(200);
    let tests: [(&str, &dyn Fn()); 5] = [
        ("p21_each_child_delivers_its_own_events_once_and_none_of_its_parents", &p21_each_child_delivers_its_own),
        ("h02_a_child_of_a_running_worker_starts_its_own", &h02_a_child_of_a_running_worker_starts_its_own),
        ("h02_a_raw_clone_starts_its_own_worker", &h02_a_raw_clone_starts_its_own_worker),
        ("p21_a_grandchild_delivers_too", &p21_a_grandchild_delivers_too),
        ("p22_forks_under_four_busy_threads", &|| p22_forks_under_four_busy_threads(forks)),
    ];
    for (name, test) in tests {
        let start = Instant::now();
        test();
        println!("test {name} ... ok ({:.1} s)", start.elapsed().as_secs_f64());
    }
}

/// What an engine does: one backend per process, made at its first use.
fn per_process(options: BackendOptions) -> PerProcess<Backend> {
    let settings = Arc::new(Settings::new(options));
    PerProcess::new(move || Backend::new(settings.clone()))
}

fn p21_each_child_delivers_its_own() {
    let server = FaultBackend::start(Mode::Ok);
    let state = per_process(BackendOptions { flush_interval_ms: 3_600_000, ..options(server.url()) });
    push(state.get(), 0..50);
    let children: Vec<_> = (1..=4u64)
        .map(|child| {
            start(Start::Fork, || {
                let backend = state.get();
                let fresh = backend.counters().pushed == 0;
                push(backend, child * 1_000..child * 1_000 + 10);
                fresh && backend.flush(LONG).is_ok() && backend.counters().sent == 10
            })
        })
        .collect();
    for child in children {
        assert!(ended_well(child));
    }
    assert_eq!(state.get().counters().queued, 50, "the parent's events are where they were");
    assert_eq!(state.get().flush(LONG), Ok(()));
    let mut expected: Vec<u64> = (0..50).collect();
    expected.extend((1..=4u64).flat_map(|child| child * 1_000..child * 1_000 + 10));
    assert_eq!(sorted(server.numbers()), expected);
}

fn h02_a_child_of_a_running_worker_starts_its_own() {
    let server = FaultBackend::start(Mode::Ok);
    let state = per_process(BackendOptions { flush_interval_ms: 20, ..options(server.url()) });
    push(state.get(), 0..10);
    assert_eq!(state.get().flush(LONG), Ok(()));
    assert!(state.get().counters().worker_running);
    let child = start(Start::Fork, || {
        let backend = state.get();
        let fresh = !backend.counters().worker_running && backend.counters().sent == 0;
        push(backend, 100..110);
        fresh && backend.shutdown(LONG).is_ok() && backend.counters().sent == 10
    });
    assert!(ended_well(child));
    push(state.get(), 10..20);
    assert_eq!(state.get().flush(LONG), Ok(()));
    assert_eq!(sorted(server.numbers()), (0..20).chain(100..110).collect::<Vec<_>>());
}

fn h02_a_raw_clone_starts_its_own_worker() {
    let server = FaultBackend::start(Mode::Ok);
    let state = per_process(BackendOptions { flush_interval_ms: 3_600_000, ..options(server.url()) });
    push(state.get(), 0..10);
    std::thread::sleep(Duration::from_millis(100));
    let child = start(Start::RawClone, || {
        let backend = state.get();
        let fresh = backend.counters().pushed == 0;
        push(backend, 100..110);
        fresh && backend.flush(LONG).is_ok()
    });
    assert!(ended_well(child));
    assert_eq!(sorted(server.numbers()), (100..110).collect::<Vec<_>>());
}

fn p21_a_grandchild_delivers_too() {
    let server = FaultBackend::start(Mode::Ok);
    let state = per_process(options(server.url()));
    push(state.get(), 0..5);
    let child = start(Start::Fork, || {
        push(state.get(), 100..105);
        let grandchild = start(Start::Fork, || {
            push(state.get(), 200..205);
            state.get().flush(LONG).is_ok()
        });
        ended_well(grandchild) && state.get().flush(LONG).is_ok()
    });
    assert!(ended_well(child));
    assert_eq!(state.get().flush(LONG), Ok(()));
    assert_eq!(sorted(server.numbers()), (0..5).chain(100..105).chain(200..205).collect::<Vec<_>>());
}

fn p22_forks_under_four_busy_threads(forks: u64) {
    let server = FaultBackend::start(Mode::Ok);
    server.seen().lean = true;
    let state = Arc::new(per_process(BackendOptions { flush_interval_ms: 20, ..options(server.url()) }));
    let stop = Arc::new(AtomicBool::new(false));
    let next = Arc::new(AtomicU64::new(0));
    let busy: Vec<_> = (0..4)
        .map(|_| {
            let (state, stop, next) = (state.clone(), stop.clone(), next.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    state.get().push(event(next.fetch_add(1, Ordering::Relaxed)));
                }
            })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for fork in 0..forks {
        let began = Instant::now();
        let first = CHILDREN + fork * 10;
        let child = start(if fork % 2 == 0 { Start::Fork } else { Start::ForkAndExit }, || {
            push(state.get(), first..first + 10);
            state.get().flush(Duration::from_secs(4)).is_ok()
        });
        assert!(ended_well(child), "child {fork}");
        slowest = slowest.max(began.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    for thread in busy {
        thread.join().unwrap();
    }
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    assert_eq!(state.get().flush(LONG), Ok(()));
    let counters = state.get().counters();
    assert_eq!(counters.pushed, next.load(Ordering::Relaxed), "counts of children are their own");
    assert_eq!(counters.sent + counters.dropped, counters.pushed);
    let mut arrived: HashMap<u64, u32> = HashMap::new();
    for number in server.numbers() {
        *arrived.entry(number).or_default() += 1;
    }
    assert!(arrived.values().all(|times| *times == 1), "nothing comes twice");
    let of_children = arrived.keys().filter(|number| **number >= CHILDREN).count() as u64;
    assert_eq!(of_children, forks * 10, "every event of every child");
    assert_eq!(arrived.len() as u64 - of_children, counters.sent, "the parent's are sent by the parent alone");
    println!(
        "{forks} forks, slowest child {slowest:?}, {} events of the parent ({} sent, {} dropped)",
        counters.pushed, counters.sent, counters.dropped
    );
}

const CHILDREN: u64 = 1 << 40;

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

#[derive(Clone, Copy)]
enum Start {
    /// Leaves by `_exit`.
    Fork,
    /// Leaves by `exit`, with the exit handlers of the C library.
    ForkAndExit,
    RawClone,
}

/// Starts a child that says whether all went well. It is killed after ten seconds.
fn start(how: Start, child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: plain fork, clone, alarm and exit; the child never returns from here.
    unsafe {
        let pid = match how {
            Start::Fork | Start::ForkAndExit => libc::fork(),
            Start::RawClone => libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32,
        };
        assert!(pid >= 0);
        if pid == 0 {
            libc::alarm(10);
            let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(false);
            match how {
                Start::ForkAndExit => libc::exit(i32::from(!well)),
                _ => libc::_exit(i32::from(!well)),
            }
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
