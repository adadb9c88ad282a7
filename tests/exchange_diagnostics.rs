//! Diagnostics through the engine: what a failing client is told, where it stands, and what the merchant and the backend hear.

mod exchange_support;
mod support;

use exchange_support::*;
use forge_x402::{Body, Engine, HeaderLine, Now, RequestHead, ResponseHead};
use serde_json::{Value, json as value};
use support::{FaultBackend, LONG, Mode};

const NOW: Now = Now { unix_ms: 1_796_000_000_000, monotonic_ms: 50_000 };
const IP: &str = "198.51.100.7";

/// Feedback off, so that what changes is the diagnostic's.
fn bare(more: &str) -> Engine {
    engine(&format!(r#""feedback":false,"diagnostics":{{{more}}}"#))
}

fn on() -> Engine {
    engine(r#""feedback":false,"diagnostics":true"#)
}

fn client() -> Request {
    get("/weather").at(NOW).from(IP).with("User-Agent", "python-requests/2")
}

fn paying() -> Request {
    client().paying()
}

fn settled() -> Response {
    json(200, r#"{"sunny":true}"#).with("PAYMENT-RESPONSE", receipt(true))
}

fn v1_refused(error: &str) -> Response {
    json(402, V1_CHALLENGE.replace("X-PAYMENT header is required", error))
}

fn told(engine: &Engine, request: &Request, answer: Response) -> Value {
    serve(engine, request, answer).sent.json()["diagnostic"].clone()
}

#[test]
fn first_contact_and_success_are_told_nothing() {
    let engine = on();
    for challenge in [v2_challenge(), v1_challenge(), json(402, V2_CHALLENGE)] {
        assert_eq!(serve(&engine, &client(), challenge.clone()).sent, challenge);
    }
    assert_eq!(serve(&engine, &paying(), settled()).sent, settled());
    assert_eq!(serve(&engine, &client(), v2_challenge()).sent, v2_challenge());
}

#[test]
fn a_v2_refusal_is_explained_in_the_body_and_its_header_keeps_its_bytes() {
    let engine = on();
    let answer = v2_refused("invalid_exact_evm_payload_authorization_valid_before")
        .with("Cache-Control", "private, max-age=9")
        .with("ETag", "x");
    let sent = serve(&engine, &paying(), answer.clone()).sent;
    assert_eq!(sent.header("PAYMENT-REQUIRED"), answer.header("PAYMENT-REQUIRED"));
    assert_eq!((sent.header("Cache-Control"), sent.header("ETag")), (Some("no-store"), None));
    assert_eq!(sent.header("Content-Length"), Some(sent.body.len().to_string().as_str()));
    let json = sent.json();
    assert_eq!(json.as_object().unwrap().len(), 1);
    let diagnostic = &json["diagnostic"];
    assert_eq!(
        (diagnostic["code"].as_str(), diagnostic["retry_policy"].as_str(), diagnostic["escalate"].as_bool()),
        (Some("INVOICE_EXPIRED"), Some("retry_new_payment"), Some(false))
    );
    assert_eq!(diagnostic["facilitator_error_code"], "invalid_exact_evm_payload_authorization_valid_before");
    assert_eq!(diagnostic["expires_at"], 1_796_000_600, "the payment's own validBefore");
    assert_eq!(diagnostic["since"], diagnostic["firstAttempt"]);
    assert_eq!(diagnostic["correlation_id"].as_str().unwrap().len(), 16);
    // A body of the merchant's own keeps its members.
    let own = json_of_402(r#"{ "help":"https://shop.example/help", "n":1.10 }"#, "insufficient_funds");
    let text = serve(&engine, &paying(), own).sent.text();
    assert!(
        text.starts_with(r#"{ "help":"https://shop.example/help", "n":1.10"#)
            && text.contains("WALLET_INSUFFICIENT_FUNDS"),
        "{text}"
    );
}

fn json_of_402(body: &str, error: &str) -> Response {
    json(402, body).with("PAYMENT-REQUIRED", envelope(V2_CHALLENGE.replace("Payment required", error)))
}

#[test]
fn a_v1_refusal_is_explained_beside_the_challenge() {
    let answer = v1_refused("invalid_payload");
    let request = client().with("X-PAYMENT", v1_payment("0xaa"));
    let served = serve(&on(), &request, answer.clone());
    assert!(served.held_response, "the reason stands in the body");
    let text = served.sent.text();
    assert!(text.starts_with(answer.text().strip_suffix('}').unwrap()), "the challenge is unchanged");
    let diagnostic = served.sent.json()["diagnostic"].clone();
    assert_eq!(
        (diagnostic["code"].as_str(), diagnostic["reason"].as_str(), diagnostic["retry_policy"].as_str()),
        (Some("PAYMENT_UNVERIFIED"), Some("malformed_payment"), Some("fix_and_retry"))
    );
}

#[test]
fn the_ask_and_the_diagnostic_share_a_body() {
    let engine = engine(&format!(r#""public_url":"{ORIGIN}","diagnostics":true"#));
    let sent = serve(&engine, &client().with("X-PAYMENT", v1_payment("0xaa")), v1_refused("invalid_payload")).sent;
    let json = sent.json();
    assert!(json["accepts"][0]["description"].as_str().unwrap().contains("please rate this service"));
    assert_eq!(json["diagnostic"]["reason"], "malformed_payment");
    assert_eq!(sent.header("Content-Length"), Some(sent.body.len().to_string().as_str()));
}

#[test]
fn an_undecodable_payment_is_told_so() {
    for (name, junk) in [("PAYMENT-SIGNATURE", "!!!"), ("X-PAYMENT", "e30="), ("Authorization", "x402 tx_hash=")] {
        let diagnostic = told(&on(), &client().with(name, junk), v2_challenge());
        assert_eq!(
            (diagnostic["reason"].as_str(), diagnostic["client_error_code"].as_str()),
            (Some("malformed_payment"), Some("undecodable_payment_header")),
            "{name}"
        );
    }
}

#[test]
fn open402_answers_are_explained_at_the_top_level() {
    let challenge = r#"x402 chain="solana" token="USDC" amount="0.02" address="Gtw1111""#;
    let proof = client().with("Authorization", "x402 0xfeed");
    let answer = json(402, r#"{"error":"Payment not confirmed on-chain","chain":"solana","token":"USDC","amount":"0.02","address":"Gtw1111"}"#).with("WWW-Authenticate", challenge);
    let sent = serve(&on(), &proof, answer).sent;
    assert_eq!(sent.header("WWW-Authenticate"), Some(challenge));
    let json = sent.json();
    assert_eq!(
        (json["amount"].as_str(), json["diagnostic"]["reason"].as_str(), json["diagnostic"]["retry_policy"].as_str()),
        (Some("0.02"), Some("settlement_pending"), Some("retry_same_payment"))
    );
    for status in [400, 403, 409, 422] {
        let answer = json_status(status, r#"{"error":"Replay rejected","detail":"Request too old"}"#);
        let sent = serve(&on(), &proof, answer).sent;
        let json = sent.json();
        assert_eq!(
            (json["detail"].as_str(), json["diagnostic"]["reason"].as_str()),
            (Some("Request too old"), Some("stale_request_timestamp")),
            "{status}"
        );
        assert_eq!(sent.header("Cache-Control"), Some("no-store"));
        assert_eq!(sent.header("Content-Length"), Some(sent.body.len().to_string().as_str()));
    }
}

fn json_status(status: u16, body: &str) -> Response {
    json(status, body)
}

#[test]
fn a_merchants_own_4xx_is_no_failed_payment() {
    let engine = bare(r#""attempts":2,"min_age_ms":0"#);
    for status in [400, 403, 409, 422, 401, 404, 429, 500, 503] {
        for body in [
            r#"{"error":"invalid_date"}"#,
            r#"{"detail":[{"loc":["body"],"msg":"x"}]}"#,
            r#"{"error":"Forbidden"}"#,
            "[]",
            "{}",
            "nonsense",
        ] {
            let answer = json(status, body);
            assert_eq!(serve(&engine, &paying(), answer.clone()).sent, answer, "{status} {body}");
        }
    }
    // And counts for nothing: the next unpaid request is the first.
    assert_eq!(serve(&engine, &client().at(later(NOW, 1)), v2_challenge()).sent, v2_challenge());
    let refusal = json(403, r#"{"error":"Replay rejected","detail":"Request too old"}"#);
    assert_eq!(serve(&engine, &client(), refusal.clone()).sent, refusal, "without a payment nothing was refused");
}

#[test]
fn a_body_that_has_a_diagnostic_or_may_not_be_edited_keeps_its_bytes() {
    let engine = on();
    let error = "insufficient_funds";
    let kept = json_of_402(r#"{"diagnostic":"mine"}"#, error);
    assert_eq!(serve(&engine, &paying(), kept.clone()).sent, kept);
    for answer in [
        json_of_402("[]", error),
        json_of_402("{}", error).with("Content-Encoding", "gzip"),
        json_of_402("{}", error).with("Content-Digest", "sha-256=:x:"),
        json_of_402("", error),
        json_of_402("{\"a\":NaN}", error),
    ] {
        assert_eq!(serve(&engine, &paying(), answer.clone()).sent, answer);
    }
    let mut html = json_of_402("<html>", error);
    html.headers[0].1 = "text/html".into();
    assert_eq!(serve(&engine, &paying(), html.clone()).sent, html);
    let mut wrong = json_of_402("{}", error);
    wrong.headers[1].1 = "3".into();
    assert_eq!(serve(&engine, &paying(), wrong.clone()).sent, wrong, "no no-store either without a diagnostic");
}

#[test]
fn head_answers_say_what_the_get_would() {
    let mut request = paying();
    request.method = "HEAD".into();
    let mut answer = v2_refused("insufficient_funds").with("ETag", "x");
    answer.body.clear();
    let sent = serve(&on(), &request, answer.clone()).sent;
    assert_eq!(sent.header("PAYMENT-REQUIRED"), answer.header("PAYMENT-REQUIRED"));
    assert_eq!(
        (sent.header("Content-Length"), sent.header("ETag"), sent.header("Cache-Control")),
        (None, None, Some("no-store"))
    );
    assert_eq!(sent.body.len(), 0);
    // First contact by HEAD is untouched.
    let mut request = client();
    request.method = "HEAD".into();
    let mut answer = v2_challenge();
    answer.body.clear();
    assert_eq!(serve(&on(), &request, answer.clone()).sent, answer);
}

#[test]
fn a_head_that_leaves_first_gives_up_its_length_wherever_a_diagnostic_may_come() {
    for answer in [
        v2_refused("insufficient_funds"),
        v1_refused("insufficient_funds"),
        json(403, r#"{"error":"Replay rejected","detail":"Request too old"}"#),
        json(400, r#"{"error":"mine"}"#),
    ] {
        let answer = answer.with("ETag", "x");
        let served = serve_by(&on(), &paying(), answer.clone(), Host::HeadFirst);
        assert!(served.held_response);
        let sent = served.sent;
        assert_eq!(
            (sent.header("Content-Length"), sent.header("ETag"), sent.header("Cache-Control")),
            (None, None, Some("no-store")),
            "{answer:?}"
        );
        assert_eq!(sent.body.len() > answer.body.len(), !answer.text().contains("mine"));
    }
}

#[test]
fn without_a_body_the_failure_counts_and_the_head_is_left_alone() {
    let engine = bare(r#""attempts":3,"min_age_ms":0"#);
    let request = client().with("X-PAYMENT", v1_payment("0xaa"));
    for _ in 0..3 {
        let lines = request.lines();
        let (mut exchange, _) = engine.on_request(NOW, &request.head(&lines)).unwrap();
        let answer = v1_refused("invalid_payload");
        let headers = exchange_support::lines(&answer.headers);
        let verdict = exchange.on_response(
            NOW,
            &ResponseHead { status: 402, headers: &headers, body: Body::None, ..ResponseHead::default() },
        );
        assert_eq!(verdict, forge_x402::Verdict::pass());
    }
    let diagnostic = told(&engine, &request, v1_refused("invalid_payload"));
    assert_eq!(
        (diagnostic["code"].as_str(), diagnostic["attempts"].as_u64()),
        (Some("PAYMENT_ATTEMPTS_EXCEEDED"), Some(4))
    );
}

#[test]
fn a_body_that_could_not_be_held_counts_at_the_end() {
    let engine = bare(r#""attempts":3,"min_age_ms":0"#);
    let request = client().with("X-PAYMENT", v1_payment("0xaa"));
    for _ in 0..2 {
        let answer = v1_refused("invalid_payload");
        assert_eq!(serve_by(&engine, &request, answer.clone(), Host::CannotHold).sent, answer);
        // A merchant's own answers do not count, held or not.
        serve_by(&engine, &request, json(403, r#"{"error":"mine"}"#), Host::CannotHold);
    }
    assert_eq!(told(&engine, &request, v1_refused("invalid_payload"))["attempts"], 3);
}

#[test]
fn each_answer_counts_once_in_however_many_calls_it_comes() {
    let engine = on();
    let request = client().with("X-PAYMENT", v1_payment("0xaa"));
    for attempt in 1..=5 {
        assert_eq!(told(&engine, &request, v1_refused("invalid_payload"))["attempts"], attempt);
    }
    for attempt in 6..=9 {
        let v2 = client().with("X-PAYMENT", v1_payment("0xaa"));
        assert_eq!(told(&engine, &v2, v2_refused("invalid_payload"))["attempts"], attempt);
    }
}

#[test]
fn unpaid_requests_are_told_at_the_threshold_and_a_settled_payment_ends_it() {
    let engine = bare(r#""attempts":3,"min_age_ms":1000"#);
    let ask = |ms: u64| serve(&engine, &client().at(later(NOW, ms)), v2_challenge()).sent;
    for ms in 0..3 {
        assert_eq!(ask(ms), v2_challenge(), "too few, or too young");
    }
    assert_eq!(ask(900), v2_challenge());
    let exceeded = ask(1_000).json()["diagnostic"].clone();
    assert_eq!(
        (
            exceeded["code"].as_str(),
            exceeded["reason"].as_str(),
            exceeded["retry_policy"].as_str(),
            exceeded["escalate"].as_bool()
        ),
        (Some("PAYMENT_ATTEMPTS_EXCEEDED"), Some("no_payment"), Some("do_not_retry"), Some(true))
    );
    assert_eq!(exceeded["attempts"], 5);
    assert_eq!(ask(1_001).json()["diagnostic"]["correlation_id"], exceeded["correlation_id"], "one sequence, one id");
    let other = serve(&engine, &client().from("203.0.113.9").at(later(NOW, 2_000)), v2_challenge()).sent;
    assert_eq!(other, v2_challenge());
    assert_eq!(serve(&engine, &paying().at(later(NOW, 3_000)), settled()).sent, settled());
    for ms in 0..50 {
        assert_eq!(ask(10_000 + ms * 1_000), v2_challenge(), "held back for a day after a settled payment");
    }
}

#[test]
fn clients_behind_one_private_address_are_nobody() {
    let engine = bare(r#""attempts":1,"min_age_ms":0"#);
    for ip in ["", "127.0.0.1", "10.1.2.3", "::1", "not an address", "\u{fffd}"] {
        for _ in 0..20 {
            assert_eq!(serve(&engine, &client().from(ip), v2_challenge()).sent, v2_challenge(), "{ip}");
        }
    }
}

#[test]
fn the_header_carries_it_only_where_asked_for_and_never_at_first_contact() {
    let engine = bare(r#""attempts":2,"min_age_ms":0,"header":true"#);
    let extension = |request: &Request, answer: Response| {
        serve(&engine, request, answer).sent.envelope("PAYMENT-REQUIRED")["extensions"]["diagnostic"].clone()
    };
    let refused = extension(&paying(), v2_refused("insufficient_funds"));
    assert_eq!(
        (refused["info"]["code"].as_str(), refused["schema"].clone()),
        (Some("WALLET_INSUFFICIENT_FUNDS"), value!({"type": "object"}))
    );
    let fresh = client().from("203.0.113.5");
    assert_eq!(extension(&fresh, v2_challenge()), Value::Null);
    assert_eq!(extension(&fresh, v2_challenge())["info"]["code"], "PAYMENT_ATTEMPTS_EXCEEDED");
    // A server that declares it has its own: not one byte moves.
    let declared = V2_CHALLENGE
        .replace("\"accepts\"", r#""extensions":{"diagnostic":{"info":{},"schema":{}}},"accepts""#)
        .replace("Payment required", "insufficient_funds");
    let answer = json(402, "{}").with("PAYMENT-REQUIRED", envelope(declared));
    assert_eq!(
        serve(&engine, &paying(), answer.clone()).sent.header("PAYMENT-REQUIRED"),
        answer.header("PAYMENT-REQUIRED")
    );
    let quiet = serve(&on(), &paying(), v2_refused("insufficient_funds")).sent.envelope("PAYMENT-REQUIRED");
    assert!(quiet["extensions"].is_null());
}

#[test]
fn the_header_grows_within_its_zone_only() {
    let engine = engine(&format!(r#""public_url":"{ORIGIN}","diagnostics":{{"header":true}}"#));
    for pad in (0..9_000).step_by(150) {
        let text = V2_CHALLENGE
            .replace("\"payTo\"", &format!("\"pad\":\"{}\",\"payTo\"", "x".repeat(pad)))
            .replace("Payment required", "insufficient_funds");
        let answer = json(402, "{}").with("PAYMENT-REQUIRED", envelope(text));
        let old = answer.header("PAYMENT-REQUIRED").unwrap().len();
        let new = serve(&engine, &paying(), answer).sent.header("PAYMENT-REQUIRED").unwrap().len();
        for safe in [3_584, 6_400, 15_360] {
            assert!(old > safe || new <= safe, "{old} became {new}");
        }
    }
}

#[test]
fn a_failed_settlement_with_an_empty_body_is_explained_and_never_says_pay_again() {
    let engine = engine(&format!(r#""public_url":"{ORIGIN}","diagnostics":true"#));
    let answer = |reason: &str| {
        json(402, "{}").with(
            "PAYMENT-RESPONSE",
            envelope(format!(
                r#"{{"success":false,"errorReason":"{reason}","transaction":"","network":"eip155:84532"}}"#
            )),
        )
    };
    let sent = serve(&engine, &paying(), answer("insufficient_funds")).sent;
    assert_eq!(sent.json()["diagnostic"]["code"], "WALLET_INSUFFICIENT_FUNDS");
    assert!(!sent.text().contains("feedback") && sent.header("Forge-Feedback-Id").is_none());
    assert_eq!(sent.header("PAYMENT-RESPONSE").unwrap().as_bytes(), &answer("insufficient_funds").headers[2].1[..]);
    for unknown in ["unexpected_settle_error", "a_reason_nobody_knows", "settle_timeout"] {
        let diagnostic = told(&engine, &paying(), answer(unknown));
        assert!(
            matches!(diagnostic["retry_policy"].as_str(), Some("retry_same_payment" | "do_not_retry")),
            "{unknown}: {diagnostic}"
        );
    }
}

#[test]
fn a_facilitators_outage_is_the_merchants_to_hear_once() {
    let engine = on();
    for client_number in 0..50 {
        let request = paying().from(&format!("198.51.100.{client_number}"));
        for _ in 0..10 {
            let diagnostic = told(&engine, &request, v2_refused("Facilitator verify failed (500): upstream"));
            assert_eq!(
                (diagnostic["reason"].as_str(), diagnostic["retry_policy"].as_str(), diagnostic["escalate"].as_bool()),
                (Some("facilitator_unavailable"), Some("retry_with_backoff"), Some(false))
            );
        }
    }
    let said: Vec<String> = serde_json::from_str(&engine.diagnostics()).unwrap();
    assert_eq!(said.iter().filter(|line| line.contains("facilitator_unavailable")).count(), 1, "{said:?}");
}

#[test]
fn an_escalation_is_told_to_the_backend_once_a_sequence_with_a_contact_that_stays_inert() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), r#""feedback":false,"diagnostics":{"attempts":3,"min_age_ms":0}"#);
    let request = client().with("X-Agent-ID", "agent-7").with("X-Operator-Contact", "mailto:ops@agent.example");
    for ms in 0..20 {
        let sent = serve(&engine, &request.clone().at(later(NOW, ms)), v2_challenge()).sent;
        assert!(!sent.text().contains("ops@agent.example"), "never echoed");
        if ms < 2 {
            engine.flush(LONG).unwrap();
            assert!(
                server.seen().events.iter().all(|event| !event.to_string().contains("ops@agent.example")),
                "not before it escalates"
            );
        }
    }
    engine.flush(LONG).unwrap();
    let events = server.seen().events.clone();
    let escalations: Vec<&Value> = events.iter().filter(|event| event["type"] == "escalation").collect();
    assert_eq!(escalations.len(), 1);
    let event = escalations[0];
    assert_eq!(
        (
            event["code"].as_str(),
            event["attempts"].as_u64(),
            event["agent_id"].as_str(),
            event["operator_contact"].as_str(),
            event["route"].as_str(),
            event["dialect"].as_str()
        ),
        (
            Some("PAYMENT_ATTEMPTS_EXCEEDED"),
            Some(3),
            Some("agent-7"),
            Some("mailto:ops@agent.example"),
            Some("GET /weather"),
            Some("x402/2")
        )
    );
    assert_eq!(event["correlation_id"].as_str().unwrap().len(), 16);
    assert_eq!(events.iter().filter(|event| event["type"] == "challenge").count(), 20);
}

#[test]
fn a_contact_that_is_no_contact_is_not_told() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), r#""diagnostics":{"attempts":1,"min_age_ms":0}"#);
    for (index, contact) in
        ["javascript:alert(1)", "http://x.example", "mailto:a b", &format!("https://{}", "x".repeat(300))]
            .into_iter()
            .enumerate()
    {
        serve(
            &engine,
            &client().from(&format!("198.51.100.{index}")).with("X-Operator-Contact", contact),
            v2_challenge(),
        );
    }
    engine.flush(LONG).unwrap();
    let events = server.seen().events.clone();
    assert_eq!(events.iter().filter(|event| event["type"] == "escalation").count(), 4);
    assert!(events.iter().all(|event| event["operator_contact"].is_null()));
}

#[test]
fn a_paying_client_is_never_disturbed() {
    let engine = engine(&format!(r#""public_url":"{ORIGIN}","diagnostics":{{"attempts":2,"min_age_ms":0}}"#));
    let quiet = self::engine(&format!(r#""public_url":"{ORIGIN}""#));
    for round in 0..200 {
        let now = later(NOW, round * 500);
        let challenge = serve(&engine, &client().at(now), v2_challenge()).sent;
        assert_eq!(challenge, serve(&quiet, &client().at(now), v2_challenge()).sent);
        let paid = serve(&engine, &paying().at(now), settled()).sent;
        assert!(paid.json()["diagnostic"].is_null());
    }
}

#[test]
fn off_is_off() {
    let off = engine(r#""feedback":false"#);
    for answer in [
        v2_refused("insufficient_funds"),
        v1_refused("invalid_payload"),
        json(403, r#"{"error":"Replay rejected","detail":"Request too old"}"#),
    ] {
        assert_eq!(serve(&off, &paying(), answer.clone()).sent, answer);
    }
}

#[test]
fn hostile_credentials_and_addresses_are_only_bytes() {
    let engine = bare(r#""attempts":1,"min_age_ms":0"#);
    let agents = [&b"\xff\x00\r\nagent"[..], b"", &[b'x'; 70_000]];
    for agent in agents {
        let headers: Vec<HeaderLine> = vec![
            (b"User-Agent", agent),
            (b"PAYMENT-SIGNATURE", b"\xff\x00"),
            (b"X-Agent-ID", agent),
            (b"X-Operator-Contact", agent),
        ];
        let head = RequestHead {
            method: b"GET",
            target: b"/\xff",
            client_ip: b"\xff\xfe",
            headers: &headers,
            ..RequestHead::default()
        };
        let answer = v2_challenge();
        let lines = exchange_support::lines(&answer.headers);
        let response =
            ResponseHead { status: 402, headers: &lines, body: Body::Whole(b"{}"), ..ResponseHead::default() };
        let verdict = match engine.on_request(NOW, &head) {
            Some((mut exchange, _)) => exchange.on_response(NOW, &response),
            None => engine.on_response_late(NOW, &head, &response).unwrap().1,
        };
        for edit in &verdict.edits {
            assert!(!edit.value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')), "{edit:?}");
        }
    }
    assert_eq!(engine.stats().internal_errors, 0);
}
