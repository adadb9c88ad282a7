//! open402 through the engine: messages recorded between the ag402 client and gateway, answered with and without our additions.

mod exchange_support;
mod support;

use exchange_support::*;
use forge_x402::Now;
use support::{FaultBackend, LONG, Mode};

const NOW: Now = Now { unix_ms: 1_796_038_177_800, monotonic_ms: 50_000 };

/// The last exchange of a recording.
fn recorded(name: &str) -> (Request, Response) {
    let path = format!("{}/tests/fixtures/open402-{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (asked, answered) = text.rsplit_once("<<<<<<<< GATEWAY -> CLIENT").unwrap();
    let asked = asked.rsplit_once(">>>>>>>> CLIENT -> GATEWAY").unwrap().1;
    let (first, headers, body) = message(asked);
    let mut words = first.split(' ');
    let request = Request {
        method: words.next().unwrap().into(),
        target: words.next().unwrap().into(),
        headers,
        body: body.trim_end().into(),
        now: Some(NOW),
        ..Request::default()
    };
    let (first, headers, body) = message(answered);
    let status = first.split(' ').nth(1).unwrap().parse().unwrap();
    (request, Response { status, headers, body: body.into(), ..Response::default() })
}

fn message(text: &str) -> (String, Lines, String) {
    let text = text.trim_start_matches(['\r', '\n']).replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap();
    let mut lines = head.lines();
    let first = lines.next().unwrap().to_owned();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().into()))
        .collect();
    (first, headers, body.to_owned())
}

fn asks_for_v1(request: Request) -> Request {
    request.with("Accept-x402-Version", "v1.0")
}

