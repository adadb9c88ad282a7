//! The grammar of open402 headers: each case of the captured results of ag402 0.1.20, read by it and by us.
//!
//! The capture holds labels and results, not inputs. Each input here is first fed to a copy of ag402's scan and has to give
//! the captured result; then it is fed to the strict parser, which has to give what stands beside it.

use forge_x402::open402::{Challenge, Fault, Negotiated, Proof};

const RESULTS: &str = include_str!("fixtures/open402-grammar-results.txt");

/// The parameters ag402 reads: `lower().startswith("x402")`, then every `(\w+)="([^"]*)"`, the last of a name wins.
fn as_ag402_reads(value: &str) -> Option<Vec<(String, String)>> {
    let value = value.trim();
    if !value.to_lowercase().starts_with("x402") {
        return None;
    }
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = &value[4..];
    while let Some(equals) = rest.find("=\"") {
        let name: String = rest[..equals].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let name: String = name.chars().rev().collect();
        if name.is_empty() {
            rest = &rest[equals + 1..];
            continue;
        }
        let Some(length) = rest[equals + 2..].find('"') else { break };
        let content = rest[equals + 2..equals + 2 + length].to_owned();
        found.retain(|(held, _)| *held != name);
        found.push((name, content));
        rest = &rest[equals + 3 + length..];
    }
    Some(found)
}

/// The captured result of a label, up to the end of its line.
fn captured(label: &str) -> &'static str {
    let line =
        RESULTS.lines().find(|line| line.strip_prefix(label).is_some_and(|rest| rest.trim_start().starts_with("->")));
    line.unwrap_or_else(|| panic!("{label} is not in the capture")).split_once("-> ").unwrap().1
}

fn ag402_challenge(value: &str) -> String {
    let Some(found) = as_ag402_reads(value) else { return "None".to_owned() };
    let get = |name: &str| found.iter().find(|(held, _)| held == name).map(|(_, text)| text.as_str());
    if ["chain", "token", "amount", "address"].iter().any(|name| get(name).is_none()) {
        return "None".to_owned();
    }
    let names = ["chain", "token", "amount", "address", "service_hash", "service_tier", "refund_contract"];
    let shown: Vec<String> = names
        .iter()
        .filter_map(|name| get(name).filter(|text| !text.is_empty()).map(|text| format!("'{name}': '{text}'")))
        .collect();
    format!("{{{}}}", shown.join(", "))
}

fn spec() -> Challenge {
    Challenge {
        chain: "solana".into(),
        token: "USDC".into(),
        amount: "0.05".into(),
        address: "Addr".into(),
        ..Challenge::default()
    }
}

const SPEC: &str = r#"x402 chain="solana" token="USDC" amount="0.05" address="Addr""#;

