//! What agent context costs a request: the look at a query without it, and the cut from a 10 KB body beside
//! serde_json skipping the same bytes. Documents rotate, so no branch predictor learns one by heart.
#![allow(dead_code, unused_imports)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use serde::de::IgnoredAny;

// The crate keeps these rooms to itself; the bench compiles the same files.
#[path = "../src/agent_context/mod.rs"]
mod agent_context;
#[path = "../src/feedback"]
mod feedback {
    pub mod route_texts;
}
#[path = "../src/json/mod.rs"]
mod json;
#[path = "../src/text.rs"]
mod text;

const QUERIES: [&str; 8] = [
    "city=Oslo&units=metric",
    "q=agent+based+modelling&page=2&limit=50",
    "",
    "address=Karl%20Johans%20gate%201&amount=12.50&currency=NOK",
    "lat=59.91&lon=10.75&altitude=23&appid=00000000",
    "a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8",
    "ids=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18",
    "from=2026-01-01T00%3A00%3A00Z&to=2026-02-01T00%3A00%3A00Z&all=true",
];

fn queries(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("query");
    let mut at = 0;
    group.bench_function("nothing there", |timer| {
        timer.iter(|| {
            at = (at + 1) % QUERIES.len();
            black_box(agent_context::take_query(black_box(QUERIES[at].as_bytes()), &[]));
        })
    });
    let with = QUERIES.map(|query| format!("{query}&agent_type=claude&agent_search_query=weather+api"));
    group.bench_function("two parameters", |timer| {
        timer.iter(|| {
            at = (at + 1) % with.len();
            black_box(agent_context::take_query(black_box(with[at].as_bytes()), &[]));
        })
    });
    group.finish();
}

fn bodies(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("body 10 KB");
    for (shape, make) in [("records", records as fn(usize) -> String), ("flat", flat), ("one text", one_text)] {
        let without: Vec<String> = (0..64).map(make).collect();
        let with: Vec<String> = without
            .iter()
            .enumerate()
            .map(|(index, body)| match index % 2 {
                0 => body.replacen('{', &format!("{{{MEMBER},"), 1),
                _ => format!("{},{MEMBER}}}", &body[..body.len() - 1]),
            })
            .collect();
        assert!(with.iter().all(|body| agent_context::cut_body(body.as_bytes()).into_option().is_some()));
        let mut at = 0;
        group.bench_function(format!("{shape}: IgnoredAny"), |timer| {
            timer.iter(|| {
                at = (at + 1) % with.len();
                black_box(serde_json::from_slice::<IgnoredAny>(black_box(with[at].as_bytes())).is_ok());
            })
        });
        group.bench_function(format!("{shape}: cut"), |timer| {
            timer.iter(|| {
                at = (at + 1) % with.len();
                black_box(agent_context::cut_body(black_box(with[at].as_bytes())));
            })
        });
        group.bench_function(format!("{shape}: nothing there"), |timer| {
            timer.iter(|| {
                at = (at + 1) % without.len();
                black_box(agent_context::cut_body(black_box(without[at].as_bytes())));
            })
        });
    }
    group.finish();
}

const MEMBER: &str = r#""agent_context":{"agent_type":"Claude Code","client":"awal","search_query":"weather api"}"#;
const SIZE: usize = 10 * 1024;

/// An array of records under one key, as bulk requests have it.
fn records(seed: usize) -> String {
    let mut out = String::from(r#"{"items":["#);
    let mut index = seed;
    while out.len() < SIZE {
        if !out.ends_with('[') {
            out.push(',');
        }
        let (id, price) = (index * 7919, index % 100);
        out += &format!(r#"{{"id":{id},"name":"item {index}","price":{price}.25,"tags":["a","b"],"ok":true}}"#);
        index += 1;
    }
    out + "]}"
}

/// Many small members at the top, the dearest shape for finding one of them.
fn flat(seed: usize) -> String {
    let mut out = String::from("{");
    let mut index = seed;
    while out.len() < SIZE {
        if out.len() > 1 {
            out.push(',');
        }
        out += &match index % 3 {
            0 => format!(r#""field_{index}":"value {index}""#),
            1 => format!(r#""field_{index}":{index}"#),
            _ => format!(r#""field_{index}":false"#),
        };
        index += 1;
    }
    out + "}"
}

/// A prompt: one long text with line breaks.
fn one_text(seed: usize) -> String {
    let words = ["lorem", "ipsum", "dolor", "sit", "amet", "\\n", "consectetur"];
    let text: Vec<&str> = (seed..).map(|index| words[index * index % 7]).take(SIZE / 6).collect();
    format!(r#"{{"model":"m","prompt":"{}"}}"#, text.join(" "))
}

criterion_group!(benches, queries, bodies);
criterion_main!(benches);
