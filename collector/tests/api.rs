//! The protocol over a real socket, on SQLite and on PostgreSQL.

mod common;

use std::num::NonZeroU32;

use common::{Collector, NOW, Reply, mint, send};
use forge_collector::clock::{DAY_MS, HOUR_MS, MINUTE_MS};
use forge_collector::config::Config;
use forge_collector::key;
use serde_json::{Value, json};

on_both_databases! {
    e07_an_event_is_stored_once_by_its_id_or_its_idempotency_key
    e03_what_cannot_be_read_is_refused_alone
    a_rating_is_stored_once_correctable_for_15_minutes_then_409
    a_rating_may_come_before_its_event_and_unsettled_ones_are_kept_apart
    f07_ids_of_a_rotated_key_stay_valid_and_the_old_bearer_ends_with_its_grace
    projects_see_nothing_of_each_other
    f03_a_rating_counts_for_what_was_paid_whatever_it_says_itself
    the_summary_covers_30_days_by_route
    root_and_v1_answer_alike
    retention_deletes_what_is_older
    a_database_that_is_gone_is_a_503_and_nothing_is_kept
    parallel_repeats_are_one_event
    a_removed_project_leaves_nothing_behind
}

fn interaction(id: &str, settled: Value) -> Value {
    json!({"type": "interaction", "feedback_id": id, "route": "GET /weather", "ts": NOW, "status": 200, "latency_ms": 12, "settled": settled})
}

async fn e07_an_event_is_stored_once_by_its_id_or_its_idempotency_key(collector: Collector) {
    let with_ids =
        json!([{"type": "challenge", "id": "a"}, {"type": "challenge", "id": "b"}, {"type": "challenge", "id": "a"}]);
    assert_eq!(collector.events(with_ids.clone()).await, json!({"accepted": 2, "duplicates": 1, "rejected": []}));
    assert_eq!(collector.events(with_ids).await, json!({"accepted": 0, "duplicates": 3, "rejected": []}));

    let without = json!({"events": [{"type": "challenge"}, {"type": "visit"}]}).to_string();
    let send = |key: &'static str| {
        let (collector, without) = (&collector, without.clone());
        async move {
            collector.post_as(&collector.key, "/events", &[("idempotency-key", key)], without.as_bytes()).await.json()["accepted"].clone()
        }
    };
    assert_eq!(send("batch-1").await, 2);
    assert_eq!(send("batch-1").await, 0);
    assert_eq!(send("batch-2").await, 2);

    let call = collector.feedback_id(1);
    assert_eq!(
        collector.events(json!([interaction(&call, json!(true)), interaction(&call, json!(true))])).await["accepted"],
        1
    );
    let figures = collector.store.route_figures(&page(&collector)).await.unwrap();
    assert_eq!(
        figures.iter().map(|f| (f.challenges, f.paid)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)),
        (4, 1),
        "a repeat changes no figure"
    );
    collector.stop().await;
}

async fn e03_what_cannot_be_read_is_refused_alone(collector: Collector) {
    let reply =
        collector.post("/events", &json!({"events": [{"type": "visit"}, 7, {"type": "visit"}, {"no": "type"}]})).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["accepted"], 2);
    assert_eq!(
        reply.json()["rejected"],
        json!([{"index": 1, "error": "an event is a JSON object"}, {"index": 3, "error": "type must be a string"}])
    );

    let raw = r#"{"events":[{"type":"interaction","payer":"\ud800"},{"type":"visit"}]}"#;
    assert_eq!(collector.post_as(&collector.key, "/events", &[], raw.as_bytes()).await.json()["accepted"], 2);
    assert_eq!(collector.post("/events", &json!({"events": [1, 2]})).await.status, 400);
    assert_eq!(
        collector.post("/events", &json!({"events": []})).await.json(),
        json!({"accepted": 0, "duplicates": 0, "rejected": []})
    );
    for (body, status, error) in [
        ("{", 400, "invalid_json_body"),
        ("[]", 400, "invalid_batch"),
        (&json!({"events": vec![1; 101]}).to_string(), 413, "too_many_events"),
        (&"x".repeat((2 << 20) + 1), 413, "body_too_large"),
    ] {
        let reply = collector.post_as(&collector.key, "/events", &[], body.as_bytes()).await;
        assert_eq!((reply.status, reply.json()["error"].as_str()), (status, Some(error)));
    }
    let nul = json!({"events": [{"type": "visit\u{0}", "id": "nul\u{0}", "route": "GET /\u{0}", "\u{0}": "\u{0}x"}]});
    assert_eq!(collector.post("/events", &nul).await.json()["accepted"], 1, "PostgreSQL takes no NUL in text");
    collector.stop().await;
}

