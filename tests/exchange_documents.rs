//! The merchant's documents through the engine: enriched once, served by splicing, and learned from for the answers that follow.

mod exchange_support;

use exchange_support::*;
use forge_x402::Engine;
use serde_json::{Value, json as value};

/// Numbers and escapes that a parser would rewrite; one route for each rule.
const DOCUMENT: &str = r##"{ "openapi" : "3.1.0","info":{"title":"W\u00e9ather","version":"1.10"},
  "x-numbers":[1.10,1e5,-0,12345678901234567890123],
  "paths":{
   "/plain":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object","properties":{"a":{"type":"number"}}}}}},"402":{"description":"pay"}}}},
   "/closed":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object","additionalProperties":false,"properties":{"a":{}}}}}},"402":{"description":"pay"}}}},
   "/nullable":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":["object","null"]}}}},"402":{"description":"pay"}}}},
   "/enum":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object","enum":[{"a":1}]}}}},"402":{"description":"pay"}}}},
   "/pattern":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object","patternProperties":{"^f":{"type":"number"}}}}}},"402":{"description":"pay"}}}},
   "/map":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object","additionalProperties":{"type":"number"}}}}},"402":{"description":"pay"}}}},
   "/unevaluated":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"allOf":[{"type":"object"}],"unevaluatedProperties":false}}}},"402":{"description":"pay"}}}},
   "/names":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object","maxProperties":1}}}},"402":{"description":"pay"}}}},
   "/items/{id}":{"get":{"responses":{"2XX":{"description":"ok","content":{"application/json":{"schema":{"oneOf":[{"type":"object"}]}}}},"402":{"description":"pay"}}}},
   "/items/new":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object"}}}},"402":{"description":"pay"}}}}
  }}
"##;

fn document() -> Response {
    json(200, DOCUMENT)
}

