//! What the engine costs a request, beside what its bytes cost anyway (memcpy) and what reading them costs (serde_json's
//! IgnoredAny).
//!
//! Measures the CPU time of the thread, so that a busy machine distorts less; compare only figures of one run.
//! Documents and URLs rotate, so no branch predictor learns one by heart. `benches/report` runs this in rounds and
//! prints one table of medians and ratios.

mod cpu_time;
mod documents;

use std::hint::black_box;
use std::net::TcpListener;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use forge_x402::{Body, ChallengeForm, Engine, Exchange, HeaderLine, Now, Outcome, RequestHead, ResponseHead};
use serde::de::IgnoredAny;

use cpu_time::CpuTime;
use documents::Random;

type Bench = Criterion<CpuTime>;

fn engine() -> Engine {
    let options = br#"{"api_key":"ffk_bench_fake","public_url":"https://api.example.com"}"#;
    Engine::open(options).expect("the options are good")
}

/// One that reports, to a listener that accepts nothing: the queue is full, every event pushes out the oldest.
fn reporting_engine() -> (Engine, TcpListener) {
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", hanging.local_addr().expect("an address"));
    let options = format!(
        r#"{{"api_key":"ffk_bench_fake","public_url":"https://api.example.com","backend_url":"{url}","flush_interval_ms":60000}}"#
    );
    let engine = Engine::open(options.as_bytes()).expect("the options are good");
    for _ in 0..1_100 {
        engine.enqueue_event(br#"{"type":"filler"}"#).expect("an event");
    }
    (engine, hanging)
}

/// Hands out the items of a list round and round.
struct Rotation<T> {
    items: Vec<T>,
    at: usize,
}

impl<T> Rotation<T> {
    fn new(items: Vec<T>) -> Self {
        Rotation { items, at: 0 }
    }

    fn next(&mut self) -> &T {
        self.at = (self.at + 1) % self.items.len();
        &self.items[self.at]
    }
}

/// Benches `work` over rotating inputs, and beside it a copy of the same bytes and serde_json skipping them.
fn beside(bench: &mut Bench, group: &str, inputs: &[Vec<u8>], json: &[Vec<u8>], mut work: impl FnMut(&[u8]) -> usize) {
    let mut group = bench.benchmark_group(group);
    let mut rotation = Rotation::new(inputs.to_vec());
    group.bench_function("memcpy", |timer| timer.iter(|| black_box(rotation.next().clone()).len()));
    let mut texts = Rotation::new(json.to_vec());
    group.bench_function("IgnoredAny", |timer| {
        timer.iter(|| black_box(serde_json::from_slice::<IgnoredAny>(texts.next()).is_ok()))
    });
    group.bench_function("engine", |timer| timer.iter(|| black_box(work(rotation.next()))));
    group.finish();
}

fn headers(bench: &mut Bench) {
    let engine = engine();
    let mut random = Random::new(1);
    let texts: Vec<Vec<u8>> = (0..512).map(|_| documents::challenge(&mut random)).collect();
    let values: Vec<Vec<u8>> = texts.iter().map(|text| STANDARD.encode(text).into_bytes()).collect();
    assert!(values.iter().all(|value| engine.transform_challenge(ChallengeForm::Header, value).is_some()));
    beside(bench, "challenge 1.2 KB", &values, &texts, |value| {
        engine.transform_challenge(ChallengeForm::Header, value).map_or(0, |made| made.len())
    });
    let texts: Vec<Vec<u8>> = (0..512).map(|_| documents::receipt(&mut random)).collect();
    let values: Vec<Vec<u8>> = texts.iter().map(|text| STANDARD.encode(text).into_bytes()).collect();
    let id = engine.mint_id(Now::read());
    assert!(values.iter().all(|value| engine.enrich_receipt(value, id.as_str().as_bytes()).is_some()));
    beside(bench, "receipt", &values, &texts, |value| {
        engine.enrich_receipt(value, id.as_str().as_bytes()).map_or(0, |made| made.len())
    });
}

fn bodies(bench: &mut Bench) {
    let engine = engine();
    let id = engine.mint_id(Now::read());
    for (name, size, count) in
        [("200 B", 200, 1_024), ("10 KB", 10_000, 64), ("100 KB", 100_000, 16), ("1 MB", 1_000_000, 4)]
    {
        let mut random = Random::new(size as u64);
        for (shape, make) in documents::SHAPES {
            let texts: Vec<Vec<u8>> = (0..count).map(|_| make(&mut random, size)).collect();
            assert!(texts.iter().all(|text| engine.enrich_body(text, id.as_str().as_bytes()).is_some()), "{shape}");
            beside(bench, &format!("body {name} {shape}"), &texts, &texts, |text| {
                engine.enrich_body(text, id.as_str().as_bytes()).map_or(0, |made| made.len())
            });
        }
    }
}

fn ids(bench: &mut Bench) {
    let engine = engine();
    let now = Now::read();
    let mut group = bench.benchmark_group("id");
    group.bench_function("mint", |timer| timer.iter(|| black_box(engine.mint_id(now))));
    let mut made = Rotation::new((0..64).map(|_| engine.mint_id(now)).collect());
    group.bench_function("verify", |timer| {
        timer.iter(|| black_box(engine.verify_id(made.next().as_str().as_bytes(), now)))
    });
    group.finish();
}

/// One request of the bench, owned.
struct Call {
    target: Vec<u8>,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Call {
    fn lines(&self) -> Vec<HeaderLine<'_>> {
        self.headers.iter().map(|(name, value)| (&name[..], &value[..])).collect()
    }
}

fn calls(random: &mut Random, payment: bool) -> Vec<Call> {
    (0..256)
        .map(|_| Call { target: documents::target(random), headers: documents::request_headers(random, payment) })
        .collect()
}

fn exchanges(bench: &mut Bench) {
    let mut random = Random::new(7);
    let (quiet, (reporting, _hanging)) = (engine(), reporting_engine());
    let now = Now::read();
    let mut group = bench.benchmark_group("exchange");

    let ordinary = calls(&mut random, false);
    let mut heads = Rotation::new(ordinary.iter().map(|call| (&call.target[..], call.lines())).collect());
    group.bench_function("an ordinary request", |timer| {
        timer.iter(|| {
            let (target, headers) = heads.next();
            let request = RequestHead { method: b"GET", target, headers, ..RequestHead::default() };
            black_box(quiet.on_request(now, &request).is_none())
        })
    });

    let challenges: Vec<Vec<u8>> =
        (0..256).map(|_| STANDARD.encode(documents::challenge(&mut random)).into_bytes()).collect();
    for (name, engine) in [("402, quiet", &quiet), ("402, reporting", &reporting)] {
        let mut at = 0;
        group.bench_function(name, |timer| {
            timer.iter(|| {
                at = (at + 1) % 256;
                let (target, request_headers) = heads.next();
                let request =
                    RequestHead { method: b"GET", target, headers: request_headers, ..RequestHead::default() };
                let headers = [
                    (&b"Content-Type"[..], &b"application/json; charset=utf-8"[..]),
                    (b"PAYMENT-REQUIRED", &challenges[at]),
                    (b"Cache-Control", b"no-store"),
                    (b"Content-Length", b"2"),
                ];
                let response = ResponseHead { status: 402, headers: &headers, ..ResponseHead::default() };
                assert!(engine.on_request(now, &request).is_none());
                let (exchange, verdict) = engine.on_response_late(now, &request, &response).expect("a challenge");
                exchange.end(now, Some(Outcome::Delivered { status: 402, body_bytes: 2 }));
                black_box(verdict.edits.len())
            })
        });
    }

    let paid = calls(&mut random, true);
    let mut heads = Rotation::new(paid.iter().map(|call| (&call.target[..], call.lines())).collect());
    let mut answers = Rotation::new(
        (0..256)
            .map(|_| {
                let body = documents::small(&mut random, 1_000);
                (STANDARD.encode(documents::receipt(&mut random)).into_bytes(), body.len().to_string(), body)
            })
            .collect(),
    );
    let mut pay = |engine: &Engine| -> Exchange {
        let (target, request_headers) = heads.next();
        let request = RequestHead { method: b"GET", target, headers: request_headers, ..RequestHead::default() };
        let (receipt, length, body) = answers.next();
        let headers = [
            (&b"Content-Type"[..], &b"application/json; charset=utf-8"[..]),
            (b"PAYMENT-RESPONSE", receipt),
            (b"ETag", b"W/\"3e8-Yx0fake\""),
            (b"Content-Length", length.as_bytes()),
        ];
        let (mut exchange, _) = engine.on_request(now, &request).expect("a payment");
        let response =
            ResponseHead { status: 200, headers: &headers, body: Body::Whole(body), ..ResponseHead::default() };
        let verdict = exchange.on_response(now, &response);
        assert!(verdict.feedback_id.is_some());
        black_box(verdict.body.expect("an edited body").whole(body));
        exchange
    };
    let delivered = Some(Outcome::Delivered { status: 200, body_bytes: 1_600 });
    for (name, engine) in [("paid, quiet", &quiet), ("paid, reporting", &reporting)] {
        group.bench_function(name, |timer| timer.iter(|| pay(engine).end(now, delivered)));
    }
    group.bench_function("end with events", |timer| {
        timer.iter_batched(|| pay(&reporting), |exchange| exchange.end(now, delivered), BatchSize::SmallInput)
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(CpuTime)
        .without_plots()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(450));
    targets = headers, bodies, ids, exchanges
}
criterion_main!(benches);
