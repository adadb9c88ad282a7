//! What a diagnostic looks like on the wire, and where it stands.

use forge_x402::diagnostic::code::Diagnostic;
use forge_x402::diagnostic::contact::{checked, operator_contact};
use forge_x402::diagnostic::placement::{Unplaced, into_body, takes_diagnostic};
use forge_x402::diagnostic::writer::rfc3339;
use forge_x402::diagnostic::{Code, CorrelationId, Reason, RetryPolicy};

const START: u64 = 1_773_100_800_000;
const DAY: u64 = 86_400_000;

fn mycelia() -> Diagnostic {
    Diagnostic {
        code: Code::PaymentAttemptsExceeded,
        reason: Reason::NoPayment,
        retry_policy: RetryPolicy::DoNotRetry,
        attempts: 8_432,
        first_attempt_ms: START,
        now_ms: START + 18 * DAY - 1,
        escalate: true,
        correlation_id: CorrelationId(0x00c0_ffee_0123_4567),
        facilitator_error_code: None,
        client_error_code: None,
        expires_at: None,
    }
}

#[test]
fn members_stand_in_the_order_of_the_proposal() {
    let expected = concat!(
        r#"{"code":"PAYMENT_ATTEMPTS_EXCEEDED","reason":"no_payment","retry_policy":"do_not_retry","attempts":8432,"#,
        r#""since":"2026-03-10T00:00:00Z","firstAttempt":"2026-03-10T00:00:00Z","#,
        r#""message":"8,432 requests received with no valid payment in 18 days.","#,
        r#""suggestion":"Stop retrying. Check the payment handler and the wallet balance.","escalate":true,"#,
        r#""correlation_id":"00c0ffee01234567"}"#
    );
    assert_eq!(String::from_utf8(mycelia().to_json()).unwrap(), expected);
    let all = Diagnostic {
        facilitator_error_code: Some("insufficient_funds".to_owned()),
        client_error_code: Some("duplicate_nonce"),
        expires_at: Some(1_773_100_860),
        ..mycelia()
    };
    let more = concat!(
        r#","facilitator_error_code":"insufficient_funds","client_error_code":"duplicate_nonce","#,
        r#""expires_at":1773100860}"#
    );
    assert_eq!(String::from_utf8(all.to_json()).unwrap(), expected.strip_suffix('}').unwrap().to_owned() + more);
}

#[test]
fn a_v2_extension_has_info_and_a_schema_that_is_an_object() {
    let json = String::from_utf8(mycelia().to_json()).unwrap();
    let extension = String::from_utf8(mycelia().to_extension()).unwrap();
    assert_eq!(extension, format!(r#"{{"info":{json},"schema":{{"type":"object"}}}}"#));
}

#[test]
fn days_are_rounded_up_and_numbers_grouped() {
    for (attempts, lasted, expected) in [
        (1, 0, "1 request received with no valid payment in 1 day."),
        (100, 60_000, "100 requests received with no valid payment in 1 day."),
        (999, DAY, "999 requests received with no valid payment in 1 day."),
        (1_000, DAY + 1, "1,000 requests received with no valid payment in 2 days."),
        (144_000, 18 * DAY, "144,000 requests received with no valid payment in 18 days."),
        (1_234_567, 1_000 * DAY, "1,234,567 requests received with no valid payment in 1,000 days."),
    ] {
        let diagnostic = Diagnostic { attempts, now_ms: START + lasted, ..mycelia() };
        let json: serde_json::Value = serde_json::from_slice(&diagnostic.to_json()).unwrap();
        assert_eq!(json["message"], expected);
    }
}

#[test]
fn every_diagnostic_keeps_to_the_schema_of_the_union_of_the_proposals() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("fixtures/diagnostic-info.schema.json")).unwrap();
    let longest = |name: &str| schema["properties"][name]["maxLength"].as_u64().unwrap() as usize;
    let allowed = |name: &str| schema["properties"][name]["enum"].as_array().unwrap().clone();
    for reason in Reason::ALL {
        let facts = reason.facts();
        let diagnostic = Diagnostic { code: facts.code, reason, retry_policy: facts.retry_policy, ..mycelia() };
        let bytes = diagnostic.to_json();
        assert!(bytes.is_ascii() && bytes.len() < 600, "{reason:?}");
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert!(allowed("code").contains(&json["code"]) && allowed("retry_policy").contains(&json["retry_policy"]));
        for name in ["message", "suggestion"] {
            let text = json[name].as_str().unwrap();
            assert!(!text.is_empty() && text.len() <= 120.min(longest(name)), "{reason:?}: {text}");
        }
        let name = facts.name;
        assert!(name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert_eq!(json["correlation_id"].as_str().unwrap().len(), 16);
    }
}

#[test]
fn times_are_rfc_3339_in_utc() {
    for (seconds, expected) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_772_323_200, "2026-03-01T00:00:00Z"),
        (1_796_038_177, "2026-11-30T11:29:37Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (4_102_444_799, "2099-12-31T23:59:59Z"),
    ] {
        assert_eq!(rfc3339(seconds), expected);
    }
}

