use super::*;

fn found(text: &str, name: &str) -> Slot {
    document(text.as_bytes(), [name]).unwrap().slots[0].clone()
}

#[test]
fn a_member_is_found_by_what_its_key_reads() {
    assert_eq!(found(r#" {"a":1,"b" : [2] } "#, "b"), Slot::One(14..17));
    assert_eq!(found(r#"{"\u0062":2}"#, "b"), Slot::One(10..11));
    assert_eq!(found(r#"{"a":{"b":1}}"#, "b"), Slot::Absent);
    assert_eq!(found(r#"{"b":1,"\u0062":2}"#, "b"), Slot::Repeated);
}

#[test]
fn what_rfc_8259_refuses_is_refused() {
    for text in [
        "",
        "{",
        "{}x",
        "{}{}",
        "\u{feff}{}",
        r#"{"a":NaN}"#,
        r#"{"a":1,}"#,
        r#"{a:1}"#,
        r#"{"a" 1}"#,
        "{\"a\nb\":1}",
        "{\"a\":\"\n\"}",
        r#"{"a":01}"#,
        r#"{"a":tru}"#,
        r#"{"a":truex}"#,
        r#"{"a":nullnull}"#,
        r#"{"\u12g4":1}"#,
        r#"{"a":"\u12g4"}"#,
        r#"{"a":"\x"}"#,
        r#"{"a":+1}"#,
        r#"{"a":1 2}"#,
        r#"{"a":[1}"#,
        r#"{'a':1}"#,
        r#"{"a":1}/**/"#,
    ] {
        assert_eq!(document(text.as_bytes(), []), Err(Fault::Invalid), "{text}");
    }
    assert_eq!(document(b"{\"a\":\"\xff\"}", []), Err(Fault::Invalid));
    for text in ["[]", "1", "\"x\"", "null", " [1,2] "] {
        assert_eq!(document(text.as_bytes(), []), Err(Fault::Kind), "{text}");
    }
}

#[test]
fn what_rfc_8259_allows_is_allowed() {
    for text in [
        "{}",
        " {\t} ",
        r#"{"a":1e400,"b":-0,"c":12345678901234567890123456789012345678901234567890}"#,
        r#"{"a":"\ud800","a":1}"#,
        r#"{"":{"":[]}}"#,
        r#"{"a":true,"b":false,"c":null}"#,
        "{\"a\":\"\u{7f}\"}",
    ] {
        assert!(document(text.as_bytes(), []).is_ok(), "{text}");
    }
}

#[test]
fn p35_depth_needs_no_stack() {
    for depth in [127, 128, 129, 100_000] {
        let text = format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        let small = std::thread::Builder::new().stack_size(64 * 1024);
        let close = small.spawn(move || document(text.as_bytes(), ["a"]).unwrap().close).unwrap().join().unwrap();
        assert_eq!(close, depth * 2 + 6);
    }
}

#[test]
fn elements_are_found_in_order() {
    let text = b" [ {\"a\":[1]} , 2,\"x\" ]";
    let mut seen = Vec::new();
    elements(text, 1, |range| seen.push(std::str::from_utf8(&text[range]).unwrap().to_owned())).unwrap();
    assert_eq!(seen, [r#"{"a":[1]}"#, "2", r#""x""#]);
}

#[test]
fn a_string_stops_at_the_same_byte_however_it_is_aligned() {
    for length in 0..40 {
        let plain = "x\u{e9}".repeat(length) + &"y".repeat(length % 9);
        let text = format!(r#"{{"{plain}":"{plain}\"{plain}","b":1}}"#);
        assert_eq!(found(&text, "b"), Slot::One(text.len() - 2..text.len() - 1), "{length}");
        for stop in ["\n", "\0", "\u{1f}", "\\x", "\\"] {
            let text = format!("{{\"a\":\"{plain}{stop}\"}}");
            assert_eq!(document(text.as_bytes(), []), Err(Fault::Invalid), "{text:?}");
        }
    }
}

#[test]
fn numbers_are_those_of_serde_json() {
    let parts = ["-", "+", "0", "1", "25", ".", "e", "E", "00"];
    let mut texts = vec![String::new()];
    for _ in 0..5 {
        texts = texts.iter().flat_map(|text| parts.map(|part| format!("{text}{part}"))).collect();
        for text in &texts {
            let reference = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            assert_eq!(is_valid(text.as_bytes()), reference, "{text}");
        }
    }
}
