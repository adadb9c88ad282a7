//! The rating routes through the engine: a host, an agent, and a backend that fails on request.

mod exchange_support;
mod support;

use exchange_support::*;
use forge_x402::{Action, Body, Engine, Now, RequestHead, Verification};
use std::time::{Duration, Instant};
use support::{FaultBackend, Mode};

fn id(engine: &Engine) -> String {
    engine.mint_id(Now::read()).as_str().to_owned()
}

/// Serves a request that the merchant must never see.
fn ours(engine: &Engine, request: &Request) -> Response {
    let served = serve(engine, request, response(599));
    assert!(served.handed.is_none(), "the merchant's handler ran");
    served.sent
}

fn rate(engine: &Engine, query: &str) -> Response {
    ours(engine, &get(&format!("/feedback/rate?{query}")))
}

fn error(response: &Response) -> String {
    response.json()["error"].as_str().unwrap_or_default().to_owned()
}

fn never_kept(response: &Response) {
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert_eq!(response.header("X-Robots-Tag"), Some("noindex"));
}

fn feedback_posts(server: &FaultBackend) -> Vec<serde_json::Value> {
    let seen = server.seen();
    let posts = seen.requests.iter().filter(|request| request.path == "/v1/feedback" && request.method == "POST");
    posts.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

fn summaries(server: &FaultBackend) -> usize {
    server.seen().requests.iter().filter(|request| request.path == "/v1/summary").count()
}

#[test]
fn a_rating_by_link_reaches_the_backend_and_its_answer_comes_back() {
    let server = FaultBackend::start(Mode::Ok);
    server.serve_document("/feedback", r#" {"recorded":true,"n":1.10}"#);
    let engine = reporting(&server.url(), "");
    let id = id(&engine);
    let request = get(&format!("/feedback/rate?feedback_id={id}&outcome=partially&issue=slow"))
        .with("User-Agent", "agent/1.0")
        .with("X-Client-Id", "c-1")
        .with("Authorization", "Bearer secret")
        .with("Cookie", "session=secret");
    let answer = ours(&engine, &request);
    assert_eq!((answer.status, answer.text().as_str()), (200, r#" {"recorded":true,"n":1.10}"#));
    never_kept(&answer);
    assert_eq!(answer.header("Content-Length"), Some(answer.body.len().to_string().as_str()));
    assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("*"));
    let posts = feedback_posts(&server);
    assert_eq!(
        posts,
        [serde_json::json!({
            "feedback_id": id, "outcome": "partially", "issue": "slow", "note": null, "via": "GET",
            "user_agent": "agent/1.0", "request_headers": {"user-agent": "agent/1.0", "x-client-id": "c-1"},
        })]
    );
    let seen = server.seen();
    let post = seen.requests.iter().find(|request| request.path == "/v1/feedback").unwrap();
    assert_eq!(post.headers["authorization"], format!("Bearer {KEY}"));
    assert!(post.headers.contains_key("idempotency-key"));
}

#[test]
fn a_rating_with_a_note_is_posted() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let id = id(&engine);
    let note = "Zürich was missing. \u{1f327}";
    let body = serde_json::json!({"feedback_id": id, "outcome": "no", "issue": "wrong_output", "note": note});
    let served = serve(&engine, &post("/feedback", body.to_string()), response(599));
    assert!(served.held_request && served.waited && served.handed.is_none());
    // A success without an object of its own is recorded.
    assert_eq!((served.sent.status, served.sent.text().as_str()), (200, "{}"));
    assert_eq!(feedback_posts(&server)[0]["note"], note);
    assert_eq!(feedback_posts(&server)[0]["via"], "POST");
}

#[test]
fn a_body_in_hand_is_not_asked_for_again() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let body = format!(r#"{{"feedback_id":"{}","outcome":"fully"}}"#, id(&engine));
    let head = RequestHead {
        method: b"POST",
        target: b"/feedback",
        body: Body::Whole(body.as_bytes()),
        ..RequestHead::default()
    };
    let (mut exchange, verdict) = engine.on_request(Now::read(), &head).unwrap();
    assert_eq!(verdict.action, Action::Wait);
    assert_eq!(exchange.wait(Duration::from_secs(3)).http_status, 200);
    // No body at all is no rating.
    let head = RequestHead { body: Body::None, ..head };
    let (_, verdict) = engine.on_request(Now::read(), &head).unwrap();
    assert_eq!((verdict.action, verdict.http_status), (Action::Reply, 400));
}

#[test]
fn what_is_wrong_with_a_rating_is_told_without_the_backend() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let id = id(&engine);
    for (query, named) in [
        (String::new(), "missing_feedback_id"),
        ("outcome=fully".into(), "missing_feedback_id"),
        (format!("feedback_id={id}"), "missing_outcome"),
        (format!("feedback_id={id}&outcome=great"), "invalid_outcome"),
        (format!("feedback_id={id}&outcome=no&issue=rude"), "invalid_issue"),
        (format!("feedback_id={id}&outcome=no&note=x"), "note_requires_post"),
    ] {
        let answer = rate(&engine, &query);
        assert_eq!((answer.status, error(&answer).as_str()), (400, named), "{query}");
        never_kept(&answer);
        let json = answer.json();
        assert_eq!(json["recorded"], false);
        assert_eq!(json["example"], format!("{ORIGIN}/feedback/rate?feedback_id=FEEDBACK_ID&outcome=fully"));
        assert_eq!(json["allowed"]["outcome"], serde_json::json!(["fully", "partially", "no", "not_evaluated"]));
    }
    let long = "x".repeat(281);
    let body = format!(r#"{{"feedback_id":"{id}","outcome":"no","note":"{long}"}}"#);
    assert_eq!(error(&ours(&engine, &post("/feedback", body))), "invalid_note");
    assert_eq!(error(&ours(&engine, &post("/feedback", "[]"))), "invalid_json_body");
    assert_eq!(error(&ours(&engine, &post("/feedback", ""))), "invalid_json_body");
    assert_eq!(feedback_posts(&server).len(), 0);
}

#[test]
fn f01_a_wrong_id_is_404_and_f02_after_thirty_of_them_a_client_learns_nothing_more() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let right = id(&engine);
    let mut forged = right.clone();
    forged.replace_range(21.., if right.ends_with('A') { "Q" } else { "A" });
    let start = Now::read();
    let ask = |id: &str, ip: &str, now: Now| {
        let target = format!("/feedback/rate?feedback_id={id}&outcome=fully");
        ours(&engine, &get(&target).from(ip).at(now))
    };
    for wrong in [&forged[..], "short", &format!("{right}%0A"), &right[..21], "AAAAAAAAAAAAAAAAAAAAAA"]
        .into_iter()
        .cycle()
        .take(30)
    {
        let answer = ask(wrong, "192.0.2.1", start);
        assert_eq!((answer.status, error(&answer).as_str()), (404, "unknown_or_expired_feedback_id"), "{wrong}");
        assert_eq!(answer.json()["recorded"], false);
    }
    let answer = ask(&right, "192.0.2.1", start);
    assert_eq!((answer.status, error(&answer).as_str()), (429, "rate_limited"), "not even whether this one is right");
    assert_eq!(answer.header("Retry-After"), Some("60"));
    assert_eq!(feedback_posts(&server).len(), 0);
    assert_eq!(ask(&right, "192.0.2.2", start).status, 200, "another client is not concerned");
    assert_eq!(ask(&right, "192.0.2.1", later(start, 60_000)).status, 200);
}

#[test]
fn e12_one_id_is_rated_ten_times_a_minute_at_most() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let query = format!("feedback_id={}&outcome=fully", id(&engine));
    let statuses: Vec<u16> = (0..200).map(|_| rate(&engine, &query).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 10);
    assert!(statuses[10..].iter().all(|status| *status == 429));
    assert_eq!(feedback_posts(&server).len(), 10);
    let other = format!("feedback_id={}&outcome=fully", id(&engine));
    assert_eq!(rate(&engine, &other).status, 200);
}

