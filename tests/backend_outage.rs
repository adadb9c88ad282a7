//! A backend that is away for long: memory, time and books. A program of its own, because it measures its own process.
//!
//! `backend_outage 1000000 1800` pushes that many events and freezes and kills for that many seconds; without numbers
//! it is 100,000 events and 8 seconds.

mod support;

use forge_x402::backend::BackendOptions;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::*;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|argument| argument == "traffic") {
        return traffic(&arguments[2], arguments[3].parse().unwrap());
    }
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<u64>().ok());
    let events = numbers.next().unwrap_or(100_000);
    let seconds = numbers.next().unwrap_or(8);
    p25_many_events_against_a_backend_that_never_answers(events);
    println!("test p25_many_events_against_a_backend_that_never_answers ... ok");
    if cfg!(target_os = "linux") {
        p24_freezes_and_kills_leave_nothing_uncounted(seconds);
        println!("test p24_freezes_and_kills_leave_nothing_uncounted ... ok");
    }
}

fn p25_many_events_against_a_backend_that_never_answers(events: u64) {
    let server = FaultBackend::start(Mode::Hang);
    server.seen().lean = true;
    let backend = backend(options(server.url()));
    // Full once: what a full queue takes is not growth.
    for number in 0..2_000 {
        backend.push(padded_event(number, 2_000));
    }
    // Written once, so that the list of times is not growth either.
    let mut times = vec![u32::MAX; events as usize - 2_000];
    let before = resident_bytes();
    for (number, time) in (2_000..events).zip(&mut times) {
        let event = padded_event(number, 2_000);
        let start = Instant::now();
        backend.push(event);
        *time = u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX);
    }
    let grown = resident_bytes().saturating_sub(before);
    times.sort_unstable();
    let at = |part: f64| Duration::from_nanos(u64::from(times[((times.len() - 1) as f64 * part) as usize]));
    let counters = backend.counters();
    println!(
        "{events} events of 2 KB against a backend that hangs: memory grew by {:.1} MB; push median {:?}, p99 {:?}, p99.9 {:?}, longest {:?}",
        grown as f64 / 1e6,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    assert!(grown < 20_000_000, "{grown}");
    assert!(counters.queued <= 1_100, "{counters:?}");
    assert_eq!(counters.pushed, events);
    assert_eq!(counters.queued + counters.dropped, events, "nothing was sent");
    server.set(Mode::Ok);
    let back = eventually(Duration::from_secs(30), || backend.flush(Duration::from_secs(1)).is_ok());
    assert!(back, "the backend is back, the queue empties");
    let counters = backend.counters();
    assert_eq!(counters.sent + counters.dropped, events);
    let arrived = server.numbers();
    assert_eq!(arrived.len() as u64, counters.sent);
    assert_eq!(arrived[arrived.len() - 1_000..], (events - 1_000..events).collect::<Vec<_>>(), "the newest thousand");
    println!("the backend returns: {} sent + {} dropped = {}", counters.sent, counters.dropped, counters.pushed);
    let lines = backend.diagnostics().drain();
    assert!(lines.len() <= 2, "{lines:?}");
}

/// A child makes traffic; it is stopped and continued, and the backend is killed and replaced.
fn p24_freezes_and_kills_leave_nothing_uncounted(seconds: u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = Some(FaultBackend::on(listener, Mode::Ok));
    server.as_ref().unwrap().seen().lean = true;
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["traffic", &format!("http://{address}"), &seconds.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id() as i32;
    let signal = |signal| {
        // SAFETY: a child of this process that was not waited for yet.
        unsafe { libc::kill(pid, signal) };
    };
    let mut arrived: Vec<u64> = Vec::new();
    let start = Instant::now();
    let mut turn = 0;
    while start.elapsed() < Duration::from_secs(seconds) {
        turn += 1;
        std::thread::sleep(Duration::from_millis(700));
        match turn % 3 {
            0 => {
                signal(libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(if turn % 9 == 0 { 6_000.min(seconds * 100) } else { 500 }));
                signal(libc::SIGCONT);
            }
            1 => {
                let killed = server.take().unwrap();
                arrived.extend(killed.stop());
                std::thread::sleep(Duration::from_millis(300));
                let again = FaultBackend::on(TcpListener::bind(address).unwrap(), Mode::Ok);
                again.seen().lean = true;
                server = Some(again);
            }
            _ => {}
        }
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    arrived.extend(server.unwrap().stop());
    let text = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [pushed, sent, dropped, failed] = counts[..] else { panic!("{text}") };
    println!(
        "{seconds} s of freezes and kills: {pushed} pushed, {sent} sent, {dropped} dropped, {failed} failed posts"
    );
    assert_eq!(sent + dropped, pushed);
    let all = arrived.len();
    arrived.sort_unstable();
    arrived.dedup();
    // A killed backend forgets its keys: what it took without answering comes again to the next one. Nothing that
    // counts as sent is missing, though.
    assert!(arrived.len() as u64 >= sent, "{} arrived, {sent} counted as sent", arrived.len());
    println!(
        "{} different events arrived, {} came twice to a backend that was killed",
        arrived.len(),
        all - arrived.len()
    );
}

/// The child: traffic for some seconds, then a shutdown; prints pushed, sent, dropped and failed posts.
fn traffic(url: &str, seconds: u64) {
    let backend = backend(BackendOptions { flush_interval_ms: 50, ..options(url) });
    let start = Instant::now();
    let mut number = 0;
    while start.elapsed() < Duration::from_secs(seconds) {
        push(&backend, number..number + 20);
        number += 20;
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = backend.shutdown(Duration::from_secs(5));
    let counters = backend.counters();
    let line = format!("{} {} {} {}\n", counters.pushed, counters.sent, counters.dropped, counters.failed_posts);
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4_096
}
