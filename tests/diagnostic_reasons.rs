//! Classification held to its sources: the community's error map, the reviewed table of machine reasons, real messages.

use std::collections::HashMap;

use forge_x402::diagnostic::classify::{
    classify, from_open402_body, from_receipt, from_refusal, from_v1_body, from_v2_challenge,
};
use forge_x402::diagnostic::code::{Escalate, Origin};
use forge_x402::diagnostic::{Brought, Failure, Phase, Reason};

fn of(text: &str) -> Failure {
    classify(Some(text), Phase::Verify, Brought::Payment).unwrap()
}

fn name(failure: &Failure) -> &'static str {
    failure.reason.facts().name
}

fn map() -> serde_json::Value {
    serde_json::from_str(include_str!("fixtures/diagnostic-error-map.json")).unwrap()
}

/// reason, classified as, how
fn reviewed() -> Vec<(&'static str, &'static str, &'static str)> {
    let rows = include_str!("fixtures/diagnostic-reviewed-reasons.tsv").lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let mut cells = line.split('\t');
        (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap())
    })
    .collect()
}

#[test]
fn every_exact_text_of_the_map_says_what_the_map_says() {
    let map = map();
    let exact = map["exact"].as_object().unwrap();
    assert_eq!(exact.len(), 118);
    for (text, row) in exact {
        let failure = of(text);
        let facts = failure.reason.facts();
        if row["reason"] == "no_payment" {
            // With a payment in the request these mean that the server could not read it.
            assert_eq!(failure.reason, Reason::MalformedPayment, "{text}");
            assert!(classify(Some(text), Phase::Verify, Brought::Nothing).is_none(), "{text}");
            continue;
        }
        assert_eq!(row["reason"], name(&failure), "{text}");
        assert_eq!(row["code"], facts.code.as_str(), "{text}");
        assert_eq!(row["retry_policy"], failure.retry_policy.as_str(), "{text}");
        assert_eq!(row["payer_proven"], failure.payer_proven, "{text}");
        let escalate = match facts.escalate {
            Escalate::Always => serde_json::json!(true),
            Escalate::Never => serde_json::json!(false),
            Escalate::From(_) => serde_json::json!("repeat"),
        };
        assert_eq!(row["escalate"], escalate, "{text}");
        let origin = match facts.origin {
            Origin::Client => "client",
            Origin::Server => "server",
            Origin::Either => "either",
            Origin::Policy => "policy",
            Origin::Unknown => "unknown",
        };
        assert_eq!(row["origin"], origin, "{text}");
    }
}

#[test]
fn repeat_limits_are_those_of_the_map() {
    for reason in Reason::ALL {
        let expected = match reason {
            Reason::MalformedPayment | Reason::RequirementsMismatch | Reason::FacilitatorRefusedPayload => 10,
            Reason::AuthorizationExpired | Reason::AuthorizationNotYetValid | Reason::AuthorizationWindowTooShort => 2,
            _ => 3,
        };
        if let Escalate::From(limit) = reason.facts().escalate {
            assert_eq!(limit, expected, "{reason:?}");
        }
    }
}

#[test]
fn every_reason_that_can_reach_a_402_is_in_the_reviewed_table() {
    let table: HashMap<_, _> = reviewed().into_iter().map(|(reason, class, how)| (reason, (class, how))).collect();
    let mut rows = 0;
    for line in include_str!("fixtures/x402-error-reasons.tsv").lines().skip(1) {
        let mut cells = line.split('\t');
        let (reason, reaches) = (cells.next().unwrap(), cells.next().unwrap());
        if reaches == "yes" {
            assert!(table.contains_key(reason), "{reason}");
            rows += 1;
        }
    }
    assert_eq!(rows, 324);
    let map = map();
    for reason in map["python_x402_2_25_0_strings"].as_array().unwrap() {
        assert!(table.contains_key(reason.as_str().unwrap()), "{reason}");
    }
}

#[test]
fn every_reviewed_reason_is_classified_so_alone_and_with_a_message_behind_it() {
    let names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.facts().name).collect();
    for (reason, class, how) in reviewed() {
        assert!(names.contains(&class), "{class}");
        assert!(["exact", "pattern", "corrected"].contains(&how), "{how}");
        let (alone, longer) = (of(reason), of(&format!("{reason}: balance 0 < 1000 (nonce, signature)")));
        let expected = if class == "no_payment" { "malformed_payment" } else { class };
        assert_eq!(name(&alone), expected, "{reason}");
        assert_eq!(alone.reason, longer.reason, "{reason} with a message");
        let refused = class == "payment_refused";
        let told = alone.facilitator_error_code.is_some() || alone.client_error_code.is_some();
        assert_eq!(told, !refused, "{reason}: a screening result is not told, anything else is");
    }
}

