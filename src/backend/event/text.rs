//! Any bytes as a JSON string that every reader takes: cut, cleaned, escaped.

use std::borrow::Cow;

use crate::json::escape::unescape;
use crate::text::{is_control, lossy};

/// A text as the engine finds it.
#[derive(Clone, Copy, Debug)]
pub enum Text<'a> {
    /// Bytes as they stood in a header or a path.
    Plain(&'a [u8]),
    /// What stood between the quotes of a valid JSON string, escapes and all.
    InJson(&'a [u8]),
    /// A JSON string that [`write_text`] wrote, quotes and all: nothing is left to be cut or cleaned.
    Written(&'a [u8]),
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
    let bytes = match text {
        Text::Plain(bytes) => Cow::Borrowed(*bytes),
        Text::InJson(raw) => unescape(enough(raw, LONGEST_ESCAPE * limit)),
        Text::Written(json) => return out.extend_from_slice(json),
    };
    out.push(b'"');
    write_plain(out, &bytes, limit);
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
    // Without an early exit, so that it is done many bytes at a time.
    if cut.iter().fold(true, |clean, byte| clean & is_clean(*byte)) {
        return out.extend_from_slice(cut);
    }
    for character in lossy(enough(bytes, LONGEST_CHARACTER * limit)).chars().take(limit) {
        write_character(out, character);
    }
}

/// Of the bytes, no more than the kept characters can need; what is cut apart at the end is beyond them.
fn enough(bytes: &[u8], needed: usize) -> &[u8] {
    &bytes[..bytes.len().min(needed + LONGEST_ESCAPE)]
}

fn is_clean(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) & (byte != b'"') & (byte != b'\\')
}

fn write_character(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        character if is_control(character) => out.push(b' '),
        character => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

const LONGEST_CHARACTER: usize = 4;
/// A pair of surrogates: \uXXXX twice.
const LONGEST_ESCAPE: usize = 12;
