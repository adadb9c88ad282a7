//! Events through the engine: what arrives at a backend after requests have been served, field by field.

mod exchange_support;
mod support;

use exchange_support::*;
use forge_x402::{Body, Engine, Now, Outcome, ResponseHead, Verification};
use serde_json::{Value, json as value};
use std::collections::BTreeSet;
use support::{FaultBackend, LONG, Mode};

const PAYER: &str = "0x00000000000000000000000000000000000000aa";
const NOW: Now = Now { unix_ms: 1_796_000_000_000, monotonic_ms: 50_000 };

struct Site {
    server: FaultBackend,
    engine: Engine,
}

impl Site {
    fn new(more: &str) -> Site {
        let server = FaultBackend::start(Mode::Ok);
        let engine = reporting(&server.url(), more);
        Site { server, engine }
    }

    fn serve(&self, request: &Request, answer: Response) -> Served {
        serve(&self.engine, request, answer)
    }

    fn end_with(&self, request: &Request, answer: Response, outcome: impl FnOnce(u16, u64) -> Outcome) -> Served {
        serve_until(&self.engine, request, answer, Host::Holds, outcome)
    }

    /// All that has arrived, after all that was handed in.
    fn events(&self) -> Vec<Value> {
        self.engine.flush(LONG).unwrap();
        self.server.seen().events.clone()
    }

    fn types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }
}

fn weather() -> Request {
    get("/weather?city=Oslo").at(NOW)
}

