use super::*;
use crate::dialect::FACT_NAMES;
use crate::http::envelope;
use serde_json::{Value, json};

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
    let facts = small.spawn(move || read(deep.as_bytes())).unwrap().join().unwrap();
    assert_eq!(told(&facts), json!({"network": "base"}));
}

#[test]
fn d02_a_receipt_counts_before_the_claim_and_a_failure_reports_little() {
    let claimed = read(br#"{"payload":{"authorization":{"from":"0x1","value":"5"}},"accepted":{"network":"eip155:1","scheme":"exact"}}"#);
    let settled = claimed.clone().settled_by(br#"{"success":true,"payer":"0x2","transaction":"0xt","network":5}"#);
    assert_eq!(
        told(&settled),
        json!({"payer": "0x2", "network": "eip155:1", "amount": "5", "scheme": "exact", "transaction": "0xt"})
    );
    assert_eq!(told(&claimed.clone().settled_by(b"junk")), told(&claimed));
}

/// The facts of any JSON text, payment or not.
fn read(json: &[u8]) -> PaymentFacts {
    match scan::document(json, FACT_NAMES) {
        Ok(payment) => payment_facts(json, &payment.slots),
        Err(_) => PaymentFacts::default(),
    }
}
