use serde_json::Value;

use super::{Reason, mint, signing_key, verify};

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/forge-vectors.json")).unwrap()
}

#[test]
fn f05_the_golden_ids_are_minted_byte_for_byte() {
    let vectors = vectors();
    let rows = vectors["ids"].as_array().unwrap();
    assert!(rows.len() >= 12);
    for row in rows {
        let key = signing_key(row["api_key"].as_str().unwrap());
        assert_eq!(key, row["signing_key"].as_str().unwrap());
        let seconds = u32::try_from(row["now_ms"].as_i64().unwrap() / 1000).unwrap();
        let hex = row["random_hex"].as_str().unwrap();
        let random = std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap());
        assert_eq!(mint(&key, seconds, random), row["feedback_id"].as_str().unwrap());
    }
}

#[test]
fn f01_the_golden_verdicts_hold() {
    let vectors = vectors();
    let rows = vectors["verify"].as_array().unwrap();
    assert!(rows.len() >= 50);
    for row in rows {
        let got = verify(
            row["value"].as_str().unwrap_or(""),
            [row["signing_key"].as_str().unwrap()],
            row["ttl_ms"].as_i64().unwrap(),
            row["now_ms"].as_i64().unwrap(),
        );
        let expected = match row["result"]["reason"].as_str() {
            None => Ok(row["result"]["issuedAt"].as_i64().unwrap()),
            Some("malformed") => Err(Reason::Malformed),
            Some("bad_signature") => Err(Reason::BadSignature),
            Some("expired") => Err(Reason::Expired),
            Some(other) => panic!("a reason nobody knows: {other}"),
        };
        assert_eq!(got, expected, "{row}");
    }
}

#[test]
fn f07_an_id_of_any_known_key_counts() {
    let (old, new) = (signing_key("ffk_old_key_0123456789"), signing_key("ffk_new_key_0123456789"));
    let id = mint(&old, 1_796_000_000, [1; 6]);
    let now = 1_796_000_001_000;
    assert!(verify(&id, [new.as_str(), old.as_str()], 86_400_000, now).is_ok());
    assert_eq!(verify(&id, [new.as_str()], 86_400_000, now), Err(Reason::BadSignature));
}
