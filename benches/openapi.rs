//! What a document costs: the first time, again through the cache, and per look-up of a rule.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use forge_x402::openapi::{BodyLayout, Cache, Context, Feedback, Plan, enrich};

fn plan() -> Plan {
    Plan {
        feedback: Some(Feedback {
            sentence: "After your call, please rate this service for other agents: GET https://api.example.com/feedback/rate?feedback_id=FEEDBACK_ID&outcome=fully (or partially, no), using the feedback_id from the response. Free, one request.".into(),
            rate_url: "https://api.example.com/feedback/rate".into(),
            base_path: "/feedback".into(),
            body_layout: BodyLayout::Flat,
            rate_hint: true,
            inject_body: true,
        }),
        context: Some(Context { ask: "Please add: agent_context.".into(), required: false, search_query: true }),
        json_types: vec!["application/json".into()],
        also_paid: Vec::new(),
    }
}

fn documents(criterion: &mut Criterion) {
    let plan = plan();
    let document = include_bytes!("../tests/openapi/documents/resources-400-operations.json");
    let mut group = criterion.benchmark_group("openapi/400 operations");
    group.bench_function("parse to serde_json::Value, for comparison", |bench| {
        bench.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(document)).is_ok());
    });
    group.bench_function("cold", |bench| {
        bench.iter(|| enrich(black_box(document), &plan).map(|made| made.text.len()));
    });
    let cache = Cache::default();
    group.bench_function("again through the cache", |bench| {
        bench.iter(|| cache.enrich(black_box(document), &plan).map(|made| made.text.len()));
    });
    group.finish();
}

fn rules(criterion: &mut Criterion) {
    let answers = r#"{"responses":{"402":{},"200":{"content":{"application/json":{"schema":{"type":"object"}}}}}}"#;
    let paths: Vec<String> = (0..1000)
        .map(|n| format!(r#""/v1/resources{n}/{{id}}/parts":{{"get":{answers}}}"#))
        .chain([format!(r#""/v1/{{any}}/{{id}}/{{part}}":{{"get":{answers}}}"#)])
        .collect();
    let document = format!(r#"{{"openapi":"3.1.0","info":{{}},"paths":{{{}}}}}"#, paths.join(","));
    let Ok(made) = enrich(document.as_bytes(), &plan()) else { return };
    let mut group = criterion.benchmark_group("openapi/rule of 1,001 routes");
    for (name, path) in [
        ("literal", "/v1/resources777/6f1c4b7e/parts"),
        ("template", "/v1/others/6f1c4b7e/parts?a=1"),
        ("unknown", "/v2/others/6f1c4b7e"),
    ] {
        group.bench_function(name, |bench| {
            bench.iter(|| made.rules.allows_body("GET", black_box(path), 200));
        });
    }
    group.bench_function("own query parameter", |bench| {
        bench.iter(|| made.rules.declares_query("GET", black_box("/v1/resources777/6f1c4b7e/parts"), "agent_type"));
    });
    group.finish();
}

criterion_group!(benches, documents, rules);
criterion_main!(benches);
