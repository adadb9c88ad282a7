use super::*;
use crate::dialect::{read_payment, x402_v2};
use crate::http::envelope;
use serde_json::{Value, json};

fn told(facts: &PaymentFacts<'_>) -> Value {
    let fields = [
        ("payer", &facts.payer),
        ("network", &facts.network),
        ("amount", &facts.amount),
        ("scheme", &facts.scheme),
        ("asset", &facts.asset),
        ("transaction", &facts.transaction),
    ];
    Value::Object(
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.as_deref()?.into()))).collect(),
    )
}

#[test]
fn the_payment_facts_vectors_hold() {
    let all: Value = serde_json::from_str(include_str!("../../tests/fixtures/forge-vectors.json")).unwrap();
    let vectors = all["payment_facts"].as_array().unwrap();
    assert_eq!(vectors.len(), 6);
    for vector in vectors {
        let header = vector["header"].as_str().unwrap();
        let json = envelope::decode(header.as_bytes()).unwrap_or_default();
        assert_eq!(told(&read(&json)), vector["facts"], "{header}");
    }
}

#[test]
fn e01_e13_a_hostile_payment_tells_short_clean_text() {
    let long = "9".repeat(60_000);
    let json = format!(
        r#"{{"accepted":{{"amount":"{long}","network":"a\ud800b\u0000c","asset":{{}},"scheme":""}},"payload":{{"authorization":[1]}}}}"#
    );
    assert_eq!(told(&read(json.as_bytes())), json!({"amount": "9".repeat(256), "network": "a\u{fffd}b c"}));
    let deep = format!(r#"{{"payload":{}1{},"network":"base"}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let small = std::thread::Builder::new().stack_size(64 * 1024);
    let facts = small.spawn(move || told(&read(deep.as_bytes()))).unwrap().join().unwrap();
    assert_eq!(facts, json!({"network": "base"}));
}

#[test]
fn d02_a_receipt_counts_before_the_claim_and_a_failure_reports_little() {
    let claimed = read(br#"{"payload":{"authorization":{"from":"0x1","value":"5"}},"accepted":{"network":"eip155:1","scheme":"exact"}}"#);
    let receipt = br#"{"success":true,"payer":"0x2","transaction":"0xt","network":5}"#;
    let settled = claimed.clone().settled_by(receipt, &x402_v2::receipt(receipt).unwrap());
    assert_eq!(
        told(&settled),
        json!({"payer": "0x2", "network": "eip155:1", "amount": "5", "scheme": "exact", "transaction": "0xt"})
    );
    let silent = br#"{"success":true,"payer":1,"payer":"0x3"}"#;
    assert_eq!(told(&claimed.clone().settled_by(silent, &x402_v2::receipt(silent).unwrap())), told(&claimed));
}

/// The facts of any JSON text, payment or not.
fn read(json: &[u8]) -> PaymentFacts<'_> {
    match read_payment(json) {
        Ok((_, parts)) => payment_facts(json, &parts.facts),
        Err(_) => PaymentFacts::default(),
    }
}

#[test]
fn what_stands_there_twice_tells_nothing() {
    for (json, facts) in [
        (r#"{"accepted":{"amount":"1"},"accepted":{"amount":"2"},"network":"base"}"#, json!({"network": "base"})),
        (r#"{"payload":{"authorization":{"from":"0x1"},"authorization":{"from":"0x2"}}}"#, json!({})),
        (r#"{"payload":{"authorization":{"from":"0x1"}},"payload":{"authorization":{"from":"0x2"}}}"#, json!({})),
        (r#"{"payload":{"authorization":{"from":"0x1","from":"0x2","value":"7"}}}"#, json!({"amount": "7"})),
        (r#"{"payload":{"authorization":{"from":"0x1"}},"accepted":[{"amount":"1"}]}"#, json!({"payer": "0x1"})),
        (r#"{"payload":{"authorization":{"from":"0x1"},"authorization":5}}"#, json!({})),
    ] {
        assert_eq!(told(&read(json.as_bytes())), facts, "{json}");
    }
}
