//! The scanner against the reference: simdutf8 and serde_json's IgnoredAny must say the same of every text.

use serde::de::IgnoredAny;

use super::super::scan::is_valid;
use super::*;

/// What the reference says of a text, and where it says that its first value ends.
fn reference(text: &[u8]) -> Option<usize> {
    simdutf8::basic::from_utf8(text).ok()?;
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    stream.next()?.ok()?;
    Some(stream.byte_offset())
}

fn agree(text: &[u8]) {
    let shown = || String::from_utf8_lossy(text).into_owned();
    assert_eq!(
        is_valid(text),
        serde_json::from_slice::<IgnoredAny>(text).is_ok() && reference(text).is_some(),
        "{}",
        shown()
    );
    if matches!(text.first(), Some(b'{' | b'[')) && simdutf8::basic::from_utf8(text).is_ok() {
        assert_eq!(container(text, 0).ok(), reference(text), "{}", shown());
    }
}

#[test]
fn every_short_text_of_the_grammar_is_judged_as_by_the_reference() {
    let tokens: [&[u8]; 13] =
        [b"{", b"}", b"[", b"]", b",", b":", b" ", b"\"\"", b"\"a\"", b"1", b"true", b"\"", b"\\"];
    let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..5 {
        texts = texts.iter().flat_map(|text| tokens.map(|token| [&text[..], token].concat())).collect();
        texts.iter().for_each(|text| agree(text));
    }
}

#[test]
fn mutants_of_real_texts_are_judged_as_by_the_reference() {
    let seeds: [&[u8]; 5] = [
        include_bytes!("../../tests/fixtures/v2-402-get.payment-required.json"),
        include_bytes!("../../tests/fixtures/v1-402-get.body.json"),
        include_bytes!("../../tests/fixtures/v2-200-paid-get.payment-response.json"),
        "{\"a\":[1.5e-3,-0,{\"\u{e9}\\u00e9\\ud83d\":[[[]]]}, \t\r\n true,false,null],\"b\":{}}".as_bytes(),
        include_bytes!("../../tests/openapi/documents/handwritten-3.1.json"),
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % limit
    };
    for round in 0..20_000 {
        let mut text = seeds[round % seeds.len()].to_vec();
        for _ in 0..1 + below(3) {
            if text.is_empty() {
                break;
            }
            let at = below(text.len());
            match below(4) {
                0 => text[at] = b"{}[]\",:\\ \n01e.-+tfnu\x00\x1f\x7f\x80\xc3\xed\xff"[below(27)],
                1 => {
                    text.remove(at);
                }
                2 => {
                    let piece = text[at..(at + 1 + below(20)).min(text.len())].to_vec();
                    let to = below(text.len());
                    text.splice(to..to, piece);
                }
                _ => text.truncate(at.max(1)),
            }
        }
        agree(&text);
    }
}

#[test]
fn levels_are_remembered_at_any_depth() {
    let mut levels = Levels::new();
    let kind = |depth: usize| if depth.is_multiple_of(3) { Level::Object } else { Level::Array };
    for depth in 0..1_000 {
        levels.enter(kind(depth));
        assert_eq!(levels.innermost(), Some(kind(depth)));
    }
    for depth in (0..1_000).rev() {
        assert_eq!(levels.innermost(), Some(kind(depth)));
        levels.leave();
    }
    assert_eq!(levels.innermost(), None);
    assert!(levels.outer.is_empty());
}

#[test]
fn brackets_must_pair_at_every_depth() {
    for depth in [1, 62, 63, 64, 65, 126, 127, 200] {
        let open: String = (0..depth).map(|level| if level % 2 == 0 { "{\"a\":" } else { "[" }).collect();
        let close: String = (0..depth).rev().map(|level| if level % 2 == 0 { '}' } else { ']' }).collect();
        agree(format!("{open}1{close}").as_bytes());
        for wrong in 0..depth {
            let mut shut = close.clone().into_bytes();
            shut[wrong] ^= b'}' ^ b']';
            let text = format!("{open}1{}", String::from_utf8_lossy(&shut));
            assert!(container(text.as_bytes(), 0).is_err());
            agree(text.as_bytes());
        }
    }
}