fn paid_answer() -> Response {
    json(200, r#"{"sunny":true}"#).with("PAYMENT-RESPONSE", receipt(true))
}

/// An event without the members that differ every time.
fn fixed(mut event: Value) -> Value {
    let members = event.as_object_mut().unwrap();
    let id = members.remove("id").unwrap();
    assert!(is_uuid(id.as_str().unwrap()), "{id}");
    if let Some(id) = members.remove("interaction_id") {
        assert!(is_uuid(id.as_str().unwrap()), "{id}");
        members.insert("interaction_id".into(), "a uuid".into());
    }
    event
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == b'7',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[test]
fn a_challenge_of_each_dialect_is_told() {
    let site = Site::new("");
    let request = weather().with("User-Agent", "agent/1.0").with("Cookie", "s=1").with("X-Agent-ID", "a-7");
    site.serve(&request, v2_challenge());
    site.serve(&weather(), v1_challenge());
    site.serve(&weather(), json(402, V2_CHALLENGE));
    let open402 = json(402, r#"{"chain":"solana","token":"USDC","amount":"0.02","address":"Gtw1111"}"#)
        .with("WWW-Authenticate", r#"x402 chain="solana" token="USDC" amount="0.02" address="Gtw1111""#);
    site.serve(&weather(), open402);
    site.serve(&weather(), json(402, r#"{"error":"pay me"}"#));
    let events: Vec<Value> = site.events().into_iter().map(fixed).collect();
    let happened =
        |dialect: &str| value!({"type": "challenge", "route": "GET /weather", "ts": NOW.unix_ms, "dialect": dialect});
    let mut first = happened("x402/2");
    first["user_agent"] = "agent/1.0".into();
    first["request_headers"] = value!({"user-agent": "agent/1.0", "x-agent-id": "a-7"});
    assert_eq!(events, [first, happened("x402/1"), happened("x402/2"), happened("open402")]);
}

#[test]
fn a_challenge_is_told_where_ratings_are_off_too() {
    let site = Site::new(r#""feedback":false"#);
    for challenge in [v2_challenge(), v1_challenge(), json(402, V2_CHALLENGE)] {
        assert_eq!(site.serve(&weather(), challenge.clone()).sent, challenge, "nothing is added");
    }
    site.serve(&weather().paying(), paid_answer());
    let events = site.events();
    assert_eq!(events.len(), 4);
    assert!(events[..3].iter().all(|event| event["type"] == "challenge"));
    assert!(is_uuid(events[3]["interaction_id"].as_str().unwrap()) && events[3]["feedback_id"].is_null());
}

#[test]
fn d02_a_paid_call_is_told_with_the_facts_of_its_receipt() {
    let site = Site::new("");
    let served = site.serve(&weather().paying(), paid_answer());
    let id = served.id.unwrap();
    assert!(matches!(site.engine.verify_id(id.as_bytes(), NOW), Verification::Valid { .. }));
    assert_eq!(served.sent.header("Forge-Feedback-Id"), Some(id.as_str()));
    let events: Vec<Value> = site.events().into_iter().map(fixed).collect();
    assert_eq!(
        events,
        [value!({
            "type": "interaction", "feedback_id": id, "route": "GET /weather", "ts": NOW.unix_ms, "dialect": "x402/2",
            // The payer of the receipt counts before the claim of the payment.
            "payer": "0x00000000000000000000000000000000000000dd", "network": "eip155:84532", "amount": "1000",
            "scheme": "exact", "asset": "0xcc", "transaction": "0xfeed",
            "settled": true, "outcome": "delivered", "status": 200, "latency_ms": 0,
        })]
    );
}

#[test]
fn d02_a_claim_without_a_receipt_is_marked_as_not_settled() {
    let site = Site::new("");
    site.serve(&weather().paying(), json(200, "{}"));
    site.serve(&weather().paying(), json(404, "{}"));
    let events = site.events();
    assert_eq!((events[0]["settled"].clone(), events[0]["payer"].as_str()), (Value::Null, Some(PAYER)));
    assert_eq!((events[1]["settled"].clone(), events[1]["status"].clone()), (Value::Null, value!(404)));
    let told: Vec<&str> =
        ["payer", "scheme", "asset", "transaction"].into_iter().filter(|name| !events[1][name].is_null()).collect();
    assert!(told.is_empty(), "of a call that gave nothing only network and amount: {told:?}");
    assert_eq!((events[1]["network"].as_str(), events[1]["amount"].as_str()), (Some("eip155:84532"), Some("1000")));
}

#[test]
fn v1_payments_and_their_receipts_are_told() {
    let site = Site::new("");
    let answer = json(200, "{}").with(
        "X-PAYMENT-RESPONSE",
        envelope(r#"{"success":true,"transaction":"0x1","network":"base-sepolia","payer":"0xp"}"#),
    );
    site.serve(&weather().with("X-PAYMENT", v1_payment(PAYER)), answer);
    let event = site.events().remove(0);
    assert_eq!(
        (event["dialect"].as_str(), event["payer"].as_str(), event["transaction"].as_str()),
        (Some("x402/1"), Some("0xp"), Some("0x1"))
    );
    assert_eq!(
        (event["network"].as_str(), event["scheme"].as_str(), event["amount"].as_str()),
        (Some("base-sepolia"), Some("exact"), Some("1000"))
    );
    assert_eq!(event["settled"], true);
}

#[test]
fn p09_a_failed_settlement_is_a_challenge_and_an_interaction_with_its_reason() {
    let site = Site::new("");
    let served = site.serve(&weather().paying(), v2_challenge().with("PAYMENT-RESPONSE", receipt(false)));
    assert_eq!(served.id, None);
    assert_eq!(served.sent.body, b"{}", "no ask in the body");
    assert!(served.sent.header("PAYMENT-REQUIRED").is_some());
    assert_eq!(served.sent.header("PAYMENT-RESPONSE").unwrap().as_bytes(), receipt(false));
    let events: Vec<Value> = site.events().into_iter().map(fixed).collect();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["type"], "challenge");
    assert_eq!(
        events[1],
        value!({
            "type": "interaction", "interaction_id": "a uuid", "route": "GET /weather", "ts": NOW.unix_ms, "dialect": "x402/2",
            "network": "eip155:84532", "amount": "1000", "settled": false, "outcome": "delivered",
            "errorReason": "insufficient_funds", "status": 402, "latency_ms": 0,
        })
    );
}

#[test]
fn p09_a_failed_receipt_beside_a_200_is_told_as_failed() {
    let site = Site::new("");
    site.serve(&weather().paying(), json(200, "{}").with("PAYMENT-RESPONSE", receipt(false)));
    let event = site.events().remove(0);
    assert_eq!((event["settled"].clone(), event["errorReason"].as_str()), (value!(false), Some("insufficient_funds")));
}

#[test]
fn a_receipt_counts_whatever_the_status() {
    // Settled up front, then the handler failed: money moved, and the event must say so.
    let site = Site::new("");
    for status in [500, 404, 302] {
        site.serve(&weather().paying(), json(status, "{}").with("PAYMENT-RESPONSE", receipt(true)));
    }
    for event in site.events() {
        assert_eq!(event["settled"], true, "{event}");
        assert!(event["feedback_id"].is_null() && event["payer"].is_null(), "{event}");
    }
}

#[test]
fn c30_l06_a_handler_that_throws_is_told_as_failed_with_500() {
    let site = Site::new("");
    site.end_with(&weather().paying(), json(500, "{}"), |status, body_bytes| Outcome::Failed { status, body_bytes });
    // The handler threw before there was any answer: the host says what it will send.
    let request = weather().paying();
    let lines = request.lines();
    let (exchange, _) = site.engine.on_request(NOW, &request.head(&lines)).unwrap();
    exchange.end(later(NOW, 120), Some(Outcome::Failed { status: 500, body_bytes: 0 }));
    let events = site.events();
    for event in &events {
        assert_eq!(
            (event["outcome"].as_str(), event["status"].clone(), event["settled"].clone()),
            (Some("failed"), value!(500), Value::Null)
        );
    }
    assert_eq!(events[1]["latency_ms"], 120);
}

#[test]
fn c31_p40_a_client_that_leaves_is_told_as_aborted_with_what_was_settled() {
    let site = Site::new("");
    let served =
        site.end_with(&weather().paying(), paid_answer(), |status, _| Outcome::Aborted { status, body_bytes: 3 });
    // It left before there was any answer.
    let request = weather().paying();
    let lines = request.lines();
    let (exchange, _) = site.engine.on_request(NOW, &request.head(&lines)).unwrap();
    exchange.end(later(NOW, 40), Some(Outcome::Aborted { status: 0, body_bytes: 0 }));
    let events = site.events();
    assert_eq!(
        (events[0]["outcome"].as_str(), events[0]["settled"].clone()),
        (Some("aborted"), value!(true)),
        "charged and not delivered"
    );
    assert_eq!(events[0]["feedback_id"].as_str(), served.id.as_deref());
    assert_eq!((events[1]["outcome"].as_str(), events[1]["settled"].clone()), (Some("aborted"), Value::Null));
    assert_eq!(events[1]["status"], Value::Null, "unknown is absent, not 0");
}

#[test]
fn p40_the_event_waits_for_the_end_and_an_exchange_that_is_forgotten_tells_what_it_knows() {
    let site = Site::new("");
    let request = weather().paying();
    let lines = request.lines();
    let (mut exchange, _) = site.engine.on_request(NOW, &request.head(&lines)).unwrap();
    let answer = paid_answer();
    let head = exchange_support::lines(&answer.headers);
    exchange.on_response(
        NOW,
        &ResponseHead { status: 200, headers: &head, body: Body::Whole(&answer.body), ..ResponseHead::default() },
    );
    assert_eq!(site.events(), Vec::<Value>::new());
    drop(exchange);
    let event = site.events().remove(0);
    assert_eq!(
        (event["outcome"].as_str(), event["settled"].clone(), event["status"].clone()),
        (Some("unknown"), value!(true), value!(200))
    );
}

#[test]
fn latency_runs_from_the_request_to_the_final_head() {
    let site = Site::new("");
    let request = weather().paying();
    let lines = request.lines();
    let (mut exchange, _) = site.engine.on_request(NOW, &request.head(&lines)).unwrap();
    let answer = paid_answer();
    let head = exchange_support::lines(&answer.headers);
    let mut response = ResponseHead { status: 103, ..ResponseHead::default() };
    exchange.on_response(later(NOW, 5), &response);
    response = ResponseHead { status: 200, headers: &head, ..ResponseHead::default() };
    exchange.on_response(later(NOW, 30), &response);
    response.body = Body::Whole(&answer.body);
    exchange.on_response(later(NOW, 80), &response);
    exchange.end(later(NOW, 900), delivered(200));
    assert_eq!(site.events()[0]["latency_ms"], 30);
}

#[test]
fn an_upgraded_connection_is_delivered() {
    let site = Site::new("");
    site.serve(&weather().paying(), response(101));
    let event = site.events().remove(0);
    assert_eq!(
        (event["status"].clone(), event["outcome"].as_str(), event["feedback_id"].clone()),
        (value!(101), Some("delivered"), Value::Null)
    );
}

#[test]
fn documents_that_are_read_are_told_as_discovery_and_as_nothing_else() {
    let site = Site::new(r#""discovery":true,"visits":true"#);
    let document = json(200, r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{}}"#);
    for target in ["/openapi.json?x=1", "/.well-known/x402", "/.well-known/forge-feedback.json"] {
        site.serve(&get(target).at(NOW).with("User-Agent", "curl/8"), document.clone());
        // Somebody may send a payment along; what is free for all stays one discovery.
        let with_payment = site.serve(&get(target).at(NOW).paying(), document.clone());
        assert_eq!(with_payment.id, None, "{target}");
    }
    let routes: Vec<(String, String)> = site
        .events()
        .iter()
        .filter(|event| event["type"] != "interaction" || !event["feedback_id"].is_null())
        .map(|event| (event["type"].as_str().unwrap().to_owned(), event["route"].as_str().unwrap().to_owned()))
        .collect();
    let expected = ["GET /openapi.json", "GET /.well-known/x402", "GET /.well-known/forge-feedback.json"]
        .into_iter()
        .flat_map(|route| [("discovery".to_owned(), route.to_owned()), ("discovery".to_owned(), route.to_owned())]);
    assert_eq!(routes, expected.collect::<Vec<_>>());
    let own = site.events().into_iter().filter(|event| event["type"] == "interaction");
    assert!(
        own.into_iter().all(|event| event["route"] != "GET /.well-known/forge-feedback.json"),
        "we answered that one ourselves"
    );
}

#[test]
fn rating_routes_are_no_traffic_of_the_merchant() {
    let site = Site::new(r#""visits":true"#);
    for request in [
        get("/feedback"),
        get("/feedback/rate?x").paying(),
        request("OPTIONS", "/feedback"),
        get("/feedback/summary").paying(),
    ] {
        site.serve(&request.with("User-Agent", "curl/8"), response(599));
    }
    assert_eq!(site.events(), Vec::<Value>::new());
}

#[test]
fn visits_are_told_of_programs_only_and_at_most_120_a_minute() {
    let site = Site::new(r#""visits":true"#);
    let visit = |agent: &str, now: Now| site.serve(&get("/about?x").with("User-Agent", agent).at(now), json(200, "{}"));
    visit("Mozilla/5.0 (X11)", NOW);
    let served = visit("python-requests/2", NOW);
    assert_eq!(served.sent, json(200, "{}"));
    let event = fixed(site.events().remove(0));
    assert_eq!(
        event,
        value!({
            "type": "visit", "route": "GET /about", "ts": NOW.unix_ms, "user_agent": "python-requests/2",
            "request_headers": {"user-agent": "python-requests/2"}, "status": 200, "latency_ms": 0,
        })
    );
    for _ in 0..300 {
        visit("curl/8", NOW);
    }
    assert_eq!(site.events().len(), 120);
    visit("curl/8", later(NOW, 60_000));
    assert_eq!(site.events().len(), 121);
    // A visit that is answered 402 is a challenge; a paid request is an interaction.
    site.serve(&get("/x").with("User-Agent", "curl/8").at(later(NOW, 60_000)), v2_challenge());
    site.serve(&get("/x").with("User-Agent", "curl/8").paying().at(later(NOW, 60_000)), paid_answer());
    assert_eq!(site.types()[121..], ["challenge", "interaction"]);
}

#[test]
fn visits_are_off_unless_asked_for() {
    let site = Site::new("");
    let request = get("/about").with("User-Agent", "curl/8");
    assert!(!site.serve(&request, json(200, "{}")).looked_at);
    assert_eq!(site.events(), Vec::<Value>::new());
}

#[test]
fn telemetry_off_tells_nothing_and_changes_nothing_else() {
    let site = Site::new(r#""telemetry":false,"visits":true"#);
    site.serve(&weather(), v2_challenge());
    assert!(site.serve(&weather().paying(), paid_answer()).id.is_some());
    site.engine.flush(LONG).unwrap();
    assert_eq!(site.server.posts(), 0);
    assert_eq!(site.engine.stats().queued + site.engine.stats().sent + site.engine.stats().dropped, 0);
}

#[test]
fn d01_a_junk_payment_is_no_interaction() {
    let site = Site::new("");
    for junk in ["junk", "e30=", "", "bm90IGpzb257"] {
        site.serve(&weather().with("PAYMENT-SIGNATURE", junk), json(200, "{}"));
        site.serve(&weather().with("X-PAYMENT", junk), json(200, "{}"));
    }
    assert_eq!(site.events(), Vec::<Value>::new());
    assert_eq!(site.engine.stats().minted, 0);
}

#[test]
fn every_event_has_an_id_of_its_own() {
    let site = Site::new("");
    for _ in 0..50 {
        site.serve(&weather().paying(), v2_challenge().with("PAYMENT-RESPONSE", receipt(false)));
    }
    let events = site.events();
    let ids: BTreeSet<&str> = events.iter().map(|event| event["id"].as_str().unwrap()).collect();
    let interactions: BTreeSet<&str> = events.iter().filter_map(|event| event["interaction_id"].as_str()).collect();
    assert_eq!((events.len(), ids.len(), interactions.len()), (100, 100, 50));
}

#[test]
fn l02_e01_a_poisoned_payment_spoils_nothing_behind_it() {
    let site = Site::new("");
    let poison = envelope(
        br#"{"x402Version":2,"payload":{"authorization":{"from":"\ud800\u0000\u001b[31m","value":"\udfff"}},"accepted":{"network":"a\ud83db","amount":"1","scheme":1e400,"asset":null}}"#,
    );
    site.serve(&weather().with("PAYMENT-SIGNATURE", poison).with("User-Agent", b"\xff\xfe\x00agent"), json(200, "{}"));
    site.serve(&weather().paying(), paid_answer());
    let events = site.events();
    assert_eq!(events.len(), 2, "the batch is valid JSON and both arrive");
    assert!(events[0].to_string().chars().all(|one| !one.is_control()));
    assert_eq!(site.engine.stats().dropped, 0);
}

#[test]
fn e13_l07_l08_what_a_request_carries_does_not_decide_how_large_an_event_is() {
    let site = Site::new("");
    let huge = "9".repeat(60_000);
    let payment = envelope(format!(
        r#"{{"x402Version":2,"payload":{{"authorization":{{"from":"{huge}"}}}},"accepted":{{"scheme":"{huge}","network":"{huge}","amount":"{huge}","asset":"{huge}"}}}}"#
    ));
    let mut request = weather().with("User-Agent", &huge);
    for name in
        ["Referer", "X-Client-Id", "X-Session-Id", "X-Wallet-Address", "Signature-Agent", "Payment-Retry", "CF-Worker"]
    {
        request = request.with(name, "h".repeat(2_000));
    }
    // 256 KiB of head is what is read; the payment alone would be more than that.
    site.serve(&request.clone().with("X-Agent-ID", &huge).paying(), json(200, "{}"));
    assert!(!site.serve(&request.with("PAYMENT-SIGNATURE", &payment).with("X-Pad", &huge), json(200, "{}")).looked_at);
    let small = envelope(format!(
        r#"{{"x402Version":2,"payload":{{"authorization":{{"from":"{huge}"}}}},"accepted":{{"scheme":"exact","network":"x","amount":"{huge}","asset":"y"}}}}"#
    ));
    for _ in 0..200 {
        site.serve(&weather().with("PAYMENT-SIGNATURE", &small), json(200, "{}"));
    }
    let events = site.events();
    assert_eq!(events.len(), 201);
    for event in events {
        assert!(event.to_string().len() < 10_000, "{} bytes", event.to_string().len());
        assert!(event["amount"].as_str().unwrap().len() <= 256);
    }
}

#[test]
fn too_many_header_lines_pass() {
    let site = Site::new("");
    let mut request = weather().paying();
    for index in 0..512 {
        request = request.with(&format!("X-{index}"), "x");
    }
    assert!(!site.serve(&request, json(200, "{}")).looked_at);
    assert!(site.serve(&request, v2_challenge()).sent == v2_challenge());
    assert!(site.engine.stats().skips.contains(&("too_large", 2)), "{:?}", site.engine.stats().skips);
}

#[test]
fn e14_a_route_is_the_pattern_the_host_gives_else_the_documents_template_else_the_capped_path() {
    let document = r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://x.example/v1"}],"paths":{"/weather/{city}":{"get":{"responses":{"402":{"description":"pay"}}}}}}"#;
    let site = Site::new(&format!(r#""openapi":{{"document":{}}}"#, Value::String(document.into())));
    let route = |request: Request| {
        site.serve(&request.paying(), json(200, "{}"));
        site.events().last().unwrap()["route"].as_str().unwrap().to_owned()
    };
    assert_eq!(route(get("/weather/oslo?x=1")), "GET /weather/{city}");
    assert_eq!(route(get("/v1/weather/oslo")), "GET /v1/weather/{city}");
    assert_eq!(route(request("HEAD", "/weather/oslo")), "HEAD /weather/{city}");
    assert_eq!(route(get("/weather/oslo").route("/weather/:city")), "GET /weather/:city");
    assert_eq!(route(request("POST", "/weather/oslo")), "POST /weather/oslo", "the document knows no such method");
    assert_eq!(route(get(&format!("/weather/{}", "x".repeat(60_000)))), "GET /weather/{city}");
    let long = route(get(&format!("/other/{}", "x".repeat(60_000))));
    assert!(long.len() <= 2_048 && long.starts_with("GET /other/xxx"), "{}", long.len());
    let mut late = json(200, "{}");
    late.route = "/late/:id".into();
    site.serve(&get("/late/7").paying(), late);
    assert_eq!(site.events().last().unwrap()["route"], "GET /late/:id");
    site.serve(&get("/weather/rome"), v2_challenge());
    assert_eq!(site.events().last().unwrap()["route"], "GET /weather/{city}", "challenges too");
}

#[test]
fn e14_a_document_that_was_served_is_known_from_then_on() {
    let site = Site::new("");
    let route = || {
        site.serve(&get("/weather/oslo").paying(), json(200, "{}"));
        site.events().last().unwrap()["route"].as_str().unwrap().to_owned()
    };
    assert_eq!(route(), "GET /weather/oslo");
    let document = r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/weather/{city}":{"get":{"responses":{"402":{"description":"pay"}}}}}}"#;
    site.serve(&get("/openapi.json"), json(200, document));
    assert_eq!(route(), "GET /weather/{city}");
}

#[test]
fn l14_one_exchange_has_one_origin_whatever_is_learned_meanwhile() {
    let server = FaultBackend::start(Mode::Status(500));
    server.serve_document("/project", r#"{"publicOrigin":"https://registered.example"}"#);
    let engine = engine(&format!(r#""flush_interval_ms":100,"backend_url":"{}""#, server.url()));
    // An exchange that began before the backend answered.
    let request = weather().paying();
    let lines = request.lines();
    let (mut early, _) = engine.on_request(NOW, &request.head(&lines)).unwrap();
    let answer = paid_answer();
    let head = exchange_support::lines(&answer.headers);
    let mut response = ResponseHead { status: 200, headers: &head, ..ResponseHead::default() };
    early.on_response(NOW, &response);
    server.set(Mode::Ok);
    let link = |served: Response| served.json()["feedback_url"].as_str().unwrap().split('?').next().unwrap().to_owned();
    let known = support::eventually(std::time::Duration::from_secs(60), || {
        link(serve(&engine, &weather().paying(), paid_answer()).sent) == "https://registered.example/feedback/rate"
    });
    assert!(known);
    response.body = Body::Whole(&answer.body);
    let verdict = early.on_response(NOW, &response);
    let text = String::from_utf8(verdict.body.unwrap().whole(&answer.body)).unwrap();
    assert!(text.contains(r#""feedback_url":"/feedback/rate?"#) && !text.contains("registered.example"), "{text}");
    let receipt = verdict.edits.iter().find(|edit| edit.name == "PAYMENT-RESPONSE").unwrap();
    use base64::Engine as _;
    let receipt = base64::engine::general_purpose::STANDARD.decode(&receipt.value).unwrap();
    assert!(!String::from_utf8(receipt).unwrap().contains("registered.example"));
}

#[test]
fn a_given_document_starts_nothing() {
    let server = FaultBackend::start(Mode::Ok);
    let document = Value::String(r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{}}"#.into());
    let engine = engine(&format!(r#""backend_url":"{}","openapi":{{"document":{document}}}"#, server.url()));
    assert!(!engine.stats().worker_running);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(server.seen().connections, 0);
}