#[test]
fn without_negotiation_the_base_protocol_keeps_every_byte() {
    let (request, answer) = recorded("01-challenge-402");
    let engine = engine(&format!(r#""public_url":"{ORIGIN}""#));
    let served = serve(&engine, &request, answer.clone());
    assert_eq!(served.sent, answer);
    assert!(!served.held_response, "nothing would change, so nothing is held back");
    // Another version is not this one.
    assert_eq!(serve(&engine, &request.with("Accept-x402-Version", "v2.0"), answer.clone()).sent, answer);
}

#[test]
fn under_negotiation_the_body_gains_and_the_header_never_changes() {
    let (request, answer) = recorded("01-challenge-402");
    let engine = engine(&format!(r#""public_url":"{ORIGIN}""#));
    let sent = serve(&engine, &asks_for_v1(request), answer.clone()).sent;
    assert_eq!(sent.header("www-authenticate"), answer.header("www-authenticate"));
    assert!(sent.text().starts_with(answer.text().strip_suffix('}').unwrap()), "only the end grows");
    let json = sent.json();
    assert_eq!(json["amount"], "0.02");
    assert_eq!(
        json["extensions"]["forge-feedback"]["info"]["rate"],
        format!("GET {ORIGIN}/feedback/rate?feedback_id=FEEDBACK_ID&outcome=fully")
    );
    assert!(json["description"].as_str().unwrap().starts_with("After your call, please rate this service"));
    assert_eq!(sent.header("content-length"), Some(sent.body.len().to_string().as_str()));
    // A body that has members of these names is the merchant's.
    let own =
        json_402(&answer, r#"{"chain":"solana","token":"USDC","amount":"0.02","address":"Gtw","description":"mine"}"#);
    assert_eq!(serve(&engine, &asks_for_v1(get("/weather")), own.clone()).sent.body, own.body);
}

fn json_402(answer: &Response, body: &str) -> Response {
    json(402, body).with("WWW-Authenticate", answer.header("www-authenticate").unwrap())
}

#[test]
fn the_origin_of_an_open402_answer_is_never_the_requests() {
    let (request, answer) = recorded("01-challenge-402");
    let sent = serve(&engine(""), &asks_for_v1(request).with("X-Forwarded-Host", "evil.example"), answer).sent;
    assert_eq!(
        sent.json()["extensions"]["forge-feedback"]["info"]["rate"],
        "GET /feedback/rate?feedback_id=FEEDBACK_ID&outcome=fully"
    );
}

#[test]
fn every_recorded_refusal_and_answer_passes_unchanged_where_nothing_is_to_add() {
    let engine = engine("");
    for name in [
        "03-bearer-403",
        "04-x402-no-nonce-403",
        "05-x402-legacy-unverified-403",
        "06-x402-malformed-403",
        "07-x402-stale-timestamp-403",
        "08-x402-duplicate-nonce-403",
        "11-paid-upstream-500",
        "17-rate-limited-429",
    ] {
        let (request, answer) = recorded(name);
        assert_eq!(serve(&engine, &request, answer.clone()).sent, answer, "{name}");
    }
}

#[test]
fn a_proof_that_bought_an_answer_gets_an_id_in_header_and_body() {
    let (request, answer) = recorded("09-full-pay-200");
    let served = serve(&engine(&format!(r#""public_url":"{ORIGIN}""#)), &request, answer);
    let id = served.id.unwrap();
    assert_eq!(served.sent.header("Forge-Feedback-Id"), Some(id.as_str()));
    assert!(served.sent.text().starts_with(&format!(r#"{{"ok":true,"path":"weather","feedback_id":"{id}""#)));
    let dates = served.sent.headers.iter().filter(|(name, _)| name == "date").count();
    assert_eq!(dates, 2, "lines that stand twice stay");
}

#[test]
fn a_proof_is_told_with_the_price_of_the_challenge() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let (unpaid, challenge) = recorded("01-challenge-402");
    serve(&engine, &unpaid, challenge);
    let (request, answer) = recorded("09-full-pay-200");
    serve(&engine, &request.with("X-Agent-ID", "agent-7"), answer);
    engine.flush(LONG).unwrap();
    let event = server.seen().events[1].clone();
    let told = ["type", "dialect", "payer", "network", "amount", "asset", "transaction"]
        .map(|name| event[name].as_str().unwrap_or_default().to_owned());
    assert_eq!(
        told,
        [
            "interaction",
            "open402",
            "MockWa11etAddress1111111111111111111111111111",
            "solana",
            "0.02",
            "USDC",
            "mock_tx_42cc7d09c9a44ac3ac0f374108f413e9"
        ]
    );
    assert_eq!(event["request_headers"]["x-agent-id"], "agent-7");
    assert!(event["settled"].is_null(), "no receipt: nobody proved it here");
    assert!(!event.to_string().contains("x402 tx_hash"), "never the credential");
}

#[test]
fn the_price_is_found_where_the_host_tells_the_pattern_late() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let (unpaid, mut challenge) = recorded("01-challenge-402");
    challenge.route = "/:what".into();
    serve(&engine, &unpaid, challenge);
    let (request, answer) = recorded("09-full-pay-200");
    serve(&engine, &request, answer);
    engine.flush(LONG).unwrap();
    assert_eq!(server.seen().events[1]["amount"], "0.02");
}

#[test]
fn the_service_hash_is_added_once_to_challenges_and_paid_answers() {
    let hash = "sha256:7a6b4b7c9ba4ea9b5f3a29db3a3a0a0c";
    let engine = engine(r#""service_description":"Weather for agents.""#);
    let (unpaid, challenge) = recorded("01-challenge-402");
    let sent = serve(&engine, &unpaid, challenge.clone()).sent;
    let value = sent.header("X-Service-Hash").unwrap();
    assert!(value.starts_with("sha256:") && value.len() == 71, "{value}");
    assert_eq!(sent.body, challenge.body);
    assert_eq!(sent.headers.len(), challenge.headers.len() + 1);
    let (request, answer) = recorded("09-full-pay-200");
    assert_eq!(serve(&engine, &request, answer.clone()).sent.header("X-Service-Hash"), Some(value));
    let own = serve(&engine, &request, answer.clone().with("X-Service-Hash", hash)).sent;
    assert_eq!(
        own.headers
            .iter()
            .filter(|(name, _)| name == "X-Service-Hash")
            .map(|(_, value)| &value[..])
            .collect::<Vec<_>>(),
        [hash.as_bytes()]
    );
    // Not on answers of another dialect, nor on free ones.
    assert_eq!(serve(&engine, &get("/w"), v2_challenge()).sent.header("X-Service-Hash"), None);
    assert_eq!(serve(&engine, &get("/w"), answer).sent.header("X-Service-Hash"), None);
}

/// A paid request with a nonce.
fn proof(nonce: &str, payer: &str) -> Request {
    get("/weather")
        .at(NOW)
        .with("X-x402-Timestamp", "1796038177.758")
        .with("X-x402-Nonce", nonce)
        .with("Authorization", format!(r#"x402 tx_hash="0xfeed{nonce}" payer_address="{payer}" chain="solana""#))
}

#[test]
fn a_nonce_is_used_up_by_an_answer_and_given_back_by_a_failure() {
    let engine = engine(r#""replay_guard":true"#);
    let paid = proof("n-1", "P");
    let unpaid = Request { headers: paid.headers[..2].to_vec(), ..paid.clone() };
    // The unpaid leg carries the same nonce and uses nothing up.
    assert_eq!(serve(&engine, &unpaid, response(402)).sent.status, 402);
    // The upstream failed: the same proof may come again.
    assert_eq!(serve(&engine, &paid, json(500, "{}")).sent.status, 500);
    assert_eq!(serve(&engine, &paid, json(200, "{}")).sent.status, 200);
    let refused = serve(&engine, &paid, json(200, "{}"));
    assert!(refused.handed.is_none());
    assert_eq!(
        (refused.sent.status, refused.sent.text().as_str()),
        (403, r#"{"error":"Replay rejected","detail":"Duplicate nonce (possible replay)"}"#)
    );
    assert_eq!(
        (refused.sent.header("Retry-After"), refused.sent.header("Cache-Control")),
        (Some("300"), Some("no-store"))
    );
    assert_eq!(serve(&engine, &proof("n-2", "P"), json(200, "{}")).sent.status, 200);
    assert_eq!(serve(&engine, &paid.at(later(NOW, 300_000)), json(200, "{}")).sent.status, 200);
}

#[test]
fn a_nonce_in_use_is_refused_and_a_dropped_exchange_gives_it_back() {
    let engine = engine(r#""replay_guard":true"#);
    let paid = proof("n-1", "P");
    let lines = paid.lines();
    let (exchange, _) = engine.on_request(NOW, &paid.head(&lines)).unwrap();
    assert_eq!(serve(&engine, &paid, json(200, "{}")).sent.status, 403);
    drop(exchange);
    assert_eq!(serve(&engine, &paid, json(200, "{}")).sent.status, 200);
}

#[test]
fn the_guard_wants_the_fields_and_never_minds_a_slow_payer() {
    let engine = engine(r#""replay_guard":true"#);
    let (request, recorded_answer) = recorded("04-x402-no-nonce-403");
    let refused = serve(&engine, &request, json(200, "{}"));
    assert!(refused.handed.is_none());
    assert_eq!((refused.sent.status, refused.sent.text()), (403, recorded_answer.text()), "the gateway's own words");
    // A timestamp of long ago: paying took its time.
    let (request, _) = recorded("07-x402-stale-timestamp-403");
    let slow = serve(&engine, &request, json(200, "{}"));
    assert_eq!(slow.sent.status, 200);
    // x402 payments have no nonce here.
    assert_eq!(serve(&engine, &get("/w").paying(), json(200, "{}")).sent.status, 200);
}

#[test]
fn the_rate_limit_counts_a_payer_at_an_address_and_settled_payments_everywhere() {
    let engine = engine(r#""rate_limit_per_minute":3"#);
    let pay = |payer: &str, ip: &str, answer: Response, now: Now| {
        serve(&engine, &proof("n", payer).from(ip).at(now), answer).sent
    };
    let ok = || json(200, r#"{"ok":1}"#);
    for _ in 0..3 {
        assert_eq!(pay("P", "192.0.2.1", json(402, "{}"), NOW).status, 402);
    }
    let refused = pay("P", "192.0.2.1", ok(), NOW);
    assert_eq!((refused.status, refused.header("Retry-After")), (429, Some("60")));
    assert_eq!(refused.text(), r#"{"error":"Too Many Requests","detail":"Rate limit exceeded"}"#);
    assert_eq!(pay("P", "192.0.2.2", json(402, "{}"), NOW).status, 402, "somebody else may claim that name");
    assert_eq!(pay("Q", "192.0.2.1", json(402, "{}"), NOW).status, 402);
    assert_eq!(pay("P", "192.0.2.1", ok(), later(NOW, 60_000)).status, 200);
    // Payments that bought an answer count under the payer alone: each once, in however many calls the host gives the answer.
    for ip in ["192.0.2.11", "192.0.2.12", "192.0.2.13"] {
        assert_eq!(pay("R", ip, ok(), NOW).status, 200, "{ip}");
    }
    assert_eq!(pay("R", "192.0.2.14", ok(), NOW).status, 429);
}

#[test]
fn hostile_credentials_are_no_payment_and_no_reason_to_fail() {
    let engine = engine(r#""replay_guard":true,"rate_limit_per_minute":1,"diagnostics":true"#);
    for value in [
        "x402",
        "x402 ",
        "x402 a b",
        "x402 tx_hash=",
        "x402 tx_hash=\"a\" tx_hash=\"b\"",
        "x402 max-tx_hash=\"a\"",
        "X402 tx_hash=\"\\\"\"",
        "Bearer x402 abc",
    ] {
        let request = get("/weather").with("Authorization", value);
        let served = serve(&engine, &request, json(200, "{}"));
        assert_eq!((served.sent, served.id), (json(200, "{}"), None), "{value}");
    }
    assert_eq!(engine.stats().internal_errors, 0);
}

#[test]
fn a_challenge_that_two_readers_read_differently_is_left_alone() {
    let engine = engine("");
    for value in [
        r#"x402 chain="a" token="b" amount="1" address="c" max-amount="9""#,
        r#"x402 chain="a" token="b" amount="1" amount="2" address="c""#,
        r#"x402 chain="a" token="b" amount="-1" address="c""#,
    ] {
        let answer =
            json(402, r#"{"chain":"a","token":"b","amount":"1","address":"c"}"#).with("WWW-Authenticate", value);
        assert_eq!(serve(&engine, &asks_for_v1(get("/w")), answer.clone()).sent, answer, "{value}");
    }
}