async fn a_rating_is_stored_once_correctable_for_15_minutes_then_409(collector: Collector) {
    let id = collector.feedback_id(1);
    collector.events(json!([interaction(&id, json!(true))])).await;
    assert_eq!(collector.rate(&id, "fully").await.json(), json!({"recorded": true}));
    collector.clock.set(NOW + 15 * MINUTE_MS);
    assert_eq!(collector.rate(&id, "no").await.json(), json!({"recorded": true, "corrected": true}));
    collector.clock.set(NOW + 15 * MINUTE_MS + 1);
    let late = collector.rate(&id, "partially").await;
    assert_eq!(
        (late.status, late.json()["error"].as_str(), late.json()["recorded"].as_bool()),
        (409, Some("already_rated"), Some(false))
    );
    let summary = collector.get("/summary").await.json();
    assert_eq!(
        (&summary["ratings"], &summary["outcomes"]["no"], &summary["outcomes"]["fully"]),
        (&json!(1), &json!(1), &json!(0))
    );

    for (since_ms, rows) in [(NOW, 1), (NOW + 15 * MINUTE_MS, 1), (NOW + 15 * MINUTE_MS + 1, 0)] {
        let exported = collector.store.export_ratings(1, since_ms, None).await.unwrap().1;
        assert_eq!(exported.len(), rows, "a correction is exported from its own time on: {since_ms}");
    }

    for (body, status, error) in [
        (
            json!({"feedback_id": mint("another key entirely", NOW, 1), "outcome": "no"}),
            404,
            "unknown_or_expired_feedback_id",
        ),
        (
            json!({"feedback_id": mint(&collector.key, NOW - 25 * HOUR_MS, 1), "outcome": "no"}),
            404,
            "unknown_or_expired_feedback_id",
        ),
        (
            json!({"feedback_id": mint(&collector.key, NOW + 2 * HOUR_MS, 1), "outcome": "no"}),
            404,
            "unknown_or_expired_feedback_id",
        ),
        (json!({"feedback_id": "x'; DROP TABLE ratings; --", "outcome": "no"}), 404, "unknown_or_expired_feedback_id"),
        (json!({"outcome": "no"}), 400, "missing_feedback_id"),
        (json!({"feedback_id": id, "outcome": "perfect"}), 400, "invalid_outcome"),
        (json!({"feedback_id": id, "outcome": "no", "note": "x", "via": "GET"}), 400, "note_requires_post"),
        (json!([]), 400, "invalid_json_body"),
    ] {
        let reply = collector.post("/feedback", &body).await;
        assert_eq!((reply.status, reply.json()["error"].as_str()), (status, Some(error)), "{body}");
        assert_eq!(reply.json()["recorded"], false);
    }
    collector.stop().await;
}