#[test]
fn challenges_are_read_as_the_capture_says_or_more_strictly() {
    let with_extras = Challenge {
        service_hash: Some("sha256:ab".into()),
        service_tier: Some("basic".into()),
        refund_contract: Some("R".into()),
        ..spec()
    };
    let other = r#"x402 chain="base" token="USDC" amount="1.00" address="Other""#;
    let cases: Vec<(&str, String, Result<Challenge, Fault>)> = vec![
        ("spec", SPEC.into(), Ok(spec())),
        ("upper scheme", SPEC.replace("x402", "X402"), Ok(spec())),
        // A scheme of another name is another scheme (RFC 9110 section 11.1).
        ("no space after scheme", SPEC.replace("x402 ", "x402"), Err(Fault::Grammar)),
        ("x402-foo scheme", SPEC.replace("x402", "x402-foo"), Err(Fault::Absent)),
        ("leading ws", format!("  {SPEC}"), Ok(spec())),
        ("tab after scheme", SPEC.replace("x402 ", "x402\t"), Ok(spec())),
        ("commas", SPEC.replace("\" ", "\", "), Ok(spec())),
        ("order", r#"x402 address="Addr" amount="0.05" token="USDC" chain="solana""#.into(), Ok(spec())),
        ("unquoted", "x402 chain=solana token=USDC amount=0.05 address=Addr".into(), Err(Fault::Grammar)),
        ("single quotes", SPEC.replace('"', "'"), Err(Fault::Grammar)),
        ("space around =", SPEC.replace('=', " = "), Err(Fault::Grammar)),
        ("Chain key case", SPEC.replace("chain", "Chain"), Err(Fault::Missing("chain"))),
        ("extra description", format!("{SPEC} description=\"x\""), Ok(spec())),
        (
            "extra ext params",
            format!(r#"{SPEC} service_hash="sha256:ab" service_tier="basic" refund_contract="R""#),
            Ok(with_extras),
        ),
        ("duplicate amount (last wins)", format!("{SPEC} amount=\"99\""), Err(Fault::Duplicate("amount"))),
        (
            "hyphen param smuggle",
            format!(r#"{SPEC} max-amount="99" refund-address="Evil""#),
            Err(Fault::Smuggled("amount")),
        ),
        ("escaped quote", format!(r#"{SPEC} description="a \"b\" c""#), Ok(spec())),
        // Ours is the x402 challenge's own amount; ag402 reads the neighbour's and refuses it as too dear.
        ("x402 first, then Payment challenge", format!("{SPEC}, Payment id=\"1\" amount=\"99\""), Ok(spec())),
        ("L402 first", format!("L402 macaroon=\"m\", {SPEC}"), Ok(spec())),
        ("Bearer first", format!("Bearer realm=\"r\", {SPEC}"), Ok(spec())),
        ("two x402 (last wins)", format!("{SPEC}, {other}"), Err(Fault::Ambiguous)),
        ("missing address", r#"x402 chain="solana" token="USDC" amount="0.05""#.into(), Err(Fault::Missing("address"))),
        ("empty amount", SPEC.replace("0.05", ""), Err(Fault::Missing("amount"))),
        ("unicode", format!("{SPEC} description=\"caf\u{e9} \u{2713}\""), Ok(spec())),
        ("bare", "x402".into(), Err(Fault::Missing("chain"))),
        ("empty", String::new(), Err(Fault::Absent)),
    ];
    let challenges = RESULTS.split("\n\n").next().unwrap().lines().count();
    assert_eq!(cases.len(), challenges, "every case of the capture");
    for (label, input, expected) in cases {
        assert_eq!(ag402_challenge(&input), captured(label), "{label}: the input is the captured one");
        assert_eq!(Challenge::parse(input.as_bytes()), expected, "{label}");
    }
}

#[test]
fn proofs_are_read_as_the_capture_says_or_more_strictly() {
    let full = Proof {
        tx_hash: "h".into(),
        payer_address: Some("p".into()),
        chain: Some("solana".into()),
        request_id: Some("r".into()),
    };
    let hash = |text: &str| Ok(Proof { tx_hash: text.into(), ..Proof::default() });
    let cases: Vec<(&str, &str, Result<Proof, Fault>)> = vec![
        ("legacy", "x402 abc", hash("abc")),
        ("legacy upper", "X402 abc", hash("abc")),
        ("structured", r#"x402 tx_hash="h" payer_address="p" chain="solana" request_id="r""#, Ok(full.clone())),
        ("structured+extra", r#"x402 tx_hash="h" extra="e""#, hash("h")),
        ("only nonce", r#"x402 nonce="n""#, Err(Fault::Missing("tx_hash"))),
        ("base64 pad legacy", "x402 YWJj==", Err(Fault::Grammar)),
        // Two words are no hash.
        ("with spaces legacy", "x402 abc def", Err(Fault::Grammar)),
        ("hyphen key", r#"x402 tx_hash="h" tx-id="other""#, hash("h")),
        ("bearer", "Bearer abc", Err(Fault::Absent)),
        ("no space", "x402abc", Err(Fault::Absent)),
        ("trailing", "x402 ", Err(Fault::Absent)),
        (
            "comma sep",
            r#"x402 tx_hash="h", payer_address="p""#,
            Ok(Proof { tx_hash: "h".into(), payer_address: Some("p".into()), ..Proof::default() }),
        ),
        ("base64url payload", "x402 eyJ4NDAyVmVyc2lvbiI6Mn0", hash("eyJ4NDAyVmVyc2lvbiI6Mn0")),
    ];
    let captured_cases = RESULTS.split("\n\n").nth(1).unwrap().lines().count();
    assert_eq!(cases.len(), captured_cases, "every case of the capture");
    for (label, input, expected) in cases {
        let theirs = captured(label);
        let value = |name: &str| {
            let tail = theirs.split_once(&format!("{name}='"))?.1;
            tail.split_once('\'').map(|(text, _)| text.to_owned()).filter(|text| !text.is_empty())
        };
        let ours = Proof::parse(input.as_bytes());
        if let Ok(proof) = &ours {
            assert_eq!(value("tx_hash").as_ref(), Some(&proof.tx_hash), "{label}: as ag402 reads it");
            assert_eq!(value("payer_address"), proof.payer_address, "{label}: as ag402 reads it");
            assert_eq!(value("request_id"), proof.request_id, "{label}: as ag402 reads it");
        }
        assert_eq!(ours, expected, "{label}");
    }
}

#[test]
fn headers_are_built_as_the_capture_shows() {
    let built: Vec<&str> = RESULTS.split("\n\n").nth(2).unwrap().lines().collect();
    let with_extras = Challenge {
        service_hash: Some("sha256:ab".into()),
        service_tier: Some("basic".into()),
        refund_contract: Some("R".into()),
        ..spec()
    };
    assert_eq!(spec().to_header().unwrap(), built[0]);
    assert_eq!(with_extras.to_header().unwrap(), built[1]);
    let short = Proof { tx_hash: "h".into(), chain: Some("solana".into()), ..Proof::default() };
    let full = Proof { payer_address: Some("p".into()), request_id: Some("r".into()), ..short.clone() };
    assert_eq!(short.to_header().unwrap(), built[2]);
    assert_eq!(full.to_header().unwrap(), built[3]);
}

#[test]
fn what_is_unsafe_in_a_header_is_neither_built_nor_read() {
    // Of these ag402 builds all but the first three; a comma is harmless inside quotes.
    for address in ["a\"b", "a\r\nX: y", "a\nb", "a\0b", "a\u{2028}b", "a\\b", "a\tb", "\u{e9}"] {
        let challenge = Challenge { address: address.into(), ..spec() };
        assert_eq!(challenge.to_header(), Err(Fault::Unsafe("address")), "{address:?}");
        let proof = Proof { tx_hash: address.into(), ..Proof::default() };
        assert_eq!(proof.to_header(), Err(Fault::Unsafe("tx_hash")), "{address:?}");
    }
    let comma = Challenge { address: "a,b".into(), ..spec() };
    assert_eq!(Challenge::parse(comma.to_header().unwrap().as_bytes()), Ok(comma));
    let long = Challenge { address: "a".repeat(257), ..spec() };
    assert_eq!(long.to_header(), Err(Fault::TooLong("address")));
    assert_eq!(Challenge { chain: String::new(), ..spec() }.to_header(), Err(Fault::Missing("chain")));
}

#[test]
fn an_amount_is_smuggled_through_no_escaped_quote() {
    // RFC 9110 reads one description; a scanner for quotes reads amount=" 99 " inside it.
    let sneaky = format!(r#"{SPEC} description="x\" amount=" y="99""#);
    assert_ne!(ag402_challenge(&sneaky), ag402_challenge(SPEC), "the loose reading differs");
    assert!(matches!(Challenge::parse(sneaky.as_bytes()), Err(Fault::Smuggled(_) | Fault::Grammar)));
}

#[test]
fn amounts_are_plain_decimals_above_zero() {
    let amount = |text: &str| Challenge { amount: text.into(), ..spec() }.to_header().is_ok();
    for text in ["0.05", "1.00", "1", "000.5", "4.99", "1000000"] {
        assert!(amount(text), "{text}");
    }
    // The capture's list, of which ag402 takes 1e-2, 1_000, " 0.05 " and Arabic digits.
    for text in
        ["1e-2", "1_000", "inf", "nan", "0", "0.0", "-1", "", " 0.05 ", "0x10", "\u{660}.\u{665}", ".5", "5.", "1,5"]
    {
        assert!(!amount(text), "{text}");
    }
}

#[test]
fn the_version_is_negotiated_as_the_capture_shows() {
    let mut seen = 0;
    for line in RESULTS.lines().filter(|line| line.contains("NegotiationResult(")) {
        let value = line[1..].split_once("' Neg").unwrap().0;
        let expected = match (line.contains("is_compatible=True"), value.is_empty()) {
            (true, true) => Negotiated::Base,
            (true, false) => Negotiated::V1,
            (false, _) => Negotiated::Degraded,
        };
        assert_eq!(Negotiated::from_value(value.as_bytes()), expected, "{value:?}");
        seen += 1;
    }
    assert_eq!(seen, 8);
    assert_eq!(Negotiated::of(&[(b"ACCEPT-X402-VERSION", b" v1.0 ")]), Negotiated::V1, "HTTP trims a value");
    assert_eq!(Negotiated::of(&[]), Negotiated::Base);
    let two: &[(&[u8], &[u8])] = &[(b"Accept-x402-Version", b"v1.0"), (b"Accept-x402-Version", b"v1.0")];
    assert_eq!(Negotiated::of(two), Negotiated::Degraded);
    assert!(Negotiated::V1.allows_extensions() && !Negotiated::Base.allows_extensions());
    assert!(!Negotiated::Degraded.allows_extensions());
}
