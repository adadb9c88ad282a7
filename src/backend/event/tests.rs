use super::*;
use crate::backend::captured::Captured;
use serde_json::{Value, json};

fn happened() -> Happened<'static> {
    Happened { route: "GET /weather".into(), unix_ms: 1_796_000_000_123, ..Happened::default() }
}

/// The text after the random id.
fn after_id(event: &Event) -> String {
    let text = std::str::from_utf8(event.as_json()).unwrap();
    let rest = text.strip_prefix(r#"{"id":""#).unwrap();
    assert_eq!(&rest[36..38], r#"","#, "a UUID of 36 characters comes first");
    format!("{{{}", &rest[38..])
}

fn parsed(event: &Event) -> Value {
    serde_json::from_slice(event.as_json()).unwrap()
}

#[test]
fn a_challenge_is_exactly_this_text() {
    let captured = Captured::from_headers([(b"User-Agent".as_slice(), b"agent/1".as_slice())]);
    let context = [("agent_type", Text::from("Claude Code")), ("search_query", Text::from("weather \"api\""))];
    let happened = Happened {
        request_headers: captured.as_json(),
        user_agent: captured.user_agent(),
        agent_context: &context,
        ..happened()
    };
    assert_eq!(
        after_id(&Event::challenge(&happened, "x402/2")),
        r#"{"type":"challenge","route":"GET /weather","ts":1796000000123,"dialect":"x402/2","request_headers":{"user-agent":"agent/1"},"user_agent":"agent/1","agent_context":{"agent_type":"Claude Code","search_query":"weather \"api\""}}"#
    );
}

fn interaction() -> Interaction<'static> {
    Interaction {
        id: InteractionId::Feedback("awzJAAABAgMEBU0fS7Pmqw"),
        dialect: "x402/1",
        facts: PaymentFacts {
            payer: Some("0x1".into()),
            network: Some("base".into()),
            amount: Some("5".into()),
            scheme: Some("exact".into()),
            asset: Some("0xa".into()),
            transaction: Some("0xt".into()),
        },
        settled: Some(true),
        outcome: "delivered",
        error_reason: None,
        status: 200,
        latency_ms: 12,
    }
}

#[test]
fn an_interaction_is_exactly_this_text() {
    assert_eq!(
        after_id(&Event::interaction(&happened(), &interaction())),
        r#"{"type":"interaction","feedback_id":"awzJAAABAgMEBU0fS7Pmqw","route":"GET /weather","ts":1796000000123,"dialect":"x402/1","payer":"0x1","network":"base","amount":"5","scheme":"exact","asset":"0xa","transaction":"0xt","settled":true,"outcome":"delivered","status":200,"latency_ms":12}"#
    );
}

#[test]
fn p09_a_failed_settlement_says_so_with_its_reason_and_tells_only_network_and_amount() {
    let failed = Interaction {
        id: InteractionId::Random,
        settled: Some(false),
        error_reason: Some("insufficient_funds".into()),
        status: 402,
        ..interaction()
    };
    let text = after_id(&Event::interaction(&happened(), &failed));
    let (id, rest) = text.split_once(r#","route""#).unwrap();
    assert_eq!(id.len(), r#"{"type":"interaction","interaction_id":"#.len() + 38);
    assert_eq!(
        rest,
        r#":"GET /weather","ts":1796000000123,"dialect":"x402/1","network":"base","amount":"5","settled":false,"outcome":"delivered","errorReason":"insufficient_funds","status":402,"latency_ms":12}"#
    );
}

#[test]
fn an_interaction_without_a_receipt_is_settled_null() {
    let unknown = Interaction { settled: None, facts: PaymentFacts::default(), ..interaction() };
    let event = parsed(&Event::interaction(&happened(), &unknown));
    assert_eq!(event["settled"], Value::Null);
    assert!(event.as_object().unwrap().contains_key("settled"));
    assert!(event.get("payer").is_none(), "absent = unknown");
}

#[test]
fn discovery_visit_and_escalation_are_exactly_these_texts() {
    assert_eq!(
        after_id(&Event::discovery(&happened())),
        r#"{"type":"discovery","route":"GET /weather","ts":1796000000123}"#
    );
    assert_eq!(
        after_id(&Event::visit(&happened(), 404, 7)),
        r#"{"type":"visit","route":"GET /weather","ts":1796000000123,"status":404,"latency_ms":7}"#
    );
    let escalation = Escalation {
        code: "PAYMENT_ATTEMPTS_EXCEEDED",
        attempts: 8_432,
        correlation_id: "0123456789abcdef",
        operator_contact: Some("mailto:ops@example.com".into()),
        agent_id: None,
        dialect: Some("open402"),
    };
    assert_eq!(
        after_id(&Event::escalation(&happened(), &escalation)),
        r#"{"type":"escalation","code":"PAYMENT_ATTEMPTS_EXCEEDED","route":"GET /weather","ts":1796000000123,"dialect":"open402","attempts":8432,"correlation_id":"0123456789abcdef","operator_contact":"mailto:ops@example.com"}"#
    );
}

#[test]
fn e01_no_text_can_spoil_the_batch() {
    let cases: [(Text<'_>, &str); 13] = [
        (Text::InJson(br"\ud800"), "\u{fffd}"),
        (Text::InJson(br"a\udc00b"), "a\u{fffd}b"),
        (Text::InJson(br"\ud83d\ude00"), "😀"),
        (Text::InJson(br"\ud83d\u0041"), "\u{fffd}A"),
        (Text::InJson(br"\ud83d\ud83d\ude00"), "\u{fffd}😀"),
        (Text::InJson(br#"\"\\\/\n\u0000\u00e9"#), "\"\\/  é"),
        (Text::InJson(b"x\xff"), "x\u{fffd}"),
        (Text::InJson("\\u202ea".as_bytes()), " a"),
        (Text::Plain(b"\xed\xa0\x80"), "\u{fffd}"),
        (Text::Plain(b"\xff\xfe!\xff"), "\u{fffd}!\u{fffd}"),
        (Text::Plain("Grüße \u{2028}".as_bytes()), "Grüße \u{2028}"),
        (Text::Plain(b"a\0b\x1b\x7f\r\n"), "a b    "),
        (Text::Plain(br#"{"}\u0000"#), r#"{"}\u0000"#),
    ];
    for (given, expected) in cases {
        let facts = PaymentFacts { amount: Some(given), ..PaymentFacts::default() };
        let event = Event::interaction(&happened(), &Interaction { facts, ..interaction() });
        assert_eq!(parsed(&event)["amount"], json!(expected), "{given:?}");
    }
}

#[test]
fn e01_every_short_byte_string_gives_a_valid_event() {
    let mut bytes = [0u8; 12];
    for _ in 0..20_000 {
        random::fill(&mut bytes);
        // Half of them look like escapes.
        for (at, byte) in bytes.iter_mut().enumerate() {
            if *byte < 60 {
                *byte = br"\ud8001fcDc\"[at % 12];
            }
        }
        for text in [Text::Plain(&bytes), Text::InJson(&bytes)] {
            parsed(&Event::visit(&Happened { route: text, ..happened() }, 200, 1));
        }
    }
}

#[test]
fn e13_e14_every_text_is_cut_at_its_limit() {
    let long = "x".repeat(60_000);
    let wide = "é".repeat(60_000);
    let escaped = r"\u00e9".repeat(60_000);
    for (text, one) in [
        (Text::Plain(long.as_bytes()), "x"),
        (Text::Plain(wide.as_bytes()), "é"),
        (Text::InJson(escaped.as_bytes()), "é"),
    ] {
        let facts = PaymentFacts { amount: Some(text), payer: Some(text), ..PaymentFacts::default() };
        let happened =
            Happened { route: text, user_agent: Some(text), agent_context: &[("agent_type", text)], ..happened() };
        let event = parsed(&Event::interaction(&happened, &Interaction { facts, ..interaction() }));
        assert_eq!(event["amount"], json!(one.repeat(256)));
        assert_eq!(event["payer"], json!(one.repeat(256)));
        assert_eq!(event["route"], json!(one.repeat(2_048)));
        assert_eq!(event["user_agent"], json!(one.repeat(512)));
        assert_eq!(event["agent_context"]["agent_type"], json!(one.repeat(256)));
    }
}

#[test]
fn an_event_of_the_host_keeps_its_bytes_and_gains_id_and_ts() {
    let event = Event::from_json(b" { \"type\" : \"mine\", \"n\": 1.0e5 }\n", 5).unwrap();
    assert_eq!(after_id(&event), "{\"ts\":5, \"type\" : \"mine\", \"n\": 1.0e5 }");
    let own = br#"{"id":"i","ts":1,"type":"mine"}"#;
    let event = Event::from_json(own, 5).unwrap();
    assert_eq!(parsed(&event), json!({"id": "i", "ts": 1, "type": "mine"}));
    let escaped = br#"{"\u0069d":"i","type":"mine"}"#;
    let event = Event::from_json(escaped, 5).unwrap();
    assert_eq!(event.as_json(), br#"{"ts":5,"\u0069d":"i","type":"mine"}"#);
}

#[test]
fn e01_an_event_of_the_host_that_would_spoil_the_batch_is_refused() {
    use EventRefused::*;
    let deep = format!(r#"{{"type":"t","d":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let large = format!(r#"{{"type":"t","d":"{}"}}"#, "x".repeat(16 * 1024));
    for (json, why) in [
        (br#"{"type":"t","x":"\ud800"}"#.as_slice(), NotJson),
        (b"{\"type\":\"t\",\"x\":\"\xff\"}", NotJson),
        (br#"{"type":"t"}{"#, NotJson),
        (br#"{"type":"t","#, NotJson),
        (b"", NotJson),
        (deep.as_bytes(), NotJson),
        (b"[]", NotAnObject),
        (br#""type""#, NotAnObject),
        (b"{}", NoType),
        (br#"{"type":""}"#, NoType),
        (br#"{"type":1}"#, NoType),
        (large.as_bytes(), TooLarge),
    ] {
        assert_eq!(Event::from_json(json, 5), Err(why));
    }
}

#[test]
fn f06_ids_are_version_7_uuids_and_differ() {
    let mut seen = std::collections::HashSet::new();
    for _ in 0..10_000 {
        let id = uuid();
        assert!(seen.insert(id));
        for (at, byte) in id.iter().enumerate() {
            match at {
                8 | 13 | 18 | 23 => assert_eq!(*byte, b'-'),
                14 => assert_eq!(*byte, b'7'),
                19 => assert!(b"89ab".contains(byte)),
                _ => assert!(byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()),
            }
        }
    }
}

#[test]
fn numbers_are_written_in_full() {
    for number in [0, 9, 10, 1_796_000_000_123, u64::MAX] {
        let event = Event::visit(&Happened { unix_ms: number, ..happened() }, 200, number);
        assert!(after_id(&event).contains(&format!(r#""ts":{number},"#)));
        assert!(after_id(&event).ends_with(&format!(r#""latency_ms":{number}}}"#)));
    }
}