fn with_document() -> Engine {
    engine(&format!(r#""public_url":"{ORIGIN}","openapi":{{"document":{}}}"#, Value::String(DOCUMENT.into())))
}

fn open() -> Engine {
    engine(&format!(r#""public_url":"{ORIGIN}""#))
}

fn is_subsequence(part: &[u8], whole: &[u8]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|byte| rest.any(|other| other == byte))
}

#[test]
fn g17_the_document_gains_and_every_byte_of_it_stays() {
    let engine = open();
    let answer = document().with("ETag", "\"1\"").with("Last-Modified", "x");
    let served = serve(&engine, &get("/openapi.json?v=1"), answer);
    assert!(served.held_response);
    let sent = served.sent;
    assert!(is_subsequence(DOCUMENT.as_bytes(), &sent.body) && sent.body.len() > DOCUMENT.len());
    for spelling in ["[1.10,1e5,-0,12345678901234567890123]", r#"{ "openapi" : "3.1.0""#, r"W\u00e9ather"] {
        assert!(sent.text().contains(spelling), "{spelling}");
    }
    assert_eq!(sent.header("Content-Length"), Some(sent.body.len().to_string().as_str()));
    assert_eq!(
        (sent.header("ETag"), sent.header("Last-Modified"), sent.header("Accept-Ranges")),
        (None, None, Some("none"))
    );
    let json = sent.json();
    assert!(json["x-forge-feedback"]["rate"].as_str().unwrap().contains("https://api.example.com/feedback/rate?"));
    assert!(json["paths"]["/feedback/rate"]["get"]["operationId"] == "forgeFeedbackRate");
    assert!(json["paths"]["/plain"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["feedback_id"].is_object());
    // An enriched document that comes by again stays.
    let again = serve(&engine, &get("/openapi.json"), json_of(&sent));
    assert_eq!(again.sent.body, sent.body);
}

fn json_of(sent: &Response) -> Response {
    json(200, &sent.body)
}

#[test]
fn g12_a_repeat_gives_the_same_bytes_and_a_change_is_seen() {
    let engine = open();
    let first = serve(&engine, &get("/openapi.json"), document()).sent;
    for _ in 0..20 {
        assert_eq!(serve(&engine, &get("/openapi.json"), document()).sent, first);
    }
    let changed = DOCUMENT.replace("W\\u00e9ather", "Rain");
    assert!(serve(&engine, &get("/openapi.json"), json(200, changed)).sent.text().contains("Rain"));
}

#[test]
fn head_says_what_can_be_said_without_the_body() {
    let sent =
        serve(&open(), &request("HEAD", "/openapi.json"), json(200, "").with("ETag", "\"1\"").with("X-Own", "1")).sent;
    assert_eq!(
        (sent.header("Content-Length"), sent.header("ETag"), sent.header("X-Own"), sent.body.len()),
        (None, None, Some("1"), 0)
    );
}

#[test]
fn a_head_that_leaves_first_carries_no_length_and_the_body_is_the_same() {
    let whole = serve(&open(), &get("/openapi.json"), document()).sent;
    let early = serve_by(&open(), &get("/openapi.json"), document().with("ETag", "x"), Host::HeadFirst).sent;
    assert_eq!(early.body, whole.body);
    assert_eq!((early.header("Content-Length"), early.header("ETag")), (None, None));
}

#[test]
fn p39_yaml_is_unchanged_and_said_so() {
    for (kind, body) in [
        ("application/yaml", "openapi: 3.1.0\n"),
        ("text/yaml", "openapi: 3.1.0\n"),
        ("application/json", "openapi: 3.1.0\npaths: {}\n"),
    ] {
        let engine = open();
        let mut answer = json(200, body);
        answer.headers[0].1 = kind.into();
        assert_eq!(serve(&engine, &get("/openapi.json"), answer.clone()).sent, answer);
        let said = engine.diagnostics();
        assert!(said.to_lowercase().contains("yaml"), "{kind}: {said}");
    }
}

#[test]
fn g15_g16_odd_documents_and_other_answers_are_unchanged() {
    let engine = open();
    for body in [
        r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":null}"#,
        r#"{"openapi":"3.1.0","openapi":"3.0.0","info":{},"paths":{}}"#,
        "{}",
        "[]",
        "null",
        "",
        "{\"openapi\":\"3.1.0\",\"paths\":{}",
        "\u{feff}{}",
    ] {
        assert_eq!(serve(&engine, &get("/openapi.json"), json(200, body)).sent, json(200, body), "{body}");
    }
    for answer in [
        json(404, "{}"),
        json(500, DOCUMENT),
        response(304).with("ETag", "\"1\""),
        json(206, DOCUMENT).with("Content-Range", "bytes 0-1/9"),
    ] {
        assert_eq!(serve(&engine, &get("/openapi.json"), answer.clone()).sent, answer);
    }
    for (name, value) in [("Content-Encoding", "gzip"), ("Content-Digest", "sha-256=:x:"), ("Signature-Input", "x")] {
        let answer = document().with(name, value);
        assert_eq!(serve(&engine, &get("/openapi.json"), answer.clone()).sent, answer, "{name}");
    }
    assert_eq!(serve(&engine, &request("POST", "/openapi.json"), document()).sent, document());
    assert_eq!(serve(&engine, &get("/openapi.json/"), document()).sent, document());
    let null = r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/a":{"get":{"responses":null,"x-payment-info":{}}}}}"#;
    assert!(is_subsequence(null.as_bytes(), &serve(&engine, &get("/openapi.json"), json(200, null)).sent.body));
}

#[test]
fn documents_over_five_mebibytes_stream_on() {
    let engine = open();
    let large = format!("{}{}", DOCUMENT.trim_end(), " ".repeat(5 << 20));
    let served = serve(&engine, &get("/openapi.json"), json(200, &large));
    assert!(!served.held_response && served.sent.body == large.as_bytes());
    // Its length is not known before.
    let mut chunked = json(200, &large);
    chunked.headers.retain(|(name, _)| name != "Content-Length");
    assert!(serve(&engine, &get("/openapi.json"), chunked).sent.body == large.as_bytes());
}

#[test]
fn off_and_other_paths() {
    let off = engine(r#""openapi":false"#);
    assert_eq!(serve(&off, &get("/openapi.json"), document()).sent, document());
    let moved = engine(r#""openapi":{"paths":["/v1/api.json","/docs/spec"]}"#);
    assert_eq!(serve(&moved, &get("/openapi.json"), document()).sent, document());
    assert_ne!(serve(&moved, &get("/docs/spec"), document()).sent, document());
}

/// Whether a paid answer of that route carries our fields; the id header is there in any case.
fn has_fields(engine: &Engine, target: &str) -> bool {
    let served = serve(engine, &get(target).paying(), json(200, r#"{"a":1}"#));
    assert!(served.sent.header("Forge-Feedback-Id").is_some(), "{target}");
    served.sent.body != br#"{"a":1}"#
}

const TAKES_FIELDS: [&str; 6] = ["/plain", "/closed", "/nullable", "/items/new", "/plain?x=1", "/unknown"];
const HEADER_ONLY: [&str; 6] = ["/enum", "/pattern", "/map", "/unevaluated", "/names", "/items/7"];

#[test]
fn g01_g02_g03_g04_g05_g07_g08_g09_the_document_given_at_open_decides_from_the_first_answer() {
    let engine = with_document();
    for target in TAKES_FIELDS {
        assert!(has_fields(&engine, target), "{target}");
    }
    for target in HEADER_ONLY {
        assert!(!has_fields(&engine, target), "{target}");
    }
    assert!(engine.stats().skips.contains(&("schema_closed", HEADER_ONLY.len() as u64)), "{:?}", engine.stats().skips);
}

#[test]
fn g11_with_a_given_document_serving_it_changes_no_answer() {
    let engine = with_document();
    let before: Vec<bool> = TAKES_FIELDS.iter().chain(&HEADER_ONLY).map(|target| has_fields(&engine, target)).collect();
    serve(&engine, &get("/openapi.json"), document());
    let after: Vec<bool> = TAKES_FIELDS.iter().chain(&HEADER_ONLY).map(|target| has_fields(&engine, target)).collect();
    assert_eq!(before, after);
}

#[test]
fn g11_a_document_that_is_served_is_learned_from() {
    let engine = open();
    assert!(HEADER_ONLY.iter().all(|target| has_fields(&engine, target)), "nothing is known yet");
    serve(&engine, &get("/openapi.json"), document());
    assert!(HEADER_ONLY.iter().all(|target| !has_fields(&engine, target)));
    assert!(TAKES_FIELDS.iter().all(|target| has_fields(&engine, target)));
}

#[test]
fn a_given_document_that_cannot_be_used_is_said_and_nothing_is_lost() {
    let engine = engine(r#""openapi":{"document":"openapi: 3.1.0"}"#);
    assert!(engine.diagnostics().contains("openapi.document"), "said at open");
    assert!(has_fields(&engine, "/enum"));
    assert_ne!(serve(&engine, &get("/openapi.json"), document()).sent, document());
}

#[test]
fn a_payment_sent_along_does_not_make_a_document_a_paid_answer() {
    let engine = open();
    let free = serve(&engine, &get("/openapi.json"), document()).sent;
    let served = serve(&engine, &get("/openapi.json").paying(), document());
    assert_eq!((served.sent, served.id), (free, None));
    // Where it really is sold, its buyer gets an id.
    let sold = serve(&engine, &get("/openapi.json").paying(), document().with("PAYMENT-RESPONSE", receipt(true)));
    assert!(sold.id.is_some());
}

#[test]
fn an_openapi_document_that_costs_something_is_a_challenge_first() {
    let sent = serve(&open(), &get("/openapi.json"), v2_challenge()).sent;
    assert!(sent.envelope("PAYMENT-REQUIRED")["extensions"]["forge-feedback"].is_object());
}

#[test]
fn l01_a52_no_request_and_no_challenge_puts_an_origin_into_a_shared_document() {
    let engine = engine(r#""discovery":true"#);
    let poisoned = |target: &str| {
        get(target)
            .with("Host", "evil.example")
            .with("X-Forwarded-Host", "evil.example")
            .with("Origin", "https://evil.example")
    };
    // A challenge whose resource was built from Host: good for that challenge alone.
    let challenge = V2_CHALLENGE.replace("shop.example", "evil.example");
    let sent =
        serve(&engine, &poisoned("/weather"), json(402, "{}").with("PAYMENT-REQUIRED", envelope(challenge))).sent;
    assert!(sent.envelope("PAYMENT-REQUIRED").to_string().contains("https://evil.example/feedback/rate"));
    serve(&engine, &poisoned("/weather").paying(), json(200, "{}").with("PAYMENT-RESPONSE", receipt(true)));
    let document = serve(&engine, &poisoned("/openapi.json"), document()).sent;
    assert!(document.text().contains("/feedback/rate?") && !document.text().contains("evil"));
    let own = serve(&engine, &poisoned("/.well-known/forge-feedback.json"), response(599)).sent;
    assert!(own.text().contains("\"/feedback/rate?") && !own.text().contains("evil"));
    let x402 = serve(&engine, &poisoned("/.well-known/x402"), json(200, r#"{"version":1}"#)).sent;
    assert!(x402.text().contains("GET /feedback/rate?") && !x402.text().contains("evil"));
}

#[test]
fn the_well_known_documents() {
    let engine =
        engine(&format!(r#""public_url":"{ORIGIN}","discovery":true,"service_description":"Weather for agents.""#));
    let own = serve(&engine, &get("/.well-known/forge-feedback.json"), response(599));
    assert!(own.handed.is_none());
    assert_eq!((own.sent.status, own.sent.header("Cache-Control")), (200, Some("public, max-age=3600")));
    assert_eq!(
        own.sent.json()["endpoints"]["rate"]["url"],
        format!("{ORIGIN}/feedback/rate?feedback_id={{feedback_id}}&outcome={{outcome}}")
    );
    let head = serve(&engine, &request("HEAD", "/.well-known/forge-feedback.json"), response(599)).sent;
    assert_eq!((&head.headers, head.body.len()), (&own.sent.headers, 0));
    assert_eq!(serve(&engine, &request("POST", "/.well-known/forge-feedback.json"), response(599)).sent.status, 405);

    let merchants = r#"{ "version":1.0, "instructions":"Pay first." }"#;
    let sent = serve(&engine, &get("/.well-known/x402"), json(200, merchants)).sent;
    assert!(
        sent.text().starts_with(r#"{ "version":1.0, "instructions":"Pay first. After your call, please rate"#),
        "{}",
        sent.text()
    );
    assert_eq!(sent.header("Content-Length"), Some(sent.body.len().to_string().as_str()));
    assert_eq!(serve(&engine, &get("/.well-known/x402"), json(200, &sent.body)).sent.body, sent.body, "once");
    assert_eq!(serve(&engine, &get("/.well-known/x402"), json(404, merchants)).sent, json(404, merchants));
    // Off by default.
    assert_eq!(serve(&open(), &get("/.well-known/x402"), json(200, merchants)).sent, json(200, merchants));
    assert!(serve(&open(), &get("/.well-known/forge-feedback.json"), response(404)).handed.is_some());
}

#[test]
fn the_own_document_describes_itself_where_the_merchant_does_not() {
    let engine = engine(r#""discovery":true"#);
    let own = serve(&engine, &get("/.well-known/forge-feedback.json"), response(599)).sent.json();
    assert_eq!(
        own["description"],
        value!(
            "After your call, please rate this service for other agents. Free, one request. When the outcome is not fully, the issue field tells the merchant what to fix."
        )
    );
}

#[test]
fn rules_hold_for_a_head_and_for_every_layout() {
    for more in [r#""body_layout":"nested""#, r#""rate_hint":false"#] {
        let engine = engine(&format!(r#"{more},"openapi":{{"document":{}}}"#, Value::String(DOCUMENT.into())));
        assert!(has_fields(&engine, "/plain") && !has_fields(&engine, "/enum"), "{more}");
    }
    let engine = with_document();
    let request = request("HEAD", "/enum").paying();
    let answer = json(200, r#"{"a":1}"#).with("ETag", "x").with("PAYMENT-RESPONSE", receipt(true));
    let sent = serve(&engine, &request, answer).sent;
    assert_eq!(
        (sent.header("Content-Length"), sent.header("ETag")),
        (Some("7"), Some("x")),
        "the GET keeps its body, so its length is right"
    );
}