async fn a_rating_may_come_before_its_event_and_unsettled_ones_are_kept_apart(collector: Collector) {
    let ids: Vec<String> = (0..4).map(|n| collector.feedback_id(n)).collect();
    for id in &ids {
        assert_eq!(collector.rate(id, "fully").await.status, 200);
    }
    assert_eq!(counted(&collector).await, (0, 0, 4));
    collector
        .events(json!([
            interaction(&ids[0], json!(true)),
            interaction(&ids[1], json!(false)),
            interaction(&ids[2], json!(null))
        ]))
        .await;
    assert_eq!(counted(&collector).await, (1, 2, 1), "no receipt on a route that shows receipts does not count");
    collector
        .events(json!([{"type": "interaction", "feedback_id": ids[3], "transaction": "0x1", "status": 200, "route": "GET /weather"}]))
        .await;
    assert_eq!(counted(&collector).await, (2, 2, 0), "a settlement transaction is a settlement");
    let after = collector.feedback_id(9);
    collector.events(json!([interaction(&after, json!(true))])).await;
    assert_eq!(collector.rate(&after, "no").await.status, 200);
    assert_eq!(counted(&collector).await, (3, 2, 0));
    collector.stop().await;
}

async fn counted(collector: &Collector) -> (i64, i64, i64) {
    let summary = collector.get("/summary").await.json();
    let apart = &summary["not_counted"];
    (
        summary["ratings"].as_i64().unwrap(),
        apart["unsettled"].as_i64().unwrap(),
        apart["waiting_for_call"].as_i64().unwrap(),
    )
}

async fn f07_ids_of_a_rotated_key_stay_valid_and_the_old_bearer_ends_with_its_grace(collector: Collector) {
    let (before, later) = (collector.feedback_id(1), collector.feedback_id(2));
    let project = collector.store.project_by_name("demo").await.unwrap().unwrap();
    let new = key::generate().unwrap();
    collector.store.rotate_key(project.id, &new, NOW + HOUR_MS, NOW).await.unwrap();
    let rate = |key: String, id: String| {
        let collector = &collector;
        async move {
            let body = json!({"feedback_id": id, "outcome": "fully"}).to_string();
            collector.post_as(&key, "/feedback", &[], body.as_bytes()).await.status
        }
    };
    assert_eq!(rate(new.clone(), before).await, 200, "signed with the old key, brought by the new");
    assert_eq!(rate(collector.key.clone(), mint(&new, NOW, 3)).await, 200, "and the other way round");
    collector.clock.set(NOW + HOUR_MS);
    assert_eq!(rate(collector.key.clone(), later.clone()).await, 401, "the old bearer is over");
    assert_eq!(rate(new, later).await, 200, "its ids are not");
    collector.stop().await;
}

async fn f03_a_rating_counts_for_what_was_paid_whatever_it_says_itself(collector: Collector) {
    let (cheap, dear) = (collector.feedback_id(1), collector.feedback_id(2));
    let call = |id: &str, route: &str, payer: &str| json!({"type": "interaction", "feedback_id": id, "route": route, "payer": payer, "settled": true, "status": 200});
    collector.events(json!([call(&cheap, "GET /cheap", "0xc"), call(&dear, "GET /dear", "0xd")])).await;
    let claims = json!({"feedback_id": cheap, "outcome": "no", "issue": "slow", "route": "GET /dear", "payer": "0xd"});
    assert_eq!(collector.post("/feedback", &claims).await.status, 200);
    let summary = collector.get("/summary").await.json();
    assert_eq!(summary["routes"].as_array().unwrap().len(), 1, "{summary}");
    assert_eq!(
        (&summary["routes"][0]["route"], &summary["routes"][0]["issues"]["slow"]),
        (&json!("GET /cheap"), &json!(1)),
        "the call is looked up by the id"
    );
    // The same id told for another call later moves nothing: the first word on an id stands.
    collector.events(json!([call(&cheap, "GET /dear", "0xd")])).await;
    let summary = collector.get("/summary").await.json();
    assert_eq!((&summary["ratings"], &summary["routes"][0]["route"]), (&json!(1), &json!("GET /cheap")));
    collector.stop().await;
}

