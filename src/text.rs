//! Text that strangers sent, made fit to be kept: control characters out, length bounded, percent escapes read.
//!
//! Length is counted in UTF-16 units, as the JavaScript peers count, and a cut never leaves half a pair.

use std::borrow::Cow;

/// Runs of control characters become one space, white space around goes, the rest is cut to `limit` units.
/// Characters that turn the reading direction count as controls: they hide what a log line says.
pub(crate) fn clean(text: &str, limit: usize) -> Cow<'_, str> {
    // Addresses, hashes, amounts. Without an early exit, so that many bytes are looked at at a time.
    if text.len() <= limit && text.bytes().fold(true, |plain, byte| plain & (0x21..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let text = text.trim_matches(|one: char| one.is_whitespace() || is_control(one));
    if text.len() <= limit && text.bytes().fold(true, |plain, byte| plain & (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().min(limit * 4));
    let mut units = 0;
    let mut in_run = false;
    for one in text.chars() {
        let control = is_control(one);
        if !(control && in_run) {
            let kept = if control { ' ' } else { one };
            units += kept.len_utf16();
            if units > limit {
                break;
            }
            out.push(kept);
        }
        in_run = control;
    }
    Cow::Owned(out)
}

/// The same of bytes that should be text, read as [`lossy`] does.
pub(crate) fn clean_bytes(bytes: &[u8], limit: usize) -> Cow<'_, str> {
    match lossy(bytes) {
        Cow::Borrowed(text) => clean(text, limit),
        Cow::Owned(text) => Cow::Owned(clean(&text, limit).into_owned()),
    }
}

/// Bytes as text; each run of what is no text (a lone surrogate, say) becomes one U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len());
    let mut in_run = false;
    for chunk in bytes.utf8_chunks() {
        in_run &= chunk.valid().is_empty();
        out.push_str(chunk.valid());
        if !chunk.invalid().is_empty() && !in_run {
            out.push(char::REPLACEMENT_CHARACTER);
            in_run = true;
        }
    }
    Cow::Owned(out)
}

/// Length in UTF-16 units.
pub(crate) fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Control characters of ASCII and Latin-1, and the marks that turn the reading direction.
pub(crate) fn is_control(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Percent escapes, and `+` as a space, read strictly: `None` where an escape is malformed or the result is not UTF-8.
pub(crate) fn percent_decode(raw: &[u8]) -> Option<Cow<'_, str>> {
    let (bytes, whole) = unescape(raw);
    if !whole {
        return None;
    }
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// The same, never refusing: a malformed escape stays as it is written, what is not UTF-8 becomes U+FFFD.
pub(crate) fn percent_decode_lossy(raw: &[u8]) -> String {
    lossy(&unescape(raw).0).into_owned()
}

/// The bytes, and whether every escape was well formed.
fn unescape(raw: &[u8]) -> (Cow<'_, [u8]>, bool) {
    if !raw.iter().any(|&byte| byte == b'%' || byte == b'+') {
        return (Cow::Borrowed(raw), true);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut whole = true;
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        at += 1;
        out.push(match byte {
            b'+' => b' ',
            b'%' => match (hex(raw.get(at)), hex(raw.get(at + 1))) {
                (Some(high), Some(low)) => {
                    at += 2;
                    high << 4 | low
                }
                _ => {
                    whole = false;
                    b'%'
                }
            },
            other => other,
        });
    }
    (Cow::Owned(out), whole)
}

fn hex(digit: Option<&u8>) -> Option<u8> {
    digit.and_then(|&digit| char::from(digit).to_digit(16)).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d20_controls_and_direction_marks_become_one_space() {
        assert_eq!(clean("My\tBot\r\n2", 80), "My Bot 2");
        assert_eq!(clean("\u{1b}[31mred\u{1b}[0m", 80), "[31mred [0m");
        assert_eq!(clean("a\u{202e}b\u{9b}c\u{2066}", 80), "a b c");
        assert_eq!(clean("\u{7f} x \0", 80), "x");
        assert_eq!(clean(" \t\n", 80), "");
    }

    #[test]
    fn d20_length_is_counted_in_utf16_units_and_no_pair_is_cut() {
        assert_eq!(clean(&"\u{1f600}".repeat(80), 80), "\u{1f600}".repeat(40));
        assert_eq!(clean("a\u{1f600}", 2), "a");
        assert_eq!(utf16_len("a\u{1f600}\u{e9}"), 4);
    }

    #[test]
    fn what_is_no_text_becomes_one_replacement_character() {
        assert_eq!(lossy(b"a\xed\xa0\x80b\xff"), "a\u{fffd}b\u{fffd}");
        assert_eq!(lossy("\u{e9}".as_bytes()), "\u{e9}");
    }

    #[test]
    fn percent_escapes_are_read_strictly_or_left_standing() {
        assert_eq!(percent_decode(b"a%26b+c").as_deref(), Some("a&b c"));
        for raw in [&b"%zz"[..], b"%", b"%4", b"%ff", b"\xff"] {
            assert_eq!(percent_decode(raw), None, "{raw:?}");
        }
        assert_eq!(percent_decode_lossy(b"%zz+%ff%41"), "%zz \u{fffd}A");
    }
}
