use super::*;
use serde_json::{Value, json};

fn captured(headers: &[(&str, &[u8])]) -> Value {
    let captured = Captured::from_headers(headers.iter().map(|(name, value)| (name.as_bytes(), *value)));
    match captured.as_json() {
        b"" => json!({}),
        json => serde_json::from_slice(json).unwrap(),
    }
}

/// The vectors made with the Python SDK.
#[test]
fn the_golden_vectors_hold() {
    let vectors: Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    let vectors = vectors.as_array().unwrap();
    assert!(vectors.len() >= 10);
    for vector in vectors {
        let headers: Vec<(&str, &[u8])> = vector["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap().as_bytes()))
            .collect();
        assert_eq!(captured(&headers), vector["captured"], "{}", vector["headers"]);
    }
}

#[test]
fn secrets_and_payments_are_never_captured() {
    let all = captured(&[
        ("Authorization", b"x402 0xabc"),
        ("Cookie", b"session=1"),
        ("Proxy-Authorization", b"Basic x"),
        ("X-PAYMENT", b"e30="),
        ("PAYMENT-SIGNATURE", b"e30="),
        ("X-Agent-ID", b"agent-7"),
    ]);
    assert_eq!(all, json!({"x-agent-id": "agent-7"}));
}

#[test]
fn a_signature_is_whole_or_absent() {
    let fits = vec![b's'; 4_096];
    let too_long = vec![b's'; 4_097];
    assert_eq!(
        captured(&[("Signature", &fits), ("Signature-Input", &too_long)]),
        json!({"signature": "s".repeat(4_096)})
    );
}

#[test]
fn names_in_any_case_the_first_line_and_bytes_that_are_not_utf8() {
    let headers: [(&[u8], &[u8]); 3] =
        [(b"USER-AGENT", b" caf\xe9\t"), (b"user-agent", b"second"), (b"Referer", b" \t")];
    let captured = Captured::from_headers(headers);
    assert_eq!(captured.as_json(), "{\"user-agent\":\"caf\u{fffd}\"}".as_bytes());
    assert!(captured.user_agent().is_some());
    assert_eq!(Captured::from_headers([]), Captured::default());
}

#[test]
fn a_plus_sign_in_a_release_is_itself() {
    let baggage: &[u8] = b"sentry-release=web%401.2.0+build.7";
    assert_eq!(captured(&[("baggage", baggage)]), json!({"sentry-release": "web@1.2.0+build.7"}));
}