async fn projects_see_nothing_of_each_other(collector: Collector) {
    let other = key::generate().unwrap();
    collector.store.add_project("other", None, &other, NOW).await.unwrap();
    let id = collector.feedback_id(1);
    collector.events(json!([{"type": "challenge", "id": "same"}, interaction(&id, json!(true))])).await;
    collector.rate(&id, "fully").await;
    let same = json!({"events": [{"type": "challenge", "id": "same"}]}).to_string();
    assert_eq!(
        collector.post_as(&other, "/events", &[], same.as_bytes()).await.json()["accepted"],
        1,
        "ids are per project"
    );
    let get = |path| {
        let (address, bearer) = (collector.address, format!("Bearer {other}"));
        async move { send(address, "GET", path, &[("authorization", &bearer)], b"").await }
    };
    assert_eq!(get("/summary").await.json()["ratings"], 0);
    assert_eq!(get("/project").await.json(), json!({"name": "other"}));
    assert_eq!(
        collector.get("/project").await.json(),
        json!({"name": "demo", "publicOrigin": "https://api.example.com"})
    );
    let foreign = json!({"feedback_id": id, "outcome": "no"}).to_string();
    assert_eq!(collector.post_as(&other, "/feedback", &[], foreign.as_bytes()).await.status, 404);
    collector.stop().await;
}

async fn the_summary_covers_30_days_by_route(collector: Collector) {
    for (random, route, outcome, issue) in [
        (1, "GET /a", "fully", None),
        (2, "GET /a", "no", Some("slow")),
        (3, "POST /b", "partially", Some("wrong_output")),
    ] {
        let id = collector.feedback_id(random);
        collector
            .events(json!([{"type": "interaction", "feedback_id": id, "route": route, "settled": true, "status": 200}]))
            .await;
        let reply = collector
            .post(
                "/feedback",
                &json!({"feedback_id": id, "outcome": outcome, "issue": issue, "note": "a secret note", "via": "POST"}),
            )
            .await;
        assert_eq!(reply.status, 200);
    }
    let reply = collector.get("/summary").await;
    assert!(!reply.text.contains("secret"), "notes are not public");
    let summary = reply.json();
    assert_eq!(summary["outcomes"], json!({"fully": 1, "partially": 1, "no": 1, "not_evaluated": 0}));
    assert_eq!(
        (&summary["issues"]["slow"], &summary["issues"]["wrong_output"], &summary["window_days"]),
        (&json!(1), &json!(1), &json!(30))
    );
    assert_eq!(summary["routes"][0]["route"], "GET /a");
    assert_eq!(summary["routes"][0]["outcomes"]["no"], 1);
    assert_eq!(summary["routes"][1]["issues"]["wrong_output"], 1);
    collector.clock.set(NOW + 30 * DAY_MS + 1);
    assert_eq!(collector.get("/summary").await.json()["ratings"], 0);
    collector.stop().await;
}

async fn root_and_v1_answer_alike(collector: Collector) {
    for path in ["/summary", "/project"] {
        let (root, v1) = (collector.get(path).await, collector.get(&format!("/v1{path}")).await);
        assert_eq!((root.status, root.text), (v1.status, v1.text));
    }
    let id = collector.feedback_id(1);
    assert_eq!(
        collector.post("/v1/events", &json!({"events": [interaction(&id, json!(true))]})).await.json()["accepted"],
        1
    );
    assert_eq!(
        collector.post("/events", &json!({"events": [interaction(&id, json!(true))]})).await.json()["duplicates"],
        1
    );
    assert_eq!(collector.post("/v1/feedback", &json!({"feedback_id": id, "outcome": "fully"})).await.status, 200);
    collector.stop().await;
}

async fn retention_deletes_what_is_older(collector: Collector) {
    let id = collector.feedback_id(1);
    for batch in 0..30 {
        let events: Vec<Value> =
            (0..100).map(|n| json!({"type": "challenge", "id": format!("{batch}-{n}"), "user_agent": "a/1"})).collect();
        collector.events(json!(events)).await;
    }
    collector.rate(&id, "fully").await;
    collector.clock.set(NOW + 10 * DAY_MS);
    collector.events(json!([{"type": "challenge", "id": "young"}])).await;
    assert_eq!(collector.store.delete_before(NOW + DAY_MS, NOW + 10 * DAY_MS).await.unwrap(), 3000 + 1 + 1);
    let project = collector.store.project_by_name("demo").await.unwrap().unwrap();
    let (_, rows) = collector.store.export_events(project.id, 0, 0).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert!(rows[0].json.contains("young"));
    assert_eq!(collector.store.delete_before(NOW + DAY_MS, NOW + 10 * DAY_MS).await.unwrap(), 0);
    collector.stop().await;
}