/// A pattern of the map, as its regular expression reads; the map uses alternatives, one group and `^ $` only.
fn matches(regex: &str, text: &str) -> bool {
    let regex = regex.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(regex);
    if regex == ".*" {
        return true;
    }
    if regex == "^Missing X-x402-(Timestamp|Nonce) header$" {
        return ["Missing X-x402-Timestamp header", "Missing X-x402-Nonce header"].contains(&text);
    }
    regex.split('|').any(|part| match part.strip_prefix('^') {
        Some(start) => text.starts_with(start),
        None => text.contains(part),
    })
}

#[test]
fn what_the_table_says_by_pattern_is_what_the_maps_patterns_say() {
    let map = map();
    let patterns = map["patterns"].as_array().unwrap();
    assert_eq!(patterns.len(), 18);
    let mut corrected = 0;
    for (reason, class, how) in reviewed() {
        let by_map = patterns.iter().find(|row| matches(row["regex"].as_str().unwrap(), reason)).unwrap();
        match how {
            "pattern" => assert_eq!(by_map["reason"], class, "{reason}"),
            "corrected" => {
                assert_ne!(by_map["reason"], class, "{reason}");
                corrected += 1;
            }
            _ => assert_eq!(map["exact"][reason]["reason"], class, "{reason}"),
        }
    }
    assert_eq!(corrected, 51, "each correction has its reason in the table");
}

#[test]
fn the_anchored_patterns_of_the_map_hold_for_the_gateways_texts() {
    let map = map();
    let patterns = map["patterns"].as_array().unwrap();
    for text in [
        "Missing X-x402-Timestamp header",
        "Missing X-x402-Nonce header",
        "Invalid timestamp format",
        "Nonce too long (max 128)",
        "Request too old (1796037177.7s > 30s window)",
        "Request timestamp is in the future",
        "Duplicate nonce (possible replay)",
        "Verification error: connection refused",
        "FiatTokenV2: authorization is used or canceled",
    ] {
        let row = patterns.iter().find(|row| matches(row["regex"].as_str().unwrap(), text)).unwrap();
        let failure = of(text);
        assert_eq!(row["reason"], name(&failure), "{text}");
        assert_eq!(row["retry_policy"], failure.retry_policy.as_str(), "{text}");
        assert_eq!(row["payer_proven"], failure.payer_proven, "{text}");
    }
}

