//! Challenges of all dialects, as real servers send them, come out as one shape.

use forge_x402::client::{ChallengeError, Offer, Protocol, Unit, parse_challenge};
use forge_x402::open402;

const OPEN402: &str =
    r#"x402 chain="solana" token="USDC" amount="0.02" address="GtwRecipientAddr1111111111111111111111111111""#;

fn base64(json: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(json)
}

fn v2_header(json: &str) -> String {
    base64(json)
}

fn error_of(header: &str, body: &str) -> ChallengeError {
    let headers: Vec<(&[u8], &[u8])> =
        if header.is_empty() { vec![] } else { vec![(b"PAYMENT-REQUIRED", header.as_bytes())] };
    parse_challenge(402, &headers, body.as_bytes()).unwrap_err()
}

#[test]
fn a_v2_challenge_is_read_from_its_header() {
    let value = include_str!("fixtures/v2-402-get.payment-required.b64.txt").trim();
    let found = parse_challenge(402, &[(b"payment-required", value.as_bytes())], b"{}").unwrap();
    assert_eq!(found.protocol, Protocol::X402V2);
    assert_eq!(found.error.as_deref(), Some("Payment required"));
    assert_eq!(found.resource.as_deref(), Some("http://api.example.com/weather?city=Oslo"));
    assert_eq!(found.description.as_deref(), Some("Current weather for a city"));
    let offer = Offer {
        scheme: "exact".into(),
        network: "eip155:84532".into(),
        asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e".into(),
        amount: "1000".into(),
        unit: Unit::Atomic,
        pay_to: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C".into(),
        max_timeout_s: Some(60),
    };
    assert_eq!(found.offers, [offer]);
    assert!(found.extensions.unwrap().starts_with(r#"{"bazaar":{"#));
}

#[test]
fn a_v1_challenge_is_read_from_its_body() {
    let capture = include_str!("fixtures/v1-402-get.raw.txt");
    let body = capture.split_once("\r\n\r\n").or(capture.split_once("\n\n")).unwrap().1.trim();
    let found = parse_challenge(402, &[], body.as_bytes()).unwrap();
    assert_eq!(found.protocol, Protocol::X402V1);
    assert_eq!(found.error.as_deref(), Some("X-PAYMENT header is required"));
    assert_eq!(found.resource.as_deref(), Some("http://api.example.com/weather"));
    assert_eq!((found.offers[0].network.as_str(), found.offers[0].amount.as_str()), ("base-sepolia", "1000"));
    assert_eq!(found.extensions, None);
}

#[test]
fn an_open402_challenge_is_read_from_its_header_whatever_the_body_says() {
    let body = br#"{"error":"Payment Required","protocol":"x402","chain":"solana","token":"USDC","amount":"99","address":"X"}"#;
    let found = parse_challenge(402, &[(b"www-authenticate", OPEN402.as_bytes())], body).unwrap();
    assert_eq!(found.protocol, Protocol::Open402);
    let offer = &found.offers[0];
    assert_eq!((offer.network.as_str(), offer.asset.as_str()), ("solana", "USDC"));
    assert_eq!((offer.amount.as_str(), offer.unit), ("0.02", Unit::Token));
}

#[test]
fn our_own_additions_change_nothing_of_the_price() {
    let body = br#"{"chain":"solana","token":"USDC","amount":"0.02","address":"A"}"#;
    let decorated = open402::decorate(body, "Please rate it.", b"{}").unwrap();
    let headers: &[(&[u8], &[u8])] = &[(b"www-authenticate", OPEN402.as_bytes())];
    assert_eq!(parse_challenge(402, headers, body), parse_challenge(402, headers, &decorated));
}

#[test]
fn several_offers_keep_their_order() {
    let json = include_str!("fixtures/v2-402-multi.payment-required.json");
    let found = parse_challenge(402, &[(b"PAYMENT-REQUIRED", v2_header(json).as_bytes())], b"").unwrap();
    assert_eq!(found.offers.len(), 2);
    assert!(found.offers.iter().all(|offer| offer.unit == Unit::Atomic));
}

#[test]
fn only_a_402_is_a_challenge() {
    let value = include_str!("fixtures/v2-402-get.payment-required.b64.txt").trim();
    for status in [200, 400, 401, 403, 412, 500] {
        let found = parse_challenge(status, &[(b"PAYMENT-REQUIRED", value.as_bytes())], b"{}");
        assert_eq!(found, Err(ChallengeError::NotPaymentRequired(status)));
    }
    assert_eq!(error_of("", "<html>"), ChallengeError::Unknown);
    assert_eq!(error_of("", "{}"), ChallengeError::Unknown);
}

#[test]
fn what_two_readers_could_pay_differently_is_refused() {
    let offer = r#"{"scheme":"exact","network":"eip155:1","asset":"A","amount":"1","payTo":"P"}"#;
    let doubled = offer.replace(r#""amount":"1""#, r#""amount":"1","amount":"99""#);
    let escaped = offer.replace(r#""payTo":"P""#, r#""payTo":"P","pay\u0054o":"Evil""#);
    let v2 = |accepts: &str| v2_header(&format!(r#"{{"x402Version":2,"accepts":{accepts}}}"#));
    assert_eq!(error_of(&v2(&format!("[{doubled}]")), ""), ChallengeError::Ambiguous("amount"));
    assert_eq!(error_of(&v2(&format!("[{escaped}]")), ""), ChallengeError::Ambiguous("payTo"));
    let twice = v2_header(&format!(r#"{{"x402Version":2,"accepts":[{offer}],"accepts":[]}}"#));
    assert_eq!(error_of(&twice, ""), ChallengeError::Ambiguous("accepts"));
    let one = v2(&format!("[{offer}]"));
    let lines: &[(&[u8], &[u8])] = &[(b"PAYMENT-REQUIRED", one.as_bytes()), (b"payment-required", one.as_bytes())];
    assert_eq!(parse_challenge(402, lines, b""), Err(ChallengeError::Ambiguous("PAYMENT-REQUIRED")));
    assert!(parse_challenge(402, &lines[..1], b"").is_ok());
    let smuggled = format!("{OPEN402} max-amount=\"4.99\"");
    let found = parse_challenge(402, &[(b"WWW-Authenticate", smuggled.as_bytes())], b"");
    assert_eq!(found, Err(ChallengeError::Open402(open402::Fault::Smuggled("amount"))));
}

#[test]
fn what_cannot_be_paid_is_malformed() {
    let offer = r#"{"scheme":"exact","network":"eip155:1","asset":"A","amount":"1","payTo":"P"}"#;
    for (from, to, name) in [
        (r#""amount":"1""#, r#""amount":1"#, "amount"),
        (r#""amount":"1""#, r#""amount":"0.5""#, "amount"),
        (r#""amount":"1""#, r#""amount":"-1""#, "amount"),
        (r#""amount":"1""#, r#""amount":"""#, "amount"),
        (r#","payTo":"P""#, "", "payTo"),
        (r#""scheme":"exact""#, r#""scheme":null"#, "scheme"),
    ] {
        let header = v2_header(&format!(r#"{{"x402Version":2,"accepts":[{}]}}"#, offer.replace(from, to)));
        assert_eq!(error_of(&header, ""), ChallengeError::Malformed(name), "{to}");
    }
    for accepts in ["[]", "{}", "null", "[1]", "[[]]"] {
        let header = v2_header(&format!(r#"{{"x402Version":2,"accepts":{accepts}}}"#));
        assert_eq!(error_of(&header, ""), ChallengeError::Malformed("accepts"), "{accepts}");
    }
    assert_eq!(error_of(&v2_header(r#"{"x402Version":3,"accepts":[]}"#), ""), ChallengeError::Malformed("x402Version"));
    assert_eq!(error_of("not base64!", ""), ChallengeError::Malformed("PAYMENT-REQUIRED"));
    assert_eq!(error_of(&base64("[]"), ""), ChallengeError::Malformed("PAYMENT-REQUIRED"));
    let many = vec![offer; 65].join(",");
    let header = v2_header(&format!(r#"{{"x402Version":2,"accepts":[{many}]}}"#));
    assert_eq!(error_of(&header, ""), ChallengeError::Malformed("accepts"));
}

#[test]
fn a_challenge_is_told_as_json() {
    let open = parse_challenge(402, &[(b"www-authenticate", OPEN402.as_bytes())], b"").unwrap();
    let expected = concat!(
        r#"{"protocol":"open402","offers":[{"scheme":"open402","network":"solana","asset":"USDC","amount":"0.02","#,
        r#""unit":"token","payTo":"GtwRecipientAddr1111111111111111111111111111"}]}"#
    );
    assert_eq!(String::from_utf8(open.to_json()).unwrap(), expected);
    let value = include_str!("fixtures/v2-402-get.payment-required.b64.txt").trim();
    let v2 = parse_challenge(402, &[(b"payment-required", value.as_bytes())], b"{}").unwrap();
    let json: serde_json::Value = serde_json::from_slice(&v2.to_json()).unwrap();
    assert_eq!((&json["protocol"], &json["offers"][0]["unit"]), (&"x402/2".into(), &"atomic".into()));
    assert!(json["extensions"]["bazaar"]["info"].is_object(), "extensions as they came");
}
