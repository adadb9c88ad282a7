//! A bounded load: batches of events over keep-alive connections, for the figures in docs/collector.md.
//!
//! cargo run --release --example load -- --address 127.0.0.1:8402 --key ffk_... --events 200000 [--connections 4]
//! [--batch 100] [--pid PID: prints its processor time] [--memory: and its memory as it goes] [--random-ids]
//!
//! Ends by itself after so many events. Prints one line: events/s, and milliseconds of a batch at p50, p99 and worst. With
//! --memory it fails if the process is larger at the end than it was after a fifth of the events, with a tenth of tolerance.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use forge_collector::feedback_id;

#[derive(Parser)]
struct Load {
    #[arg(long)]
    address: String,
    #[arg(long)]
    key: String,
    #[arg(long, default_value_t = 200_000)]
    events: u64,
    #[arg(long, default_value_t = 4)]
    connections: u64,
    #[arg(long, default_value_t = 100)]
    batch: u64,
    /// The collector's process, to print the processor time an event costs it
    #[arg(long)]
    pid: Option<u32>,
    /// Print the memory of that process ten times on the way
    #[arg(long, requires = "pid")]
    memory: bool,
    /// Ids without order, as UUIDv4 has them; otherwise they rise with time
    #[arg(long)]
    random_ids: bool,
}

fn main() -> ExitCode {
    let load = Load::parse();
    let sent = AtomicU64::new(0);
    let next = AtomicU64::new(0);
    let started = Instant::now();
    let cpu_before = load.pid.and_then(cpu_seconds);
    let mut resident = Vec::new();
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..load.connections).map(|_| scope.spawn(|| send(&load, &next, &sent))).collect();
        if let Some(pid) = load.pid.filter(|_| load.memory) {
            resident = watch_memory(pid, &load, &sent);
        }
        senders.into_iter().flat_map(|sender| sender.join().expect("a sender")).collect()
    });
    let seconds = started.elapsed().as_secs_f64();
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "{} events in {seconds:.1} s: {:.0} events/s, batch of {}: p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms",
        sent.load(Ordering::Relaxed),
        sent.load(Ordering::Relaxed) as f64 / seconds,
        load.batch,
        at(0.5),
        at(0.99),
        at(1.0)
    );
    if let (Some(before), Some(after)) = (cpu_before, load.pid.and_then(cpu_seconds)) {
        println!("the collector's processor time: {:.1} µs an event", (after - before) * 1e6 / load.events as f64);
    }
    if load.memory {
        let grown = resident.len() < 10 || resident[9] == 0 || resident[9] > resident[1] + resident[1] / 10;
        println!("memory: {}", if grown { "NOT flat" } else { "flat" });
        return if grown { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    ExitCode::SUCCESS
}

/// User and system time of a process; Linux counts it in hundredths of a second.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?) / 100.0)
}

fn send(load: &Load, next: &AtomicU64, sent: &AtomicU64) -> Vec<Duration> {
    let mut stream = TcpStream::connect(&load.address).expect("connect");
    stream.set_nodelay(true).expect("nodelay");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
    let signing_key = feedback_id::signing_key(&load.key);
    let mut took = Vec::new();
    let mut answer = vec![0; 16 * 1024];
    loop {
        let first = next.fetch_add(load.batch, Ordering::Relaxed);
        if first >= load.events {
            return took;
        }
        let body = batch(load, &signing_key, first);
        let head = format!(
            "POST /v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            load.address,
            load.key,
            body.len()
        );
        let begun = Instant::now();
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).expect("send");
        let mut filled = 0;
        loop {
            filled += stream.read(&mut answer[filled..]).expect("an answer");
            // A whole answer ends with the JSON object's brace.
            if filled > 0 && answer[filled - 1] == b'}' {
                break;
            }
        }
        took.push(begun.elapsed());
        let text = std::str::from_utf8(&answer[..filled]).expect("text");
        let accepted = format!("\"accepted\":{},", load.batch);
        assert!(text.starts_with("HTTP/1.1 200") && text.contains(&accepted), "{text}");
        sent.fetch_add(load.batch, Ordering::Relaxed);
    }
}

/// Three challenges to one paid call, twenty routes, a few agents.
fn batch(load: &Load, signing_key: &str, first: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_millis() as u64;
    let mut body = String::with_capacity(48 * 1024);
    body.push_str("{\"events\":[");
    for number in first..first + load.batch {
        if number > first {
            body.push(',');
        }
        let mixed = (number ^ now << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let id =
            if load.random_ids { format!("{mixed:016x}{number:08x}") } else { format!("{now:012x}-{number:012x}") };
        let common = format!(
            r#""id":"{id}","route":"GET /weather/{}","ts":{now},"request_headers":{{"user-agent":"python-httpx/0.27.0","x-session-id":"{mixed:016x}"}},"user_agent":"python-httpx/0.27.0","agent_context":{{"agent_type":"Claude Code","client":"agentcash","search_query":"weather api"}},"dialect":"x402/2""#,
            number % 20
        );
        let _ = if number % 4 == 0 {
            let random = mixed.to_be_bytes();
            let feedback_id = feedback_id::mint(signing_key, (now / 1000) as u32, std::array::from_fn(|at| random[at]));
            write!(
                body,
                r#"{{"type":"interaction","feedback_id":"{feedback_id}",{common},"payer":"0x00000000000000000000000000000000000000{:02x}","network":"eip155:8453","amount":"10000","scheme":"exact","asset":"0x0000000000000000000000000000000000000a55","transaction":"0x{mixed:064x}","settled":true,"status":200,"latency_ms":{}}}"#,
                number % 256,
                number % 400
            )
        } else {
            write!(body, r#"{{"type":"challenge",{common}}}"#)
        };
    }
    body.push_str("]}");
    body
}

/// Prints the resident memory after each tenth of the events; KiB of each.
fn watch_memory(pid: u32, load: &Load, sent: &AtomicU64) -> Vec<u64> {
    let step = (load.events / 10).max(1);
    let mut seen = Vec::new();
    let mut last = (0, Instant::now());
    while seen.len() < 10 {
        std::thread::sleep(Duration::from_millis(20));
        let now = sent.load(Ordering::Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        } else if last.1.elapsed() > Duration::from_secs(30) {
            break;
        }
        if now >= step * (seen.len() as u64 + 1) {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
            let kib = resident.and_then(|kib| kib.parse().ok()).unwrap_or(0);
            println!("{now} events: resident {kib} KiB");
            seen.push(kib);
        }
    }
    seen
}