#[test]
fn texts_of_servers_and_facilitators_are_understood() {
    #[rustfmt::skip]
    let cases = [
        ("Facilitator verify failed (500): <html>oops</html>", "facilitator_unavailable"),
        ("Facilitator verify failed (503)", "facilitator_unavailable"),
        ("Facilitator verify failed (429): slow down", "facilitator_unavailable"),
        ("Facilitator verify failed (401): unauthorized", "server_misconfigured"),
        ("Facilitator verify failed (404): <html>", "server_misconfigured"),
        (r#"Facilitator verify failed (400): {"isValid":false,"invalidReason":"insufficient_funds"}"#, "insufficient_balance"),
        ("Facilitator settle failed (500): oops", "settlement_unknown"),
        (r#"Facilitator settle failed (400): {"success":false,"errorReason":"insufficient_funds"}"#, "insufficient_balance"),
        ("Facilitator settle failed (400): nope", "settlement_unknown"),
        ("Failed to verify payment: insufficient_funds", "insufficient_balance"),
        ("Failed to verify payment: 500", "facilitator_unavailable"),
        ("Failed to verify payment: Internal Server Error", "facilitator_unavailable"),
        ("Failed to verify payment: brand_new_cause", "unclassified"),
        ("Failed to settle payment: insufficient_funds", "insufficient_balance"),
        ("Failed to settle payment: Bad Gateway", "settlement_unknown"),
        ("Unsupported x402 version: 3", "malformed_payment"),
        ("No facilitator supports exact on eip155:1 for v2", "server_misconfigured"),
        ("[x402] No server implementation registered for scheme: exact", "server_misconfigured"),
        ("Payment verification failed", "facilitator_unavailable"),
        ("fetch failed", "facilitator_unavailable"),
        ("Invalid or malformed payment header", "malformed_payment"),
        ("Incorrect padding", "malformed_payment"),
        ("Invalid network", "requirements_mismatch"),
        ("Unable to find matching payment requirements", "requirements_mismatch"),
        ("unknown reason", "unclassified"),
        ("", "unclassified"),
        // A node's message about the facilitator's own gas says nothing of the payer's balance.
        ("insufficient funds for gas * price + value: address 0xFac", "unclassified"),
        ("execution reverted: invalid recipient", "unclassified"),
        ("INSUFFICIENT_FUNDS", "unclassified"),
    ];
    for (text, expected) in cases {
        assert_eq!(name(&of(text)), expected, "{text}");
    }
}

#[test]
fn a_payment_nobody_could_read_is_malformed_whatever_the_server_says() {
    for text in [
        "Payment required",
        "X-PAYMENT header is required",
        "Invalid character",
        "Unexpected token 'h', \"hello\" is not valid JSON",
        "",
    ] {
        let failure = classify(Some(text), Phase::Either, Brought::Undecodable).unwrap();
        assert_eq!(name(&failure), "malformed_payment", "{text}");
        assert_eq!(failure.client_error_code, Some("undecodable_payment_header"), "{text}");
    }
    // With a payment that reads well, the same parser message is about a facilitator's answer.
    let failure =
        classify(Some("Unexpected token 'o', \"oops\" is not valid JSON"), Phase::Either, Brought::Payment).unwrap();
    assert_eq!(name(&failure), "settlement_unknown");
}

/// The body of a captured response.
fn body(capture: &str) -> &[u8] {
    capture.split_once("\r\n\r\n").or(capture.split_once("\n\n")).unwrap().1.trim_end().as_bytes()
}

#[test]
fn v1_bodies_are_classified() {
    let cases = [
        (include_str!("fixtures/v1-402-verify-failed.raw.txt"), Brought::Payment, "insufficient_balance"),
        (include_str!("fixtures/v1-402-verify-http400.raw.txt"), Brought::Payment, "insufficient_balance"),
        (include_str!("fixtures/v1-402-settle-failed.raw.txt"), Brought::Payment, "insufficient_balance"),
        (include_str!("fixtures/v1-402-settle-http500.raw.txt"), Brought::Payment, "settlement_unknown"),
        (include_str!("fixtures/v1-402-bad-header.raw.txt"), Brought::Undecodable, "malformed_payment"),
        (include_str!("fixtures/v1-402-zod-error.raw.txt"), Brought::Payment, "malformed_payment"),
        (include_str!("fixtures/v1-402-no-match.raw.txt"), Brought::Payment, "requirements_mismatch"),
    ];
    for (capture, brought, expected) in cases {
        let failure = from_v1_body(body(capture), brought).unwrap();
        assert_eq!(name(&failure), expected, "{}", String::from_utf8_lossy(&body(capture)[..90]));
    }
    let unpaid = include_str!("fixtures/v1-402-get.raw.txt");
    assert_eq!(from_v1_body(body(unpaid), Brought::Nothing), None);
}

#[test]
fn v2_challenges_and_receipts_are_classified() {
    let challenges = [
        (include_str!("fixtures/v2-402-verify-failed.payment-required.json"), "insufficient_balance"),
        (include_str!("fixtures/v2-402-verify-http400.payment-required.json"), "insufficient_balance"),
        (include_str!("fixtures/v2-402-verify-http500.payment-required.json"), "facilitator_unavailable"),
        (include_str!("fixtures/v2-402-no-match.payment-required.json"), "requirements_mismatch"),
        (include_str!("fixtures/v2-402-extension-echo-mismatch.payment-required.json"), "requirements_mismatch"),
        (include_str!("fixtures/v2-402-bad-version.payment-required.json"), "malformed_payment"),
        (include_str!("fixtures/v2-402-cdp-description-too-long.payment-required.json"), "facilitator_refused_payload"),
    ];
    for (challenge, expected) in challenges {
        assert_eq!(name(&from_v2_challenge(challenge.as_bytes(), Brought::Payment).unwrap()), expected);
    }
    let undecodable = include_str!("fixtures/v2-402-undecodable-signature.payment-required.json");
    assert_eq!(name(&from_v2_challenge(undecodable.as_bytes(), Brought::Undecodable).unwrap()), "malformed_payment");
    let receipts = [
        include_str!("fixtures/v2-402-settle-failed.payment-response.json"),
        include_str!("fixtures/v2-402-settle-http400.payment-response.json"),
        include_str!("fixtures/v2-402-settle-http500.payment-response.json"),
    ];
    for receipt in receipts {
        assert_eq!(name(&from_receipt(receipt.as_bytes(), Brought::Payment).unwrap()), "settlement_unknown");
    }
    let success = br#"{"success":true,"errorReason":"insufficient_funds"}"#;
    assert_eq!(from_receipt(success, Brought::Payment), None);
    let ambiguous = br#"{"success":true,"success":false}"#;
    assert_eq!(from_receipt(ambiguous, Brought::Payment), None);
}

#[test]
fn open402_refusals_are_classified() {
    let cases = [
        (include_str!("fixtures/open402-04-x402-no-nonce-403.txt"), "replay_headers_missing"),
        (include_str!("fixtures/open402-05-x402-legacy-unverified-403.txt"), "settlement_pending"),
        (include_str!("fixtures/open402-06-x402-malformed-403.txt"), "signature_invalid"),
        (include_str!("fixtures/open402-07-x402-stale-timestamp-403.txt"), "stale_request_timestamp"),
        (include_str!("fixtures/open402-08-x402-duplicate-nonce-403.txt"), "request_nonce_reused"),
        // A spent proof gets a bare challenge; that money is gone, so nothing may sound like "pay".
        (include_str!("fixtures/open402-10-replayed-tx-402.txt"), "unclassified"),
    ];
    for (capture, expected) in cases {
        let answer = capture.rsplit_once("GATEWAY -> CLIENT\n").unwrap().1;
        let failure = from_open402_body(body(answer), Brought::Proof).unwrap();
        assert_eq!(name(&failure), expected);
        assert!(!["pay", "retry_new_payment"].contains(&failure.retry_policy.as_str()), "{expected}");
    }
}

#[test]
fn facilitator_and_client_codes_are_kept_apart_and_free_text_is_not_repeated() {
    let codes = |text: &str| {
        let failure = of(text);
        (failure.facilitator_error_code, failure.client_error_code)
    };
    assert_eq!(codes("insufficient_funds: balance 0"), (Some("insufficient_funds".to_owned()), None));
    assert_eq!(codes("No matching payment requirements"), (None, Some("no_matching_payment_requirements")));
    assert_eq!(codes("extension_echo_mismatch"), (None, Some("extension_echo_mismatch")));
    assert_eq!(codes("<script>alert(1)</script>"), (None, None));
    assert_eq!(codes(&"a".repeat(129)), (None, None));
    assert_eq!(codes("kyt_risk_detected: sanctions list 7"), (None, None));
}

#[test]
fn a_refusal_of_the_merchants_own_is_no_failed_payment() {
    for own in [
        r#"{"error":"invalid_date"}"#,
        r#"{"error":"missing_required_field: city"}"#,
        r#"{"error":"duplicate"}"#,
        r#"{"error":"unknown_error"}"#,
        r#"{"error":"not found","detail":"no such channel"}"#,
        r#"{"error":"[{\"code\":\"invalid_type\",\"path\":[\"city\"]}]"}"#,
        r#"{"detail":[{"loc":["query","city"],"msg":"field required"}]}"#,
        r#"{"message":"insufficient_funds"}"#,
        "{}",
        "not json",
    ] {
        assert_eq!(from_refusal(own.as_bytes(), Brought::Payment), None, "{own}");
    }
    for (refusal, expected) in [
        (r#"{"error":"invalid_payment_signature_header"}"#, "malformed_payment"),
        (r#"{"error":"insufficient_funds: balance 0"}"#, "insufficient_balance"),
        (r#"{"error":"Replay rejected","detail":"Duplicate nonce (possible replay)"}"#, "request_nonce_reused"),
        (r#"{"error":"Payment verification failed","detail":"Payment not confirmed on-chain"}"#, "settlement_pending"),
        (r#"{"error":"Failed to verify payment: invalid_scheme"}"#, "requirements_mismatch"),
    ] {
        assert_eq!(name(&from_refusal(refusal.as_bytes(), Brought::Payment).unwrap()), expected, "{refusal}");
    }
}