#[test]
fn a_body_gets_one_last_member_and_keeps_every_byte() {
    let v1 = include_str!("fixtures/v1-402-verify-failed.raw.txt");
    let v1 = v1.split_once("\r\n\r\n").or(v1.split_once("\n\n")).unwrap().1.trim_end();
    for body in [
        "{}",
        " { } \n",
        r#"{"error":"Replay rejected","detail":"Request too old"}"#,
        "{\"a\" : 1.10,\r\n\t\"a\":1.10, \"\\ud800\": \"\\/\"}",
        r#"{"oops":"invalid_exact_evm_transaction_failed"}"#,
        v1,
    ] {
        let placed = String::from_utf8(into_body(body.as_bytes(), b"{\"code\":\"X\"}").unwrap()).unwrap();
        let (front, back) = body.split_at(body.rfind('}').unwrap());
        let comma = if front.trim() == "{" { "" } else { "," };
        assert_eq!(placed, format!(r#"{front}{comma}"diagnostic":{{"code":"X"}}{back}"#));
        assert_eq!(into_body(placed.as_bytes(), b"{}"), Err(Unplaced::Occupied), "twice is once");
        for cut in 0..body.trim_end().len() {
            assert!(into_body(&body.as_bytes()[..cut], b"{}").is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn a_body_that_is_no_object_or_has_its_own_is_left_alone() {
    for body in ["", "[]", "\"x\"", "null", "<html>", "{\"a\":1}{}", "\u{feff}{}", "{'a':1}"] {
        assert_eq!(into_body(body.as_bytes(), b"{}"), Err(Unplaced::NotAnObject), "{body}");
    }
    for body in [r#"{"diagnostic":null}"#, r#"{"d\u0069agnostic":1}"#, r#"{"diagnostic":1,"diagnostic":2}"#] {
        assert_eq!(into_body(body.as_bytes(), b"{}"), Err(Unplaced::Occupied), "{body}");
    }
}

#[test]
fn only_refusals_take_a_diagnostic() {
    let taking: Vec<u16> = (100..600).filter(|&status| takes_diagnostic(status)).collect();
    assert_eq!(taking, [400, 402, 403, 409, 422]);
}

#[test]
fn a_contact_is_a_plausible_text_or_nothing() {
    for good in ["mailto:ops@example.com", "https://ops.example.com/hook?x=1&y=%20", "mailto:a"] {
        assert_eq!(checked(good.as_bytes()), Some(good));
    }
    let long = format!("https://{}", "a".repeat(249));
    for bad in [
        "",
        "mailto:",
        "https://",
        "http://ops.example.com",
        "javascript:alert(1)",
        "ops@example.com",
        "HTTPS://a",
        "mailto:a b",
        "mailto:a\r\nX: y",
        "mailto:a\tb",
        "mailto:\u{e9}@example.com",
        "https://a/\"onload=",
        "https://a/<b>",
        "https://a\\b",
        "file:///etc/passwd",
        "tel:+1",
        &long,
    ] {
        assert_eq!(checked(bad.as_bytes()), None, "{bad:?}");
    }
    assert_eq!(checked(&long.as_bytes()[..256]).map(str::len), Some(256));
    let twice: &[(&[u8], &[u8])] = &[(b"X-Operator-Contact", b"mailto:a"), (b"x-operator-contact", b"mailto:b")];
    assert_eq!(operator_contact(twice), None);
    assert_eq!(operator_contact(&twice[..1]), Some("mailto:a"));
}