async fn a_database_that_is_gone_is_a_503_and_nothing_is_kept(collector: Collector) {
    assert_eq!(collector.get("/project").await.status, 200);
    collector.store.close().await;
    let reply = collector.post("/events", &json!({"events": [{"type": "visit"}]})).await;
    assert_eq!((reply.status, reply.json()["error"].as_str()), (503, Some("storage_unavailable")));
    assert!(reply.header("retry-after").is_some());
    assert_eq!(send(collector.address, "GET", "/healthz", &[], b"").await.status, 503);
    collector.stop().await;
}

async fn a_removed_project_leaves_nothing_behind(collector: Collector) {
    for batch in 0..22 {
        let events: Vec<Value> =
            (0..100).map(|n| json!({"type": "challenge", "id": format!("{batch}-{n}"), "user_agent": "a/1"})).collect();
        collector.events(json!(events)).await;
    }
    collector.rate(&collector.feedback_id(1), "fully").await;
    collector.store.remove_project(1).await.unwrap();
    assert!(collector.store.projects().await.unwrap().is_empty());
    assert!(collector.store.export_events(1, 0, 0).await.unwrap().1.is_empty());
    assert!(collector.store.export_ratings(1, 0, None).await.unwrap().1.is_empty());
    assert!(collector.store.route_figures(&page(&collector)).await.unwrap().is_empty());
    assert!(collector.store.callers(&page(&collector), "user_agent").await.unwrap().is_empty());
    collector.stop().await;
}