#[test]
fn f04_f05_an_id_lives_as_long_as_its_ttl_whatever_the_clock_does() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), r#""ttl_ms":60000"#);
    let minted = Now { unix_ms: 1_796_000_000_000, monotonic_ms: 5_000 };
    let id = engine.mint_id(minted).as_str().to_owned();
    let request = get(&format!("/feedback/rate?feedback_id={id}&outcome=fully"));
    // The wall clock falls back an hour: the id is young all the same.
    let back = Now { unix_ms: minted.unix_ms - 3_600_000, monotonic_ms: 6_000 };
    assert_eq!(ours(&engine, &request.clone().at(back)).status, 200);
    assert_eq!(ours(&engine, &request.clone().at(later(minted, 59_000))).status, 200);
    let late = ours(&engine, &request.at(later(minted, 62_000)));
    assert_eq!((late.status, error(&late).as_str()), (404, "unknown_or_expired_feedback_id"));
}

#[test]
fn f07_an_id_of_the_previous_key_can_be_rated() {
    let server = FaultBackend::start(Mode::Ok);
    let old = Engine::open(br#"{"api_key":"ffk_old","strict":true}"#).unwrap();
    let id = id(&old);
    let query = format!("feedback_id={id}&outcome=fully");
    assert_eq!(rate(&reporting(&server.url(), ""), &query).status, 404);
    let rotated = reporting(&server.url(), r#""previous_api_keys":["ffk_old"]"#);
    assert_eq!(rate(&rotated, &query).status, 200);
    let fresh = self::id(&rotated);
    assert!(
        !matches!(old.verify_id(fresh.as_bytes(), Now::read()), Verification::Valid { .. }),
        "new ids have the new key"
    );
}

#[test]
fn d13_p06_options_is_answered_for_a_page_that_wants_to_rate() {
    let engine = engine("");
    for (path, methods) in [
        ("/feedback", "GET, HEAD, POST, OPTIONS"),
        ("/feedback/rate", "GET, OPTIONS"),
        ("/feedback/summary", "GET, HEAD, OPTIONS"),
    ] {
        let request = request("OPTIONS", path)
            .with("Origin", "https://page.example")
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", "content-type");
        let answer = ours(&engine, &request);
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("*"));
        assert_eq!(answer.header("Access-Control-Allow-Methods"), Some(methods));
        assert!(answer.header("Access-Control-Allow-Headers").unwrap().contains("Content-Type"));
        assert_eq!(answer.header("Content-Length"), None);
    }
}

#[test]
fn other_methods_get_405_with_allow() {
    let engine = engine("");
    for (method, path, allow) in [
        ("PUT", "/feedback", "GET, HEAD, POST, OPTIONS"),
        ("DELETE", "/feedback/summary", "GET, HEAD, OPTIONS"),
        ("POST", "/feedback/rate?feedback_id=x&outcome=fully", "GET, OPTIONS"),
        ("HEAD", "/feedback/rate?feedback_id=x&outcome=fully", "GET, OPTIONS"),
        ("get", "/feedback", "GET, HEAD, POST, OPTIONS"),
    ] {
        let answer = ours(&engine, &request(method, path));
        assert_eq!(
            (answer.status, answer.header("Allow"), answer.body.len()),
            (405, Some(allow), 0),
            "{method} {path}"
        );
        never_kept(&answer);
    }
}

#[test]
fn the_form_and_its_head_agree() {
    let engine = engine(&format!(r#""public_url":"{ORIGIN}""#));
    let form = ours(&engine, &get("/feedback?utm=x"));
    assert_eq!((form.status, form.header("Content-Type")), (200, Some("application/json; charset=utf-8")));
    never_kept(&form);
    let json = form.json();
    assert_eq!(json["protocol"], "forge-feedback/0");
    assert_eq!(json["quick"]["url"], format!("{ORIGIN}/feedback/rate?feedback_id=FEEDBACK_ID&outcome=OUTCOME"));
    assert_eq!(json["detailed"]["url"], format!("{ORIGIN}/feedback"));
    let head = ours(&engine, &request("HEAD", "/feedback"));
    assert_eq!((head.status, &head.headers, head.body.len()), (200, &form.headers, 0));
}

#[test]
fn p11_only_the_exact_path_is_ours() {
    let engine = engine("");
    for target in [
        "//feedback",
        "/feedback/",
        "/%66eedback",
        "/feedback%2Frate",
        "/feedback%5Crate",
        "/x/..%2ffeedback",
        "/x/../feedback",
        "/Feedback",
        "/FEEDBACK/rate",
        "/feedback/rate/",
        "/feedbacks",
        "/feedback/rates?x",
        "/feedback;v=1",
        "/feedback/summary/x",
        "feedback",
        "http://shop.example/feedback",
        "",
        "*",
        "/feedback#x",
    ] {
        let served = serve(&engine, &get(target), json(200, r#"{"mine":1}"#));
        assert_eq!(served.handed.unwrap().target, target.as_bytes(), "{target}");
        assert_eq!(served.sent, json(200, r#"{"mine":1}"#), "{target}");
        assert!(!served.looked_at, "{target}");
    }
    let moved = self::engine(r#""base_path":"/api/rating""#);
    assert!(serve(&moved, &get("/feedback"), response(200)).handed.is_some());
    assert!(serve(&moved, &get("/api/rating"), response(599)).handed.is_none());
    assert!(serve(&self::engine(r#""feedback":false"#), &get("/feedback"), response(200)).handed.is_some());
}

#[test]
fn d14_a_deeply_nested_rating_is_refused_on_a_small_stack() {
    let engine = engine("");
    let work = move || {
        for body in ["[".repeat(8_000), format!(r#"{{"a":{}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000))] {
            let answer = ours(&engine, &post("/feedback", body));
            assert_eq!((answer.status, error(&answer).as_str()), (400, "invalid_json_body"));
        }
    };
    std::thread::Builder::new().stack_size(64 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn d15_a_rating_over_16_kib_is_413() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let start = format!(r#"{{"feedback_id":"{}","outcome":"fully","pad":""#, id(&engine));
    let sized = |size: usize| format!("{start}{}\"}}", "x".repeat(size - start.len() - 2));
    let fits = serve(&engine, &post("/feedback", sized(16_384)), response(599));
    assert_eq!(fits.sent.status, 200);
    for size in [16_385, 16_386, 3_000_000] {
        let answer = ours(&engine, &post("/feedback", sized(size)));
        assert_eq!((answer.status, error(&answer).as_str()), (413, "body_too_large"), "{size}");
        assert_eq!(answer.json()["recorded"], false);
    }
    assert_eq!(feedback_posts(&server).len(), 1);
}

#[test]
fn without_a_backend_ratings_and_summary_are_503_and_the_form_is_there() {
    let engine = engine("");
    let answer = rate(&engine, &format!("feedback_id={}&outcome=fully", id(&engine)));
    assert_eq!((answer.status, answer.text().as_str()), (503, r#"{"recorded":false,"error":"feedback_unavailable"}"#));
    let answer = ours(&engine, &get("/feedback/summary"));
    assert_eq!((answer.status, answer.text().as_str()), (503, r#"{"error":"summary_unavailable"}"#));
    assert_eq!(ours(&engine, &get("/feedback")).status, 200);
    // Still checked: a wrong id is a wrong id.
    assert_eq!(rate(&engine, "feedback_id=AAAAAAAAAAAAAAAAAAAAAA&outcome=fully").status, 404);
}

#[test]
fn the_backends_answer_is_passed_on_only_where_it_is_the_raters_business() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    for (status, told) in [
        (200, 200),
        (201, 201),
        (400, 400),
        (404, 404),
        (409, 409),
        (401, 503),
        (403, 503),
        (429, 503),
        (500, 503),
        (302, 503),
    ] {
        server.set(Mode::Status(status));
        let answer = rate(&engine, &format!("feedback_id={}&outcome=fully", id(&engine)));
        assert_eq!(answer.status, told, "{status}");
        never_kept(&answer);
    }
}

#[test]
fn e09_whatever_hangs_a_rater_has_an_answer_within_three_seconds() {
    for mode in [Mode::Hang, Mode::Drip, Mode::DripBody] {
        let server = FaultBackend::start(mode.clone());
        let engine = reporting(&server.url(), "");
        let start = Instant::now();
        let answer = rate(&engine, &format!("feedback_id={}&outcome=fully", id(&engine)));
        assert_eq!((answer.status, error(&answer).as_str()), (503, "feedback_unavailable"), "{mode:?}");
        // The limit is 3 s; the rest is for a machine that has other things to do.
        assert!(start.elapsed() < Duration::from_secs(5), "{mode:?}: {:?}", start.elapsed());
    }
}

#[test]
fn the_summary_is_kept_for_thirty_seconds() {
    let server = FaultBackend::start(Mode::Ok);
    server.serve_document("/summary", r#"{"rated":1.10}"#);
    let engine = reporting(&server.url(), "");
    let start = Now::read();
    let ask = |now: Now| ours(&engine, &get("/feedback/summary").at(now));
    let answer = ask(start);
    assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"rated":1.10}"#));
    assert_eq!(answer.header("Cache-Control"), Some("public, max-age=30"));
    assert_eq!(answer.header("X-Robots-Tag"), Some("noindex"));
    let head = ours(&engine, &request("HEAD", "/feedback/summary").at(start));
    assert_eq!((head.status, &head.headers, head.body.len()), (200, &answer.headers, 0));
    server.serve_document("/summary", r#"{"rated":2}"#);
    assert_eq!(ask(later(start, 29_000)).text(), r#"{"rated":1.10}"#);
    assert_eq!(summaries(&server), 1);
    assert_eq!(ask(later(start, 45_000)).text(), r#"{"rated":2}"#);
    assert_eq!(summaries(&server), 2);
    // The backend goes: what was heard last is still shown.
    server.set(Mode::Status(500));
    assert_eq!(ask(later(Now::read(), 90_000)).text(), r#"{"rated":2}"#);
}

#[test]
fn e11_fifty_readers_at_once_make_one_call() {
    let server = FaultBackend::start(Mode::Slow(Duration::from_millis(700)));
    server.serve_document("/summary", r#"{"rated":1}"#);
    let engine = reporting(&server.url(), "");
    let start = Instant::now();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..50).map(|_| scope.spawn(|| ours(&engine, &get("/feedback/summary")).status)).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert_eq!(summaries(&server), 1);
    assert!(statuses.contains(&200) && statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(ours(&engine, &get("/feedback/summary")).status, 200, "and the next reader has it");
}

#[test]
fn e11_a_failure_is_remembered_briefly() {
    let server = FaultBackend::start(Mode::Status(500));
    let engine = reporting(&server.url(), "");
    let now = Now::read();
    for _ in 0..50 {
        let answer = ours(&engine, &get("/feedback/summary").at(now));
        assert_eq!((answer.status, error(&answer).as_str()), (503, "summary_unavailable"));
        assert!(answer.header("Retry-After").is_some());
    }
    assert_eq!(summaries(&server), 1);
    server.set(Mode::Ok);
    assert_eq!(ours(&engine, &get("/feedback/summary").at(later(Now::read(), 6_000))).status, 200);
}

#[test]
fn no_more_than_max_waits_wait_at_once() {
    let server = FaultBackend::start(Mode::Hang);
    let engine = reporting(&server.url(), r#""max_waits":2"#);
    let begin = || {
        let request = get(&format!("/feedback/rate?feedback_id={}&outcome=fully", id(&engine)));
        let lines = request.lines();
        engine.on_request(Now::read(), &request.head(&lines)).unwrap().0
    };
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let mut exchange = begin();
                scope.spawn(move || exchange.wait(Duration::from_secs(3)).http_status)
            })
            .collect();
        while feedback_posts(&server).len() < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let start = Instant::now();
        let answer = reply(&begin().wait(Duration::from_secs(3)));
        assert!(start.elapsed() < Duration::from_millis(900), "nobody waits for a place");
        assert_eq!(
            (answer.status, error(&answer).as_str(), answer.header("Retry-After")),
            (503, "feedback_unavailable", Some("1"))
        );
        // A summary that finds no place has not failed: the next reader may fetch it.
        let summary = ours(&engine, &get("/feedback/summary"));
        assert_eq!((summary.status, error(&summary).as_str()), (503, "summary_unavailable"));
        server.set(Mode::Ok);
        assert!(waiting.into_iter().all(|one| one.join().unwrap() == 503));
    });
    assert_eq!(ours(&engine, &get("/feedback/summary")).status, 200, "places are given back");
}

#[test]
fn a_reader_that_went_away_before_the_call_does_not_keep_the_next_from_it() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let request = get("/feedback/summary");
    let (exchange, verdict) = engine.on_request(Now::read(), &request.head(&[])).unwrap();
    assert_eq!(verdict.action, Action::Wait);
    drop(exchange);
    assert_eq!(ours(&engine, &request).status, 200);
}

#[test]
fn d18_l01_without_a_known_origin_every_link_is_a_path_whatever_the_request_says() {
    let engine = engine(r#""discovery":true"#);
    for target in ["/feedback", "/.well-known/forge-feedback.json", "/feedback/rate"] {
        let request = get(target)
            .with("Host", "evil.example")
            .with("X-Forwarded-Host", "evil.example")
            .with("X-Forwarded-Proto", "https")
            .with("Forwarded", "host=evil.example")
            .with("Origin", "https://evil.example")
            .with("Referer", "https://evil.example/x");
        let text = ours(&engine, &request).text();
        assert!(text.contains("/feedback/rate?") && !text.contains("evil") && !text.contains("://"), "{text}");
    }
}

#[test]
fn the_registered_origin_stands_in_our_answers_once_it_is_known() {
    let server = FaultBackend::start(Mode::Ok);
    server.serve_document("/project", r#"{"publicOrigin":"https://registered.example"}"#);
    let engine = engine(&format!(r#""flush_interval_ms":100,"backend_url":"{}""#, server.url()));
    let known = support::eventually(support::LONG, || {
        ours(&engine, &get("/feedback")).text().contains("https://registered.example/feedback")
    });
    assert!(known);
}
