//! JSON string escapes: reading them, counting UTF-16 units, writing ASCII.

use std::borrow::Cow;

/// The bytes a raw string (inside its quotes, already checked) stands for.
/// A lone surrogate becomes its three-byte generalised form, which is not UTF-8 and so equals no text.
pub(crate) fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        let short = match raw.get(at + 1) {
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let (code, used) = code_point(&raw[at..]);
                push_code_point(&mut out, code);
                at += used;
                continue;
            }
            Some(&other) => other,
            None => break,
        };
        out.push(short);
        at += 2;
    }
    Cow::Owned(out)
}

/// Length of a raw string in UTF-16 code units, the unit in which clients and facilitators count.
pub(crate) fn utf16_len(raw: &[u8]) -> usize {
    let mut units = 0;
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        let (bytes, counted) = match byte {
            b'\\' if raw.get(at + 1) == Some(&b'u') => (6, 1),
            b'\\' => (2, 1),
            0x80..=0xBF => (1, 0),
            0xF0.. => (1, 2),
            _ => (1, 1),
        };
        at += bytes;
        units += counted;
    }
    units
}

/// Whether the text a raw string stands for ends in white space.
pub(crate) fn ends_in_white_space(raw: &[u8]) -> bool {
    let text = unescape(raw);
    std::str::from_utf8(last_char(&text)).is_ok_and(|last| last.ends_with(char::is_whitespace))
}

/// Appends `text` as a JSON string with quotes, ASCII only.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for unit in text.chars() {
        match unit {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            ' '..='~' => out.push(unit as u8),
            _ => {
                let mut pair = [0u16; 2];
                for code in unit.encode_utf16(&mut pair) {
                    out.extend_from_slice(format!("\\u{code:04x}").as_bytes());
                }
            }
        }
    }
    out.push(b'"');
}

/// The last character's bytes, as far as they are whole.
fn last_char(text: &[u8]) -> &[u8] {
    let mut start = text.len().saturating_sub(1);
    while start > 0 && text[start] & 0xC0 == 0x80 {
        start -= 1;
    }
    &text[start..]
}

/// Reads `\uXXXX`, or a pair of them, at the start of `raw`: the code point and the bytes it took.
fn code_point(raw: &[u8]) -> (u32, usize) {
    let first = hex4(raw.get(2..6));
    if (0xD800..0xDC00).contains(&first) && raw.get(6..8) == Some(b"\\u") {
        let second = hex4(raw.get(8..12));
        if (0xDC00..0xE000).contains(&second) {
            return (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12);
        }
    }
    (first, 6)
}

fn hex4(digits: Option<&[u8]>) -> u32 {
    digits.unwrap_or_default().iter().fold(0, |sum, &digit| sum * 16 + char::from(digit).to_digit(16).unwrap_or(0))
}

fn push_code_point(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(found) => out.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend_from_slice(&[
            0xE0 | (code >> 12) as u8,
            0x80 | (code >> 6 & 0x3F) as u8,
            0x80 | (code & 0x3F) as u8,
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_their_text() {
        assert_eq!(&*unescape(br"a\/b\u00e9\ud83d\ude00\n\\"), "a/b\u{e9}\u{1f600}\n\\".as_bytes());
        assert!(std::str::from_utf8(&unescape(br"\ud800x")).is_err());
    }

    #[test]
    fn length_counts_utf16_units_of_raw_and_escaped_text_alike() {
        assert_eq!(utf16_len("\u{1f600}\u{e9}\u{4e00}a".as_bytes()), 5);
        assert_eq!(utf16_len(br"\ud83d\ude00\u00e9\n\/"), 5);
    }

    #[test]
    fn white_space_at_the_end_is_seen_through_escapes() {
        for raw in ["a ", r"a\n", r"a\u0020", "a\u{a0}", r"a\u3000"] {
            assert!(ends_in_white_space(raw.as_bytes()), "{raw:?}");
        }
        for raw in ["", "a", r"a\\n", r"\ud800", "\u{e9}"] {
            assert!(!ends_in_white_space(raw.as_bytes()), "{raw:?}");
        }
    }

    #[test]
    fn written_text_is_ascii_and_reads_back() {
        let mut out = Vec::new();
        write_string(&mut out, "a\"\\\u{1}\u{e9}\u{1f600}");
        assert_eq!(out, br#""a\"\\\u0001\u00e9\ud83d\ude00""#);
    }
}