async fn parallel_repeats_are_one_event(collector: Collector) {
    let events: Vec<Value> =
        (0..100).map(|n| json!({"type": "challenge", "id": format!("p{n}"), "route": "GET /p"})).collect();
    let body = json!({"events": events});
    let collector = std::sync::Arc::new(collector);
    let mut sends = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (collector, body) = (collector.clone(), body.clone());
        sends.spawn(async move { collector.post("/events", &body).await });
    }
    let replies: Vec<Reply> = sends.join_all().await;
    assert!(replies.iter().all(|reply| reply.status == 200));
    assert_eq!(replies.iter().map(|reply| reply.json()["accepted"].as_i64().unwrap()).sum::<i64>(), 100);
    assert_eq!(collector.store.route_figures(&page(&collector)).await.unwrap()[0].challenges, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_asked_for_and_wrong_ones_run_out() {
    let config = Config { wrong_keys_per_minute: NonZeroU32::new(3).unwrap(), ..Config::default() };
    let collector = Collector::sqlite(config).await;
    let missing = send(collector.address, "GET", "/summary", &[], b"").await;
    assert_eq!((missing.status, missing.header("www-authenticate")), (401, Some("Bearer")));
    let key = collector.key.clone();
    for bad in
        [format!("Basic {key}"), key.clone(), "Bearer".into(), "Bearer ".into(), format!("Bearer {}", "x".repeat(600))]
    {
        assert_eq!(
            send(collector.address, "GET", "/summary", &[("authorization", &bad)], b"").await.status,
            401,
            "{bad}"
        );
    }
    let twice = [("authorization", format!("Bearer {key}")), ("authorization", format!("Bearer {key}"))];
    let twice: Vec<(&str, &str)> = twice.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(send(collector.address, "GET", "/summary", &twice, b"").await.status, 401, "two keys are none");
    let wrong = |n: u8| send_wrong(collector.address, n);
    assert_eq!([wrong(1).await, wrong(2).await, wrong(3).await, wrong(4).await], [401, 401, 401, 429]);
    assert_eq!(collector.get("/summary").await.status, 200, "a right key is never slowed down by wrong ones");
    assert_eq!(
        send(collector.address, "GET", "/summary", &[("authorization", &format!("bearer {key}"))], b"").await.status,
        200
    );
    collector.stop().await;
}

async fn send_wrong(address: std::net::SocketAddr, n: u8) -> u16 {
    send(address, "GET", "/summary", &[("authorization", &format!("Bearer ffk_wrong{n}"))], b"").await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_sends_too_often_is_told_when_to_come_back() {
    let collector =
        Collector::sqlite(Config { requests_per_second: NonZeroU32::new(1).unwrap(), ..Config::default() }).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(collector.get("/project").await);
    }
    let refused = statuses.iter().find(|reply| reply.status == 429).expect("the burst is 2");
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    collector.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p25_a_full_queue_is_answered_at_once() {
    let config = Config { max_body: 128 << 10, max_queued: 128 << 10, ..Config::default() };
    let collector = Collector::sqlite(config).await;
    // Announces a body, sends none: its room is taken until it goes away.
    let head = format!(
        "POST /events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 100000\r\n\r\n",
        collector.key
    );
    let mut holder = tokio::net::TcpStream::connect(collector.address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut holder, head.as_bytes()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let body = json!({"events": [{"type": "visit", "x": "y".repeat(60_000)}]});
    let reply = collector.post("/events", &body).await;
    assert_eq!(
        (reply.status, reply.json()["error"].as_str(), reply.header("retry-after")),
        (503, Some("queue_full"), Some("1"))
    );
    drop(holder);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(collector.post("/events", &body).await.status, 200);
    collector.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_has_a_request_id_and_a_given_one_is_kept_if_it_is_plain() {
    let collector = Collector::sqlite(Config::default()).await;
    for (given, kept) in [("abc-123._X", true), ("two words", false), ("x\"y", false), (&"z".repeat(65), false)] {
        let reply = send(collector.address, "GET", "/healthz", &[("x-request-id", given)], b"").await;
        assert_eq!(reply.header("x-request-id") == Some(given), kept, "{given}");
        assert!(!reply.header("x-request-id").unwrap().is_empty());
    }
    collector.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_count_and_can_have_an_address_of_their_own() {
    let config = Config { metrics_listen: Some("127.0.0.1:0".parse().unwrap()), ..Config::default() };
    let folder = tempfile::tempdir().unwrap();
    let store = forge_collector::store::Store::open(folder.path().join("c.db").to_str().unwrap()).await.unwrap();
    let config = Config { listen: "127.0.0.1:0".parse().unwrap(), ..config };
    // Both on port 0 are two addresses.
    let running = forge_collector::http::start(store, config, forge_collector::clock::Clock::fixed(NOW)).await.unwrap();
    assert_eq!(send(running.address, "GET", "/metrics", &[], b"").await.status, 404);
    let reply = send(running.metrics_address.unwrap(), "GET", "/metrics", &[], b"").await;
    assert!(reply.text.ends_with("# EOF\n"), "OpenMetrics ends so");
    assert!(
        reply.text.contains(r#"forge_collector_http_requests_total{route="(none)",method="GET",status="404"} 1"#),
        "{}",
        reply.text
    );
    running.stop(std::time::Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_openapi_document_names_exactly_what_is_served() {
    let collector = Collector::sqlite(Config::default()).await;
    let document = collector.get("/openapi.json").await.json();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let reply = send(collector.address, &method.to_uppercase(), path, &[], b"").await;
            let statuses = &operations[method]["responses"];
            assert!(statuses.get(reply.status.to_string()).is_some(), "{method} {path} answered {}", reply.status);
            assert!(![404, 405].contains(&reply.status), "{method} {path}");
        }
    }
    for path in ["/events", "/feedback", "/summary", "/project"] {
        assert_eq!(
            document["paths"][path]["get"]["responses"],
            document["paths"][format!("/v1{path}")]["get"]["responses"]
        );
    }
    collector.stop().await;
}

fn page(collector: &Collector) -> forge_collector::store::Page {
    forge_collector::store::Page {
        project_id: 1,
        from_ms: collector.clock.now_ms() - DAY_MS,
        route: None,
        step_hours: 1,
    }
}
