//! open402 messages as a gateway and a client really exchange them: found, decorated, answered.

use forge_x402::open402::{
    Challenge, Decoration, Fault, Proof, ReplayFields, agent_id, decorate, json_schema, replay_headers, service_hash,
};

/// The messages of one captured exchange: head lines and body.
fn messages(capture: &str) -> Vec<(Vec<(&str, &str)>, &str)> {
    let normal =
        capture.split(">>>>>>>> CLIENT -> GATEWAY\n").flat_map(|leg| leg.split("<<<<<<<< GATEWAY -> CLIENT\n"));
    normal
        .filter(|message| !message.trim().is_empty())
        .map(|message| {
            let (head, body) = message.split_once("\r\n\r\n").or(message.split_once("\n\n")).unwrap_or((message, ""));
            let lines = head.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
            (lines, body.trim())
        })
        .collect()
}

fn lines<'a>(head: &[(&'a str, &'a str)]) -> Vec<(&'a [u8], &'a [u8])> {
    head.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
}

#[test]
fn a_real_challenge_and_its_payment_are_found() {
    let capture = include_str!("fixtures/open402-09-full-pay-200.txt");
    let all = messages(capture);
    assert_eq!(all.len(), 4, "two legs");
    let challenge = Challenge::find(&lines(&all[1].0)).unwrap();
    assert_eq!((challenge.chain.as_str(), challenge.amount.as_str()), ("solana", "0.02"));
    let paid = lines(&all[2].0);
    let proof = Proof::find(&paid).unwrap();
    assert_eq!(proof.tx_hash, "mock_tx_42cc7d09c9a44ac3ac0f374108f413e9");
    assert_eq!(proof.payer_address.as_deref(), Some("MockWa11etAddress1111111111111111111111111111"));
    let fields = ReplayFields::find(&paid).unwrap();
    assert_eq!(fields.timestamp_ms, 1_796_038_177_758);
    assert_eq!(fields.nonce, b"dfaa0507f0844533a3a70585491b0b17");
    assert_eq!(ReplayFields::find(&lines(&all[0].0)).unwrap(), fields, "both legs carry one pair");
    assert_eq!(Proof::find(&lines(&all[0].0)), Err(Fault::Absent));
}

#[test]
fn two_header_lines_are_one_too_many() {
    let x402 = r#"x402 chain="solana" token="USDC" amount="0.05" address="Addr""#;
    let twice = [("WWW-Authenticate", x402), ("www-authenticate", x402)];
    assert_eq!(Challenge::find(&lines(&twice)), Err(Fault::Ambiguous));
    let beside = [
        ("WWW-Authenticate", "Bearer realm=\"a, b\""),
        ("WWW-Authenticate", x402),
        ("WWW-Authenticate", "Negotiate YII="),
    ];
    assert_eq!(Challenge::find(&lines(&beside)).unwrap().amount, "0.05");
    let broken = [("WWW-Authenticate", "Digest qop=\"auth"), ("WWW-Authenticate", x402)];
    assert_eq!(Challenge::find(&lines(&broken)).unwrap().amount, "0.05", "somebody else's broken line is not ours");
    let credentials = [("Authorization", "x402 a"), ("Authorization", "x402 b")];
    assert_eq!(Proof::find(&lines(&credentials)), Err(Fault::Ambiguous));
}

const BODY: &str = r#"{"error":"Payment Required","protocol":"x402","chain":"solana","token":"USDC","amount":"0.02","address":"GtwRecipientAddr1111111111111111111111111111"}"#;

