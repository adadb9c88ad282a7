//! kill -9 under load: every event and rating that was answered 2xx is there afterwards, each once, figures included.
//!
//! KILLS says how often (2; scripts/collector_deep.sh asks for 20).

mod common;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::fresh_postgres;
use forge_collector::clock::Clock;
use forge_collector::feedback_id;
use forge_collector::store::{Page, Store};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const KEY: &str = "ffk_kill_test_0123456789abcdef";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_loses_nothing_that_was_answered_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    kill_and_count(folder.path().join("kill.db").to_str().unwrap(), folder.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_loses_nothing_that_was_answered_on_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    kill_and_count(&fresh_postgres().await, folder.path()).await;
}

#[derive(Default)]
struct Acknowledged {
    events: Mutex<HashSet<String>>,
    ratings: Mutex<HashSet<String>>,
}

impl Acknowledged {
    fn counts(&self) -> (usize, usize) {
        (self.events.lock().unwrap().len(), self.ratings.lock().unwrap().len())
    }
}

async fn kill_and_count(database: &str, folder: &Path) {
    let kills: u32 = std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(2);
    let store = Store::open(database).await.unwrap();
    store.add_project("kill", None, KEY, 0).await.unwrap();
    store.close().await;

    let acknowledged = Arc::new(Acknowledged::default());
    let sequence = Arc::new(AtomicU64::new(0));
    for round in 0..kills {
        let (mut collector, address) = serve(database, folder);
        let stop = Arc::new(AtomicBool::new(false));
        let senders: Vec<_> = (0..4)
            .map(|_| tokio::spawn(send_until_dead(address, sequence.clone(), acknowledged.clone(), stop.clone())))
            .collect();
        // Once the load runs, at another moment of a transaction's life each time.
        let (before, started) = (acknowledged.counts(), Instant::now());
        let enough = |now: (usize, usize)| now.0 >= before.0 + 400 && now.1 >= before.1 + 4;
        while !enough(acknowledged.counts()) && started.elapsed() < Duration::from_secs(60) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(u64::from(round * 37 % 200))).await;
        collector.kill().unwrap();
        collector.wait().unwrap();
        stop.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.await.unwrap();
        }
    }

    let store = Store::open(database).await.unwrap();
    let (mut stored, mut after) = (Vec::new(), 0);
    loop {
        let (last, rows) = store.export_events(1, 0, after).await.unwrap();
        if rows.is_empty() {
            break;
        }
        after = last;
        stored.extend(
            rows.iter()
                .map(|row| serde_json::from_str::<Value>(&row.json).unwrap()["event_id"].as_str().unwrap().to_owned()),
        );
    }
    let unique: HashSet<&String> = stored.iter().collect();
    assert_eq!(unique.len(), stored.len(), "each once");
    let acknowledged_events = std::mem::take(&mut *acknowledged.events.lock().unwrap());
    assert!(acknowledged_events.len() > 100 * kills as usize, "the load was one: {}", acknowledged_events.len());
    let lost: Vec<&String> = acknowledged_events.iter().filter(|id| !unique.contains(id)).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged events lost", lost.len(), acknowledged_events.len());
    let (mut rated, mut after) = (HashSet::new(), None);
    loop {
        let (last, rows) = store.export_ratings(1, 0, after).await.unwrap();
        if rows.is_empty() {
            break;
        }
        after = last;
        rated.extend(
            rows.iter().map(|row| {
                serde_json::from_str::<Value>(&row.json).unwrap()["feedback_id"].as_str().unwrap().to_owned()
            }),
        );
    }
    let acknowledged_ratings = std::mem::take(&mut *acknowledged.ratings.lock().unwrap());
    assert!(!acknowledged_ratings.is_empty());
    assert!(acknowledged_ratings.iter().all(|id| rated.contains(id)), "an acknowledged rating is lost");
    let page = Page { project_id: 1, from_ms: Clock::default().now_ms() - 86_400_000, route: None, step_hours: 1 };
    let figures = store.route_figures(&page).await.unwrap();
    let counted: i64 = figures.iter().map(|f| f.challenges + f.paid).sum();
    assert_eq!(counted, i64::try_from(stored.len()).unwrap(), "counters and events are of one transaction");
    println!(
        "{kills} kills, {} events answered, {} stored, {} ratings answered, 0 lost",
        acknowledged_events.len(),
        stored.len(),
        acknowledged_ratings.len()
    );
    store.close().await;
}

fn serve(database: &str, folder: &Path) -> (Child, SocketAddr) {
    let file = folder.join("address");
    let _ = std::fs::remove_file(&file);
    let mut child = Command::new(env!("CARGO_BIN_EXE_forge-collector"))
        .args(["--database", database, "serve", "--listen", "127.0.0.1:0", "--rate-limit", "100000", "--address-file"])
        .arg(&file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(30) {
        if let Some(address) = std::fs::read_to_string(&file).ok().and_then(|text| text.parse().ok()) {
            return (child, address);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("the collector did not start in 30 s");
}

async fn send_until_dead(
    address: SocketAddr,
    sequence: Arc<AtomicU64>,
    acknowledged: Arc<Acknowledged>,
    stop: Arc<AtomicBool>,
) {
    let signing_key = feedback_id::signing_key(KEY);
    while !stop.load(Ordering::Relaxed) {
        let first = sequence.fetch_add(50, Ordering::Relaxed);
        let now_ms = Clock::default().now_ms();
        let random: [u8; 6] = std::array::from_fn(|at| (first >> (8 * at)) as u8);
        let feedback = feedback_id::mint(&signing_key, u32::try_from(now_ms / 1000).unwrap(), random);
        let mut ids: Vec<String> = (first..first + 49).map(|n| format!("k{n}")).collect();
        let mut events: Vec<Value> =
            ids.iter().map(|id| json!({"type": "challenge", "id": id, "route": "GET /kill", "ts": now_ms})).collect();
        events.push(json!({"type": "interaction", "feedback_id": feedback, "route": "GET /kill", "status": 200, "settled": true}));
        ids.push(format!("f:{feedback}"));
        if post(address, "/events", &json!({"events": events})).await == Some(200) {
            acknowledged.events.lock().unwrap().extend(ids);
        }
        if post(address, "/feedback", &json!({"feedback_id": feedback, "outcome": "fully"})).await == Some(200) {
            acknowledged.ratings.lock().unwrap().insert(feedback);
        }
    }
}

/// The status, or none if the collector died before its answer was whole.
async fn post(address: SocketAddr, path: &str, body: &Value) -> Option<u16> {
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    answer.ends_with('}').then_some(())?;
    answer.split(' ').nth(1)?.parse().ok()
}
