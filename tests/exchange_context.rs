//! Agent context through the engine: what the merchant's handler gets of a request, byte for byte, and what is told of it.

mod exchange_support;
mod support;

use exchange_support::*;
use forge_x402::{Action, Body, Now, RequestHead, Verdict};
use support::{FaultBackend, LONG, Mode, eventually};

const PAID: &str =
    r#"{ "city":"Oslo" ,"agent_context":{"agent_type":"claude-code","search_query":"weather api"}, "n":1.10}"#;

fn ok() -> Response {
    json(200, r#"{"ok":true}"#)
}

fn upload(body: &str) -> Request {
    post("/weather", body).paying()
}

/// The `agent_context` of the one interaction that `request` leads to.
fn told(more: &str, request: &Request) -> serde_json::Value {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), more);
    serve(&engine, request, ok());
    engine.flush(LONG).unwrap();
    let events = server.seen().events.clone();
    let event = events.iter().find(|event| event["type"] == "interaction").expect("an interaction");
    event["agent_context"].clone()
}

#[test]
fn d04_only_the_member_goes_and_the_length_follows() {
    let served = serve(&engine(""), &upload(PAID), ok());
    assert!(served.held_request);
    let handed = served.handed.unwrap();
    assert_eq!(String::from_utf8_lossy(&handed.body), r#"{ "city":"Oslo", "n":1.10}"#);
    assert_eq!(handed.header("Content-Length"), Some(handed.body.len().to_string().as_bytes()));
    assert_eq!(handed.headers.len(), 3, "nothing else changes: {:?}", handed.headers);
    assert_eq!(
        told("", &upload(PAID)),
        serde_json::json!({"agent_type": "Claude Code", "search_query": "weather api"})
    );
}

#[test]
fn d04_the_member_goes_whatever_its_type() {
    for member in ["null", "1e5", "\"x\"", "[1]", "{}", "{\"agent_type\":5}"] {
        let body = format!(r#"{{"a":1,"agent_context":{member}}}"#);
        let handed = serve(&engine(""), &upload(&body), ok()).handed.unwrap();
        assert_eq!(String::from_utf8_lossy(&handed.body), r#"{"a":1}"#, "{member}");
    }
}

#[test]
fn d05_what_is_not_json_keeps_its_bytes_and_its_length() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    for body in [
        r#"{"agent_context":{"agent_type":"x"},"n":NaN}"#,
        r#"{"agent_context":{"agent_type":"x"}"#,
        r#"[{"agent_context":{"agent_type":"x"}}]"#,
        "\u{feff}{\"agent_context\":{}}",
        "",
    ] {
        let request = upload(body);
        let handed = serve(&engine, &request, ok()).handed.unwrap();
        assert_eq!((handed.body, handed.headers), (request.body, request.headers), "{body}");
    }
    engine.flush(LONG).unwrap();
    assert!(server.seen().events.iter().all(|event| event["agent_context"].is_null()), "and it is not read either");
}

#[test]
fn the_query_is_cut_on_every_request_and_the_handler_sees_the_rest() {
    for (target, handed_on) in [
        ("/w?agent_type=codex", "/w"),
        ("/w?a=%20+&agent_type=codex&b", "/w?a=%20+&b"),
        ("/w?agent_search_query=x%20y&agent_client=awal&agent_type_other=z", "/w"),
        ("/w?%61gent_type=x&&c=", "/w?&c="),
        ("/w?agent_type=%zz", "/w?agent_type=%zz"),
        ("/w?my_agent_type=1&agent_types=2&AGENT_TYPE=3", "/w?my_agent_type=1&agent_types=2&AGENT_TYPE=3"),
    ] {
        let unpaid = serve(&engine(""), &get(target), ok()).handed.unwrap();
        assert_eq!(String::from_utf8_lossy(&unpaid.target), handed_on);
        let paid = serve(&engine(""), &get(target).paying(), ok()).handed.unwrap();
        assert_eq!(String::from_utf8_lossy(&paid.target), handed_on);
    }
    assert_eq!(
        told("", &get("/w?agent_type=codex&agent_search_query=DIRECT&agent_client=AWAL").paying()),
        serde_json::json!({"agent_type": "Codex", "client": "awal", "search_query": "direct"})
    );
}

#[test]
fn the_verdict_after_the_body_tells_the_cut_target_again() {
    let engine = engine("");
    let request = post("/w?x=1&agent_type=codex", PAID).paying();
    let lines = request.lines();
    let (mut exchange, first) = engine.on_request(Now::read(), &request.head(&lines)).unwrap();
    assert_eq!((first.action, first.target.as_deref()), (Action::WantBody, Some(&b"/w?x=1"[..])));
    let second = exchange.on_request_body(Now::read(), &request.body);
    assert_eq!(second.target.as_deref(), Some(&b"/w?x=1"[..]), "a host may keep only the last verdict");
    assert!(second.body.is_some());
    // Body and query together: the body counts.
    assert_eq!(told("", &request)["agent_type"], "Claude Code");
}

#[test]
fn d06_off_touches_nothing() {
    let off = engine(r#""agent_context":"off""#);
    let request = post("/w?agent_type=mine", PAID).paying();
    let served = serve(&off, &request, ok());
    assert!(!served.held_request);
    let handed = served.handed.unwrap();
    assert_eq!((handed.target, handed.body, handed.headers), (request.target, request.body, request.headers));
    let (_, verdict) = {
        let lines = [(&b"payment-signature"[..], &v2_payment("0x1")[..])].map(|(name, value)| (name, value.to_vec()));
        let lines = [(lines[0].0, &lines[0].1[..])];
        off.on_request(
            Now::read(),
            &RequestHead { method: b"GET", target: b"/w?agent_type=x", headers: &lines, ..RequestHead::default() },
        )
        .unwrap()
    };
    assert_eq!(verdict, Verdict::pass());
}

#[test]
fn d06_a_parameter_that_the_document_declares_is_the_merchants() {
    let document = r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/w/{city}":{"get":{"parameters":[{"name":"agent_type","in":"query","schema":{"type":"string"}}],"responses":{"200":{"description":"ok"}}}}}}"#;
    let escaped = serde_json::Value::String(document.into());
    let engine = engine(&format!(r#""openapi":{{"document":{escaped}}}"#));
    let target = |target: &str| String::from_utf8(serve(&engine, &get(target), ok()).handed.unwrap().target).unwrap();
    assert_eq!(target("/w/oslo?agent_type=mine&agent_client=awal&z"), "/w/oslo?agent_type=mine&z");
    assert_eq!(target("/other?agent_type=mine&z"), "/other?z");
}

#[test]
fn d07_a_signed_or_encoded_body_is_neither_held_nor_edited() {
    for (name, value) in [
        ("Content-Digest", "sha-256=:x:"),
        ("Repr-Digest", "sha-256=:x:"),
        ("Digest", "SHA-256=x"),
        ("Content-MD5", "x"),
        ("Signature-Input", "sig=(\"content-digest\")"),
        ("Content-Encoding", "gzip"),
        ("Trailer", "x"),
    ] {
        let request = upload(PAID).with(name, value);
        let served = serve(&engine(""), &request, ok());
        assert!(!served.held_request, "{name}");
        assert_eq!(served.handed.unwrap().body, request.body, "{name}");
    }
}

#[test]
fn d08_an_unpaid_upload_never_waits() {
    for mode in ["off", "read", "ask", "required"] {
        let engine = engine(&format!(r#""agent_context":"{mode}""#));
        let request = post("/weather", PAID);
        let lines = request.lines();
        assert!(engine.on_request(Now::read(), &request.head(&lines)).is_none(), "{mode}");
        // A junk payment is none.
        let junk = request.with("PAYMENT-SIGNATURE", "e30=");
        let lines = junk.lines();
        assert!(engine.on_request(Now::read(), &junk.head(&lines)).is_none(), "{mode}");
    }
}

/// An engine in the required mode that has seen `/weather` challenge.
fn required() -> forge_x402::Engine {
    let engine = engine(r#""agent_context":"required""#);
    for method in ["GET", "POST"] {
        serve(&engine, &request(method, "/weather"), v2_challenge());
    }
    engine
}

#[test]
fn required_refuses_a_paid_request_that_says_nothing_before_it_pays() {
    let engine = required();
    let served = serve(&engine, &get("/weather").paying(), ok());
    assert!(served.handed.is_none());
    assert_eq!((served.sent.status, served.sent.header("Cache-Control")), (400, Some("no-store")));
    let json = served.sent.json();
    assert_eq!(json["error"], "agent_context_required");
    assert_eq!(json["issues"].as_array().unwrap().len(), 2);
    assert!(
        json["message"]
            .as_str()
            .unwrap()
            .starts_with("Required before payment: agent_context {agent_type, search_query}")
    );
    for body in [
        r#"{"q":1}"#,
        r#"{"agent_context":{"agent_type":"your agent name","search_query":"x"}}"#,
        r#"{"agent_context":[]}"#,
    ] {
        let served = serve(&engine, &upload(body), ok());
        assert_eq!((served.sent.status, served.handed.is_none()), (400, true), "{body}");
    }
    for request in [
        upload(PAID),
        get("/weather?agent_type=codex&agent_search_query=direct").paying(),
        post("/weather?agent_search_query=direct", r#"{"agent_context":{"agent_type":"codex"}}"#).paying(),
    ] {
        let served = serve(&engine, &request, ok());
        assert_eq!(served.sent.status, 200, "{:?}", served.sent.text());
    }
    // Unpaid, the challenge asks for it.
    let asked = serve(&engine, &get("/weather"), v2_challenge()).sent.envelope("PAYMENT-REQUIRED");
    assert_eq!(asked["extensions"]["forge-agent-context"]["info"]["optional"], false);
}

#[test]
fn required_knows_a_route_whose_host_tells_the_pattern_late() {
    let engine = engine(r#""agent_context":"required""#);
    let mut challenge = v2_challenge();
    challenge.route = "/weather/:city".into();
    serve(&engine, &get("/weather/oslo"), challenge);
    assert_eq!(serve(&engine, &get("/weather/oslo").paying(), ok()).sent.status, 400);
}

#[test]
fn required_without_the_search_query() {
    let engine = engine(r#""agent_context":"required","search_query":false"#);
    serve(&engine, &get("/weather"), v1_challenge());
    let served = serve(&engine, &get("/weather").with("X-PAYMENT", v1_payment("0x1")), ok());
    assert_eq!(served.sent.json()["issues"].as_array().unwrap().len(), 1);
    assert_eq!(
        serve(&engine, &get("/weather?agent_type=x").with("X-PAYMENT", v1_payment("0x1")), ok()).sent.status,
        200
    );
}

#[test]
fn d09_required_refuses_a_body_it_cannot_read_unless_the_query_speaks() {
    let engine = required();
    let large =
        format!(r#"{{"agent_context":{{"agent_type":"x","search_query":"y"}},"pad":"{}"}}"#, "x".repeat(1 << 20));
    let stated = upload(&large);
    let mut chunked = upload(&large);
    chunked.headers.retain(|(name, _)| name != "Content-Length");
    let chunked = chunked.with("Transfer-Encoding", "chunked");
    for request in [&stated, &chunked, &upload("{\"agent_context\":{},NaN")] {
        let served = serve(&engine, request, ok());
        assert!(served.handed.is_none());
        assert_eq!((served.sent.status, served.sent.json()["error"].as_str()), (400, Some("agent_context_invalid")));
    }
    let spoken = Request { target: b"/weather?agent_type=x&agent_search_query=y".to_vec(), ..chunked };
    let served = serve(&engine, &spoken, ok());
    assert_eq!((served.sent.status, served.handed.unwrap().body.len()), (200, large.len()));
}

#[test]
fn d10_other_media_types_are_not_inspected() {
    for kind in [
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "text/plain",
        "application/json; charset=utf-16",
        "application/vnd.api+json",
    ] {
        let mut request = upload(PAID);
        request.headers[0].1 = kind.into();
        let served = serve(&engine(""), &request, ok());
        assert!(!served.held_request, "{kind}");
        let handed = served.handed.unwrap();
        assert_eq!((handed.body, handed.headers), (request.body, request.headers), "{kind}");
    }
}

#[test]
fn d11_a_signature_is_told_whole_or_not_at_all() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let request = get("/w").paying();
    serve(
        &engine,
        &request.clone().with("Signature", "s".repeat(4_096)).with("Signature-Input", "i".repeat(4_097)),
        ok(),
    );
    serve(&engine, &request.with("Referer", "r".repeat(4_096)), ok());
    engine.flush(LONG).unwrap();
    let events = server.seen().events.clone();
    assert_eq!(events[0]["request_headers"]["signature"].as_str().unwrap().len(), 4_096);
    assert_eq!(events[0]["request_headers"]["signature-input"], serde_json::Value::Null);
    assert_eq!(events[1]["request_headers"]["referer"].as_str().unwrap().len(), 512);
}

#[test]
fn d20_what_an_agent_says_is_clean_and_cut_in_utf16_units() {
    let hostile = "\u{1b}[31mEvil\u{202e}\u{0}agent";
    let body = serde_json::json!({"agent_context": {"agent_type": hostile, "search_query": "\u{1f327}".repeat(150), "client": ["pay.sh", 1]}});
    let told = told("", &upload(&body.to_string()));
    let name = told["agent_type"].as_str().unwrap();
    assert!(!name.chars().any(|one| one.is_control() || one == '\u{202e}') && name.contains("Evil"), "{name:?}");
    assert_eq!(told["search_query"].as_str().unwrap().encode_utf16().count(), 200);
    assert_eq!(told["client"], "pay.sh");
}

#[test]
fn d25_a_free_route_with_a_stray_payment_is_never_refused() {
    let engine = required();
    for request in
        [get("/free").paying(), get("/free").with("X-PAYMENT", v1_payment("0x1")), post("/free", "{}").paying()]
    {
        let served = serve(&engine, &request, ok());
        assert!(served.handed.is_some());
        assert_eq!(served.sent.status, 200);
    }
}

#[test]
fn p20_bodies_up_to_the_limit_are_cut_and_larger_ones_pass_whole() {
    let body = |size: usize| {
        let start = r#"{"agent_context":{"agent_type":"x"},"pad":""#;
        format!("{start}{}\"}}", "x".repeat(size - start.len() - 2))
    };
    for (size, is_cut) in [(2_048, true), (1 << 20, true), ((1 << 20) + 1, false), (30 << 20, false)] {
        for chunked in [false, true] {
            let mut request = upload(&body(size));
            if chunked {
                request.headers.retain(|(name, _)| name != "Content-Length");
                request = request.with("Transfer-Encoding", "chunked").with("Expect", "100-continue");
            }
            let handed = serve(&engine(""), &request, ok()).handed.unwrap();
            assert_eq!(handed.body.len() < size, is_cut, "{size} {chunked}");
            assert_eq!(
                handed.header("Content-Length").map(<[u8]>::to_vec),
                (!chunked).then(|| handed.body.len().to_string().into_bytes())
            );
            if !is_cut {
                assert!(handed.body == request.body && handed.headers == request.headers);
            }
        }
    }
}

#[test]
fn a_length_that_is_not_the_bodys_is_no_reason_to_guess() {
    for length in ["5", "9999", "x", "-1", ""] {
        let mut request = upload(PAID);
        request.headers[1].1 = length.into();
        let handed = serve(&engine(""), &request, ok()).handed.unwrap();
        assert_eq!((handed.body, handed.headers), (request.body, request.headers), "{length}");
    }
    let mut twice = upload(PAID);
    twice.headers.push(("content-length".into(), PAID.len().to_string().into_bytes()));
    let handed = serve(&engine(""), &twice, ok()).handed.unwrap();
    assert_eq!((handed.body, handed.headers), (twice.body, twice.headers));
}

#[test]
fn a_body_in_hand_is_cut_at_once() {
    let engine = engine("");
    let request = upload(PAID);
    let lines = request.lines();
    let head = RequestHead { body: Body::Whole(&request.body), ..request.head(&lines) };
    let (_, verdict) = engine.on_request(Now::read(), &head).unwrap();
    assert_eq!(verdict.body.unwrap().whole(&request.body), br#"{ "city":"Oslo", "n":1.10}"#);
    let head = RequestHead { body: Body::None, ..head };
    let (_, verdict) = engine.on_request(Now::read(), &head).unwrap();
    assert_eq!(verdict, Verdict::pass());
}

#[test]
fn a_body_that_was_asked_for_and_could_not_be_held_goes_on_without() {
    let engine = engine("");
    let request = upload(PAID);
    let lines = request.lines();
    let (mut exchange, verdict) = engine.on_request(Now::read(), &request.head(&lines)).unwrap();
    assert_eq!(verdict.action, Action::WantBody);
    let answer = ok();
    let lines = exchange_support::lines(&answer.headers);
    let verdict = exchange.on_response(
        Now::read(),
        &forge_x402::ResponseHead {
            status: 200,
            headers: &lines,
            body: Body::Whole(&answer.body),
            ..Default::default()
        },
    );
    assert!(verdict.feedback_id.is_some());
    assert_eq!(engine.stats().skips, []);
}

#[test]
fn ask_adds_its_extension_to_a_challenge_behind_the_other() {
    let engine = engine(&format!(r#""public_url":"{ORIGIN}","agent_context":"ask""#));
    let sent = serve(&engine, &get("/weather"), v2_challenge()).sent;
    let challenge = sent.envelope("PAYMENT-REQUIRED");
    let names: Vec<&String> = challenge["extensions"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 2);
    assert_eq!(challenge["extensions"]["forge-agent-context"]["info"]["optional"], true);
    let ask = challenge["extensions"]["forge-agent-context"]["info"]["agent_context"].as_str().unwrap();
    assert!(ask.starts_with("Please add: agent_context {agent_type, search_query}"));
    assert_eq!(sent.body, b"{}");
    // A v2 challenge that is a body gets it there; v1 has no extensions.
    let body = serve(&engine, &get("/weather"), json(402, V2_CHALLENGE)).sent;
    assert!(body.json()["extensions"]["forge-agent-context"].is_object());
    assert!(!serve(&engine, &get("/weather"), v1_challenge()).sent.text().contains("agent_context"));
    // Read does not ask.
    let quiet = serve(&self::engine(""), &get("/weather"), v2_challenge()).sent.envelope("PAYMENT-REQUIRED");
    assert!(quiet["extensions"]["forge-agent-context"].is_null());
}

#[test]
fn ask_works_where_ratings_are_off() {
    let engine = engine(r#""feedback":false,"agent_context":"ask""#);
    let challenge = serve(&engine, &get("/weather"), v2_challenge()).sent.envelope("PAYMENT-REQUIRED");
    assert_eq!(challenge["resource"]["description"], "Weather.");
    assert_eq!(challenge["extensions"].as_object().unwrap().len(), 1);
    let body = serve(&engine, &get("/weather"), json(402, V2_CHALLENGE)).sent;
    assert_eq!(body.json()["extensions"].as_object().unwrap().keys().collect::<Vec<_>>(), ["forge-agent-context"]);
    assert_eq!(body.json()["resource"]["description"], "Weather.");
    assert_eq!(serve(&engine, &get("/weather"), v1_challenge()).sent, v1_challenge());
}

#[test]
fn ask_gives_way_on_the_size_ladder() {
    let engine = engine(&format!(r#""public_url":"{ORIGIN}","agent_context":"ask""#));
    let padded = |pad: usize| {
        let text = V2_CHALLENGE.replace("\"payTo\"", &format!("\"pad\":\"{}\",\"payTo\"", "x".repeat(pad)));
        json(402, "{}").with("PAYMENT-REQUIRED", envelope(text))
    };
    let mut seen = std::collections::BTreeSet::new();
    for pad in (0..12_000).step_by(100) {
        let before = padded(pad);
        let (old, sent) =
            (before.header("PAYMENT-REQUIRED").unwrap().len(), serve(&engine, &get("/weather"), before.clone()).sent);
        let new = sent.header("PAYMENT-REQUIRED").unwrap().len();
        for (safe, hard) in [(3_584, 4_096), (6_400, 8_192), (15_360, 16_384)] {
            assert!(old > safe || new <= safe, "{old} became {new}");
            assert!(!(old > safe && old <= hard) || new == old, "{old} became {new}");
        }
        let extensions = sent.envelope("PAYMENT-REQUIRED")["extensions"].clone();
        let asks = extensions["forge-agent-context"].is_object();
        assert!(
            !asks || extensions["forge-feedback"]["info"]["ask"].is_string(),
            "it goes with the whole extension only"
        );
        seen.insert((asks, extensions["forge-feedback"].is_object()));
    }
    assert!(seen.len() == 3, "with both, with the compact one, with none: {seen:?}");
}

#[test]
fn context_is_told_once_the_call_has_ended() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    serve(&engine, &get("/weather?agent_type=cursor"), v2_challenge());
    assert!(eventually(LONG, || server.seen().events.len() == 1));
    let event = server.seen().events[0].clone();
    assert_eq!(
        (event["type"].as_str(), event["agent_context"]["agent_type"].as_str()),
        (Some("challenge"), Some("Cursor"))
    );
}
