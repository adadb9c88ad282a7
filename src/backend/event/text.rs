//! Any bytes as a JSON string that every reader takes: cut, cleaned, escaped.

/// A text as the engine finds it.
#[derive(Clone, Copy, Debug)]
pub enum Text<'a> {
    /// Bytes as they stood in a header or a path.
    Plain(&'a [u8]),
    /// What stood between the quotes of a JSON string, escapes and all.
    InJson(&'a [u8]),
}

impl Default for Text<'_> {
    fn default() -> Self {
        Text::Plain(b"")
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Plain(text.as_bytes())
    }
}

impl<'a> From<&'a [u8]> for Text<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Text::Plain(bytes)
    }
}

/// Writes `"…"` with at most `limit` characters of `text`.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &Text<'_>, limit: usize) {
    out.push(b'"');
    match text {
        Text::Plain(bytes) => write_plain(out, bytes, limit),
        Text::InJson(raw) => write_plain(out, unescaped(raw, limit).as_bytes(), limit),
    }
    out.push(b'"');
}

/// Writes `"name":`, after a comma unless the object starts here. Names are ours: nothing in them needs an escape.
pub(crate) fn write_key(out: &mut Vec<u8>, name: &str) {
    if !matches!(out.last(), None | Some(b'{')) {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn write_plain(out: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    let cut = &bytes[..bytes.len().min(limit)];
    if cut.iter().all(|byte| is_clean(*byte)) {
        return out.extend_from_slice(cut);
    }
    for character in String::from_utf8_lossy(enough(bytes, limit)).chars().take(limit) {
        write_character(out, character);
    }
}

/// Of the bytes, no more than `limit` characters can need.
fn enough(bytes: &[u8], limit: usize) -> &[u8] {
    &bytes[..bytes.len().min(limit.saturating_mul(4).saturating_add(4))]
}

fn is_clean(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'
}

fn write_character(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        character if character.is_control() => out.push(b' '),
        character => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// The text a JSON string stands for, at least its first `limit` characters. What cannot be decoded becomes U+FFFD.
fn unescaped(raw: &[u8], limit: usize) -> String {
    // The longest spelling of a character is a surrogate pair: 12 bytes.
    let raw = &raw[..raw.len().min(limit.saturating_mul(12).saturating_add(12))];
    let lossy = String::from_utf8_lossy(raw);
    let mut out = String::with_capacity(lossy.len());
    let mut rest = lossy.as_ref();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (character, length) = escape(&rest[at..]);
        out.push(character);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// The character the escape at the start of `text` stands for, and the bytes it takes.
fn escape(text: &str) -> (char, usize) {
    let bytes = text.as_bytes();
    let simple = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(mark @ (b'"' | b'\\' | b'/')) => char::from(*mark),
        Some(b'u') => return unicode_escape(bytes),
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn unicode_escape(bytes: &[u8]) -> (char, usize) {
    let Some(first) = unit(bytes, 0) else {
        return (char::REPLACEMENT_CHARACTER, 2);
    };
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    match unit(bytes, 6) {
        Some(second) if first < 0xdc00 && (0xdc00..0xe000).contains(&second) => {
            let joined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// The number of the `\uXXXX` that starts at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let hex = escape.strip_prefix(b"\\u")?;
    hex.iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}
