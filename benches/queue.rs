//! What telemetry costs the request path: pushing into a full queue, building an event, and what sys adds.
//!
//! `cargo bench --bench queue`. The backend hangs (a listener that accepts nothing), so the queue is full and every
//! push also drops the oldest event: the dearest case.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use forge_x402::backend::{
    Backend, BackendOptions, Captured, Event, Happened, Interaction, InteractionId, PaymentFacts, Settings,
};
use forge_x402::sys::{clock::Now, fork, random};
use std::hint::black_box;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn push(criterion: &mut Criterion) {
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", hanging.local_addr().unwrap());
    let mut group = criterion.benchmark_group("push");
    group.throughput(Throughput::Elements(1));
    group.bench_function("1 thread", |bench| {
        let backend = full(&url);
        bench.iter_batched(event, |event| backend.push(event), BatchSize::LargeInput);
    });
    group.bench_function("8 threads", |bench| {
        let backend = Arc::new(full(&url));
        bench.iter_custom(|pushes| eight_threads(&backend, pushes));
    });
    group.finish();
}

/// The wall time of `pushes` pushes by eight threads together, in rounds: the events of a round are made before its
/// clock runs.
fn eight_threads(backend: &Arc<Backend>, pushes: u64) -> Duration {
    let rounds = pushes.div_ceil(8 * EACH);
    let barrier = Arc::new(std::sync::Barrier::new(9));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (backend, barrier) = (backend.clone(), barrier.clone());
            std::thread::spawn(move || {
                for _ in 0..rounds {
                    let events: Vec<Event> = (0..EACH).map(|_| event()).collect();
                    barrier.wait();
                    for event in events {
                        backend.push(event);
                    }
                    barrier.wait();
                }
            })
        })
        .collect();
    let mut took = Duration::ZERO;
    for _ in 0..rounds {
        barrier.wait();
        let start = Instant::now();
        barrier.wait();
        took += start.elapsed();
    }
    for thread in threads {
        thread.join().unwrap();
    }
    took.mul_f64(pushes as f64 / (rounds * 8 * EACH) as f64)
}

/// Pushes of one thread in one round.
const EACH: u64 = 2_000;

fn build(criterion: &mut Criterion) {
    criterion.bench_function("build an interaction", |bench| bench.iter(|| black_box(event())));
    criterion.bench_function("capture headers", |bench| {
        bench.iter(|| black_box(Captured::from_headers(black_box(HEADERS))));
    });
}

fn sys(criterion: &mut Criterion) {
    criterion.bench_function("fork generation", |bench| bench.iter(fork::generation));
    criterion.bench_function("six random bytes", |bench| bench.iter(random::six_bytes));
    criterion.bench_function("both clocks", |bench| bench.iter(Now::read));
    let state = fork::PerProcess::new(|| 7u64);
    criterion.bench_function("state of this process", |bench| bench.iter(|| *state.get()));
}

fn full(url: &str) -> Backend {
    let backend = Backend::new(Arc::new(Settings::new(BackendOptions {
        backend_url: Some(url.to_owned()),
        api_key: "ffk_test_fake".into(),
        ..BackendOptions::default()
    })));
    for _ in 0..2_000 {
        backend.push(event());
    }
    backend
}

fn event() -> Event {
    let interaction = Interaction {
        id: InteractionId::Feedback("awzJAAABAgMEBU0fS7Pmqw"),
        dialect: "x402/2",
        facts: PaymentFacts {
            payer: Some("0x857b06519E91e3A54538791bDbb0E22373e36b66".into()),
            network: Some("eip155:8453".into()),
            amount: Some("10000".into()),
            scheme: Some("exact".into()),
            asset: Some("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".into()),
            transaction: Some("0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef".into()),
        },
        settled: Some(true),
        outcome: "delivered",
        error_reason: None,
        status: 200,
        latency_ms: 12,
    };
    let happened = Happened {
        route: "GET /weather".into(),
        unix_ms: 1_796_000_000_123,
        request_headers: br#"{"user-agent":"x402-axios/2.27.0","x-client-id":"client-1"}"#,
        user_agent: Some("x402-axios/2.27.0".into()),
        agent_context: &[],
    };
    Event::interaction(&happened, &interaction)
}

const HEADERS: [(&[u8], &[u8]); 8] = [
    (b"host", b"api.example.com"),
    (b"accept", b"*/*"),
    (b"accept-encoding", b"gzip, br"),
    (b"user-agent", b"x402-axios/2.27.0"),
    (b"content-type", b"application/json"),
    (b"x-client-id", b"client-1"),
    (b"payment-signature", b"eyJ4NDAyVmVyc2lvbiI6Mn0="),
    (b"connection", b"keep-alive"),
];

criterion_group!(benches, push, build, sys);
criterion_main!(benches);
