use serde_json::{Value, json};

use super::{BatchError, Kind, read_batch};

const NOW: i64 = 1_796_000_000_000;

fn one(event: &Value) -> super::Event {
    let body = json!({"events": [event]}).to_string();
    let mut batch = read_batch(body.as_bytes(), None, NOW).unwrap();
    assert_eq!(batch.refused, []);
    batch.events.remove(0)
}

fn body(event: &super::Event) -> Value {
    serde_json::from_str(&event.body).unwrap()
}

#[test]
fn e01_a_poison_event_does_not_take_its_neighbours_along() {
    let text = r#"{"events":[{"type":"challenge","route":"GET /a"},{"type":"interaction","payer":"\ud800"},17,{"type":5},
        {"type":"visit","route":"GET /b"}]}"#;
    let batch = read_batch(text.as_bytes(), None, NOW).unwrap();
    let kinds: Vec<Kind> = batch.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Kind::Challenge, Kind::Interaction, Kind::Visit]);
    assert_eq!(body(&batch.events[1])["payer"], "\u{fffd}");
    assert_eq!(batch.refused, [(2, "an event is a JSON object"), (3, "type must be a string")]);
}

#[test]
fn e13_long_text_is_cut() {
    let long = "x".repeat(60_000);
    let event = one(&json!({
        "type": "interaction", "amount": long, "route": long, "user_agent": long, "brand_new": long,
        "request_headers": {"referer": long, "signature": long, "signature-input": "y".repeat(4000)},
        "agent_context": {"agent_type": long, "search_query": long, "other": long},
    }));
    let body = body(&event);
    assert_eq!(body["amount"].as_str().unwrap().len(), 256);
    assert_eq!(body["brand_new"].as_str().unwrap().len(), 256);
    assert_eq!(event.route.len(), 2048);
    assert_eq!(body["user_agent"].as_str().unwrap().len(), 512);
    assert_eq!(body["request_headers"]["referer"].as_str().unwrap().len(), 512);
    assert_eq!(body["request_headers"]["signature-input"].as_str().unwrap().len(), 4000);
    assert_eq!(body["agent_context"]["agent_type"].as_str().unwrap().len(), 80);
    assert_eq!(body["agent_context"]["search_query"].as_str().unwrap().len(), 200);
    assert_eq!(body["agent_context"].get("other"), None);
    assert_eq!(body["request_headers"].get("signature"), None, "d11: whole or absent");
}

#[test]
fn e07_the_same_batch_gives_the_same_ids() {
    let text = br#"{"events":[{"type":"challenge"},{"type":"challenge"},{"type":"interaction","feedback_id":"AAAAAAAAAAAAAEcLpcHkAQ"},{"id":"mine","type":"visit"}]}"#;
    let ids = |key, now| -> Vec<String> {
        read_batch(text, key, now).unwrap().events.into_iter().map(|event| event.event_id).collect()
    };
    let first = ids(Some("key-1"), NOW);
    assert_eq!(first, ids(Some("key-1"), NOW + 9_000));
    assert_ne!(first[0], first[1]);
    assert_ne!(first[0], ids(Some("key-2"), NOW)[0]);
    assert_ne!(ids(None, NOW)[0], ids(None, NOW)[0]);
    assert_eq!(first[2], "f:AAAAAAAAAAAAAEcLpcHkAQ");
    assert_eq!(first[3], "mine");
}

#[test]
fn two_ids_that_differ_only_past_the_limit_stay_two() {
    let (one_id, two_id) = (format!("{}1", "a".repeat(500)), format!("{}2", "a".repeat(500)));
    let (one, two) = (one(&json!({"type": "visit", "id": one_id})), one(&json!({"type": "visit", "id": two_id})));
    assert_ne!(one.event_id, two.event_id);
    assert!(one.event_id.len() <= 128);
}

#[test]
fn an_empty_id_is_no_id() {
    let text = br#"{"events":[{"type":"visit","id":""},{"type":"visit","id":""}]}"#;
    let batch = read_batch(text, None, NOW).unwrap();
    assert_ne!(batch.events[0].event_id, batch.events[1].event_id);
}

#[test]
fn credentials_are_not_stored_even_if_they_are_sent() {
    let event = one(&json!({
        "type": "interaction", "authorization": "Bearer SECRET", "x_payment": "SECRET",
        "request_headers": {"Authorization": "SECRET", "Cookie": "SECRET", "X-PAYMENT": "SECRET", "PAYMENT-SIGNATURE": "SECRET", "referer": "kept"},
    }));
    assert!(!event.body.contains("SECRET"), "{}", event.body);
    assert!(event.body.contains("kept"));
}

#[test]
fn settled_is_reported_or_follows_from_a_transaction() {
    for (event, settled) in [
        (json!({"type": "interaction", "settled": false, "transaction": "0x1"}), Some(false)),
        (json!({"type": "interaction", "settled": null, "transaction": "0x1"}), Some(true)),
        (json!({"type": "interaction", "settled": null}), None),
        (json!({"type": "interaction", "transaction": ""}), None),
    ] {
        assert_eq!(one(&event).settled, settled, "{event}");
    }
}

#[test]
fn a_time_nobody_can_believe_is_the_time_of_receipt() {
    for (ts, at) in
        [(json!(NOW - 5), NOW - 5), (json!(0), NOW), (json!(NOW * 1000), NOW), (json!("x"), NOW), (json!(1e300), NOW)]
    {
        assert_eq!(one(&json!({"type": "visit", "ts": ts})).at_ms, at, "{ts}");
    }
}

#[test]
fn a_batch_that_is_none_is_refused_whole() {
    let many = json!({"events": vec![json!({"type": "visit"}); 101]}).to_string();
    for (text, error) in [
        ("", BatchError::NotJson),
        ("{\"events\":[", BatchError::NotJson),
        ("[]", BatchError::NotABatch),
        ("{}", BatchError::NotABatch),
        ("{\"events\":5}", BatchError::NotABatch),
        (many.as_str(), BatchError::TooMany),
    ] {
        assert_eq!(read_batch(text.as_bytes(), None, NOW).err(), Some(error), "{}", &text[..text.len().min(20)]);
    }
    assert_eq!(read_batch(b"\xff{}", None, NOW).err(), Some(BatchError::NotJson));
}

#[test]
fn p35_depth_refuses_the_event_and_not_the_batch() {
    for depth in [100_usize, 5_000, 100_000] {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let text = format!(r#"{{"events":[{{"type":"visit","x":{deep}}},{{"type":"visit"}}]}}"#);
        let batch = read_batch(text.as_bytes(), None, NOW).unwrap();
        assert_eq!(batch.events.len() + batch.refused.len(), 2);
        assert!(batch.events.iter().all(|event| !event.body.contains("[[")));
    }
}