#[test]
fn a_body_gets_both_members_at_its_end_and_keeps_every_byte() {
    let all = messages(include_str!("fixtures/open402-01-challenge-402.txt"));
    assert_eq!(all[1].1, BODY);
    let decorated = decorate(BODY.as_bytes(), "Please rate it.", br#"{"info":{}}"#).unwrap();
    let expected = format!(
        r#"{},"extensions":{{"forge-feedback":{{"info":{{}}}}}},"description":"Please rate it."}}"#,
        &BODY[..BODY.len() - 1]
    );
    assert_eq!(String::from_utf8(decorated).unwrap(), expected);
}

#[test]
fn odd_spelling_of_a_body_is_kept() {
    let body =
        " { \"amount\" : \"0.020\",\n\"\\u0063hain\":\"solana\", \"token\":\"USDC\",\"address\":\"A\", \"x\":1e2 }\n";
    let decorated = String::from_utf8(decorate(body.as_bytes(), "\u{e9}\"", b"{}").unwrap()).unwrap();
    let (front, back) = body.split_at(body.rfind('}').unwrap());
    let added = r#","extensions":{"forge-feedback":{}},"description":"\u00e9\"""#;
    assert_eq!(decorated, format!("{front}{added}{back}"));
}

#[test]
fn a_body_that_has_its_own_or_is_no_challenge_is_left_alone() {
    for own in [r#""description":"mine""#, r#""extensions":{}"#, r#""extensions":null"#, r#""descri\u0070tion":1"#] {
        let body = format!("{},{own}}}", &BODY[..BODY.len() - 1]);
        assert_eq!(decorate(body.as_bytes(), "s", b"{}"), Err(Decoration::Occupied), "{own}");
    }
    let doubled = format!(r#"{},"amount":"99"}}"#, &BODY[..BODY.len() - 1]);
    for body in ["{}", "[]", "", "not json", r#"{"chain":"a","token":"b","amount":1,"address":"c"}"#, &doubled] {
        assert_eq!(decorate(body.as_bytes(), "s", b"{}"), Err(Decoration::NotAChallenge), "{body}");
    }
    for cut in 0..BODY.len() {
        assert!(decorate(&BODY.as_bytes()[..cut], "s", b"{}").is_err(), "cut at {cut}");
    }
}

#[test]
fn the_client_builds_one_pair_for_both_legs() {
    let [(timestamp, seconds), (nonce, digits)] = replay_headers(1_796_038_177_058, [0xAB; 16]);
    assert_eq!((timestamp, seconds.as_str()), ("X-x402-Timestamp", "1796038177.058"));
    assert_eq!((nonce, digits.as_str()), ("X-x402-Nonce", "abababababababababababababababab"));
    let headers = [(timestamp, seconds.as_str()), (nonce, digits.as_str())];
    let read = lines(&headers);
    assert_eq!(ReplayFields::find(&read).unwrap().timestamp_ms, 1_796_038_177_058);
    assert_eq!(replay_headers(5, [0; 16])[0].1, "0.005");
    assert_eq!(replay_headers(0, [0; 16])[1].1.len(), 32);
}

#[test]
fn decimals_of_a_timestamp_are_optional() {
    for (text, milliseconds) in [("1796038177", 1_796_038_177_000), ("1.5", 1_500), ("0.0009", 0), ("7.1234567", 7_123)]
    {
        let headers = [("X-x402-Timestamp", text), ("X-x402-Nonce", "n")];
        assert_eq!(ReplayFields::find(&lines(&headers)).unwrap().timestamp_ms, milliseconds, "{text}");
    }
}

#[test]
fn a_service_hash_is_sha256_of_the_description() {
    assert_eq!(service_hash(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(service_hash("abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[test]
fn an_agent_id_is_read_as_a_text() {
    assert_eq!(agent_id(&[(b"x-agent-id", b"agent-001")]).as_deref(), Some("agent-001"));
    assert_eq!(agent_id(&[(b"X-Agent-ID", b"a\x01b")]).as_deref(), Some("a b"));
    assert_eq!(agent_id(&[(b"X-Agent-ID", b"  ")]), None);
    assert_eq!(agent_id(&[(b"X-Agent-ID", b"\xff")]), None);
    assert_eq!(agent_id(&[(b"X-Agent-ID", "x".repeat(900).as_bytes())]).unwrap().len(), 256);
}

#[test]
fn the_schema_is_the_reference_one_without_its_contradiction() {
    let ours: serde_json::Value = serde_json::from_str(json_schema()).unwrap();
    let mut theirs: serde_json::Value =
        serde_json::from_str(include_str!("fixtures/open402-json-schema.json")).unwrap();
    let tier = theirs["x402_challenge"]["properties"]["service_tier"].as_object_mut().unwrap();
    assert_eq!(tier.remove("default"), Some("".into()), "outside its own enum");
    assert_eq!(ours, theirs);
}
