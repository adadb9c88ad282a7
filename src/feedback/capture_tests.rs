use super::*;
use crate::http::envelope;
use serde_json::{Value, json};

fn vectors(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../tests/fixtures/forge-vectors.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

fn captured(headers: &[(&str, &str)]) -> Value {
    let lines: Vec<HeaderLine> = headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    Value::Object(request_headers(&lines).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
}

fn told(facts: &PaymentFacts) -> Value {
    let fields = [
        ("payer", &facts.payer),
        ("network", &facts.network),
        ("amount", &facts.amount),
        ("scheme", &facts.scheme),
        ("asset", &facts.asset),
        ("transaction", &facts.transaction),
    ];
    Value::Object(
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into()))).collect(),
    )
}

#[test]
fn the_capture_headers_vectors_hold() {
    let vectors = vectors("capture_headers");
    assert_eq!(vectors.len(), 11);
    for vector in vectors {
        let sent = vector["headers"].as_object().unwrap();
        let headers: Vec<(&str, &str)> =
            sent.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        assert_eq!(captured(&headers), vector["captured"], "{headers:?}");
    }
}

#[test]
fn the_payment_facts_vectors_hold() {
    let vectors = vectors("payment_facts");
    assert_eq!(vectors.len(), 6);
    for vector in vectors {
        let header = vector["header"].as_str().unwrap();
        let json = envelope::decode(header.as_bytes()).unwrap_or_default();
        assert_eq!(told(&payment_facts(&json)), vector["facts"], "{header}");
    }
}

#[test]
fn d11_a_signature_is_reported_whole_or_not_at_all() {
    for (length, kept) in [(512, true), (513, true), (4_096, true), (4_097, false)] {
        let value = "s".repeat(length);
        let wanted = if kept { json!({"signature": value, "signature-input": value}) } else { json!({}) };
        assert_eq!(captured(&[("Signature", &value), ("Signature-Input", &value)]), wanted, "{length}");
    }
    // Two lines are one value (RFC 9110 section 5.3), and the limit is for both together.
    assert_eq!(captured(&[("signature", "a=:x:"), ("Signature", "b=:y:")]), json!({"signature": "a=:x:, b=:y:"}));
    let half = "s".repeat(2_048);
    assert_eq!(captured(&[("signature", &half), ("signature", &half)]), json!({}));
}

#[test]
fn secrets_are_never_captured() {
    let secret = [
        ("Authorization", "Bearer x"),
        ("Cookie", "a=b"),
        ("Set-Cookie", "a=b"),
        ("PAYMENT-SIGNATURE", "eyJ9"),
        ("X-PAYMENT", "eyJ9"),
        ("Proxy-Authorization", "x"),
        ("X-Api-Key", "x"),
    ];
    assert_eq!(captured(&secret), json!({}));
    assert_eq!(captured(&[("X-Agent-ID", "agent-7"), ("Cookie", "x")]), json!({"x-agent-id": "agent-7"}));
}

#[test]
fn l07_values_are_cut_and_cleaned() {
    assert_eq!(captured(&[("USER-AGENT", &"\u{1f600}".repeat(300))]), json!({"user-agent": "\u{1f600}".repeat(256)}));
    let bytes = request_headers(&[(b"user-agent", b"a\xff\x1bb"), (b"user-agent", b"second")]);
    assert_eq!(bytes, [("user-agent", "a\u{fffd} b".to_owned())]);
}

#[test]
fn the_release_is_the_first_of_its_name_in_the_baggage() {
    let release = |baggage: &str| captured(&[("baggage", baggage)])["sentry-release"].as_str().map(str::to_owned);
    assert_eq!(release("a=1,sentry-release=x%2By+z;p,sentry-release=b").as_deref(), Some("x+y+z"));
    assert_eq!(release("sentry-release=%zz,sentry-release=b"), None);
    assert_eq!(release("sentry-release"), None);
    assert_eq!(release(&format!("a={},sentry-release=b", "x".repeat(8_192))), None);
}

#[test]
fn e01_e13_a_hostile_payment_tells_short_clean_text() {
    let long = "9".repeat(60_000);
    let json = format!(
        r#"{{"accepted":{{"amount":"{long}","network":"a\ud800b\u0000c","asset":{{}},"scheme":""}},"payload":{{"authorization":[1]}}}}"#
    );
    assert_eq!(told(&payment_facts(json.as_bytes())), json!({"amount": "9".repeat(256), "network": "a\u{fffd}b c"}));
    let deep = format!(r#"{{"payload":{}1{},"network":"base"}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let small = std::thread::Builder::new().stack_size(64 * 1024);
    let facts = small.spawn(move || payment_facts(deep.as_bytes())).unwrap().join().unwrap();
    assert_eq!(told(&facts), json!({"network": "base"}));
}

#[test]
fn d02_a_receipt_counts_before_the_claim_and_a_failure_reports_little() {
    let claimed = payment_facts(br#"{"payload":{"authorization":{"from":"0x1","value":"5"}},"accepted":{"network":"eip155:1","scheme":"exact"}}"#);
    let settled = claimed.clone().settled_by(br#"{"success":true,"payer":"0x2","transaction":"0xt","network":5}"#);
    assert_eq!(
        told(&settled),
        json!({"payer": "0x2", "network": "eip155:1", "amount": "5", "scheme": "exact", "transaction": "0xt"})
    );
    assert_eq!(told(&claimed.clone().settled_by(b"junk")), told(&claimed));
    assert_eq!(told(&claimed.of_a_failure()), json!({"network": "eip155:1", "amount": "5"}));
}
