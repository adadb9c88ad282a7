use super::*;

const KEY: &str = "ffk_test_0123456789abcdef";
const NOW: u64 = 1_796_000_000_999;
const DAY: u64 = 86_400_000;

fn vectors() -> serde_json::Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/forge-vectors.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn ids_are_those_of_the_golden_vectors() {
    for row in vectors()["ids"].as_array().unwrap() {
        let text = |name: &str| row[name].as_str().unwrap();
        let mut random = [0u8; 6];
        for (index, byte) in random.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text("random_hex")[index * 2..index * 2 + 2], 16).unwrap();
        }
        assert_eq!(signing_key(text("api_key")), text("signing_key"));
        let id = Keys::new(text("api_key"), []).mint(row["now_ms"].as_u64().unwrap(), random);
        assert_eq!(id.as_str(), text("feedback_id"));
    }
}

#[test]
fn verdicts_are_those_of_the_golden_vectors() {
    for row in vectors()["verify"].as_array().unwrap() {
        let keys = Keys { macs: vec![mac_from(row["signing_key"].as_str().unwrap().as_bytes())] };
        let value = row["value"].as_str().unwrap_or_default();
        let got = keys.verify(value.as_bytes(), row["now_ms"].as_u64().unwrap(), row["ttl_ms"].as_u64().unwrap());
        let expected = match row["result"]["reason"].as_str() {
            None => Verification::Valid { issued_ms: row["result"]["issuedAt"].as_u64().unwrap() },
            Some("malformed") => Verification::Malformed,
            Some("bad_signature") => Verification::BadSignature,
            Some("expired") => Verification::Expired,
            Some(other) => panic!("unknown reason {other}"),
        };
        assert_eq!(got, expected, "{row}");
    }
}

#[test]
fn f01_only_the_exact_id_passes() {
    let keys = Keys::new(KEY, []);
    let id = keys.mint(NOW, [0; 6]);
    let text = id.as_str().to_owned();
    assert_eq!(keys.verify(text.as_bytes(), NOW, DAY), Verification::Valid { issued_ms: NOW / 1000 * 1000 });
    for wrong in [&text[..21], &format!("{text}A"), &format!("{text}\n"), &text.replace('w', "+"), ""] {
        assert_eq!(keys.verify(wrong.as_bytes(), NOW, DAY), Verification::Malformed, "{wrong:?}");
    }
    // The last character carries four spare bits: its other spellings decode alike and are refused.
    let sibling = format!("{}{}", &text[..21], char::from(text.as_bytes()[21] + 1));
    assert_eq!(keys.verify(sibling.as_bytes(), NOW, DAY), Verification::Malformed);
    let forged = format!("B{}", &text[1..]);
    assert_eq!(keys.verify(forged.as_bytes(), NOW, DAY), Verification::BadSignature);
}

#[test]
fn f07_an_id_of_the_previous_key_stays_valid_for_its_ttl() {
    let id = Keys::new("old", []).mint(NOW, [1; 6]);
    let rotated = Keys::new("new", ["old"]);
    assert!(matches!(rotated.verify(id.as_str().as_bytes(), NOW, DAY), Verification::Valid { .. }));
    assert_eq!(rotated.verify(id.as_str().as_bytes(), NOW + DAY + 1000, DAY), Verification::Expired);
    assert_eq!(Keys::new("new", []).verify(id.as_str().as_bytes(), NOW, DAY), Verification::BadSignature);
}

#[test]
fn f01_the_shape_of_an_id_is_told_without_decoding_it() {
    let keys = Keys::new(KEY, []);
    for round in 0..64u8 {
        let id = keys.mint(NOW + u64::from(round) * 1_000, [round; 6]);
        for place in 0..LEN {
            for byte in 0..=255 {
                let mut text = *id.as_bytes();
                text[place] = byte;
                assert_eq!(parse(&text).is_some(), canonical(&text).is_some(), "{byte} at {place}");
            }
        }
    }
    for length in [0, 1, 21, 23, 44] {
        assert_eq!(parse(&vec![b'A'; length]), None);
    }
}
