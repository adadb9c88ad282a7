//! The full check of a JSON text, and the byte ranges of the members a caller asks for.
//!
//! [`document`] refuses everything RFC 8259 refuses (and a byte order mark), so an edit never meets text
//! that another parser would read differently. Values are skipped by serde_json's iterative path: no depth
//! limit, no recursion, lone surrogate escapes pass. Keys are walked here, because only a walker knows where they stand.
//!
//! Not done on purpose: no member list is built. A caller names what it looks for; a megabyte of small
//! members costs no memory.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::escape;

/// Why a text is not the JSON that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not UTF-8, or not RFC 8259 JSON.
    Invalid,
    /// JSON, but the top level (or the value asked about) is not of the kind that was asked for.
    Kind,
}

/// What stands under a name in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Absent,
    /// The value's byte range.
    One(Range<usize>),
    /// The name stands there more than once: readers disagree about which counts.
    Repeated,
}

impl Slot {
    fn add(&mut self, value: Range<usize>) {
        *self = match self {
            Slot::Absent => Slot::One(value),
            _ => Slot::Repeated,
        };
    }
}

/// The members of one object that were asked for, and where the object ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members<const N: usize> {
    pub slots: [Slot; N],
    /// Position of the closing brace: the place for a new last member.
    pub close: usize,
    /// Whether the object has no members at all, so that a new one needs no comma.
    pub empty: bool,
}

/// The kind of a value, told by its first byte (in text that has passed [`document`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    Text,
    Number,
    True,
    False,
    Null,
}

/// Checks the whole text and finds `names` among the members of its top-level object.
pub(crate) fn document<const N: usize>(text: &[u8], names: [&str; N]) -> Result<Members<N>, Fault> {
    if simdutf8::basic::from_utf8(text).is_err() {
        return Err(Fault::Invalid);
    }
    let start = skip_space(text, 0);
    if text.get(start) != Some(&b'{') {
        return Err(if is_valid(text) { Fault::Kind } else { Fault::Invalid });
    }
    let members = object(text, start, names)?;
    if skip_space(text, members.close + 1) != text.len() {
        return Err(Fault::Invalid);
    }
    Ok(members)
}

/// Finds `names` among the members of the object whose brace stands at `start`.
pub(crate) fn object<const N: usize>(text: &[u8], start: usize, names: [&str; N]) -> Result<Members<N>, Fault> {
    let mut slots = [const { Slot::Absent }; N];
    let mut empty = true;
    let close = members(text, start, |key, value| {
        empty = false;
        if let Some(index) = names.iter().position(|name| key_is(&text[key.clone()], name)) {
            slots[index].add(value);
        }
    })?;
    Ok(Members { slots, close, empty })
}

/// Calls `each` with the ranges of every key (inside its quotes) and value of the object at `start`;
/// returns the position of the closing brace.
pub(crate) fn members(
    text: &[u8],
    start: usize,
    mut each: impl FnMut(Range<usize>, Range<usize>),
) -> Result<usize, Fault> {
    if text.get(start) != Some(&b'{') {
        return Err(Fault::Kind);
    }
    let mut at = skip_space(text, start + 1);
    if text.get(at) == Some(&b'}') {
        return Ok(at);
    }
    loop {
        let key = string(text, at)?;
        at = skip_space(text, key.end + 1);
        if text.get(at) != Some(&b':') {
            return Err(Fault::Invalid);
        }
        let value = value(text, skip_space(text, at + 1))?;
        at = skip_space(text, value.end);
        each(key, value);
        match text.get(at) {
            Some(b',') => at = skip_space(text, at + 1),
            Some(b'}') => return Ok(at),
            _ => return Err(Fault::Invalid),
        }
    }
}

/// Calls `each` with the range of every element of the array at `start`; returns the position of its `]`.
pub(crate) fn elements(text: &[u8], start: usize, mut each: impl FnMut(Range<usize>)) -> Result<usize, Fault> {
    if text.get(start) != Some(&b'[') {
        return Err(Fault::Kind);
    }
    let mut at = skip_space(text, start + 1);
    if text.get(at) == Some(&b']') {
        return Ok(at);
    }
    loop {
        let element = value(text, at)?;
        at = skip_space(text, element.end);
        each(element);
        match text.get(at) {
            Some(b',') => at = skip_space(text, at + 1),
            Some(b']') => return Ok(at),
            _ => return Err(Fault::Invalid),
        }
    }
}

/// The kind of the value that begins at `start`.
pub(crate) fn kind(text: &[u8], start: usize) -> Kind {
    match text.get(start) {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::Text,
        Some(b't') => Kind::True,
        Some(b'f') => Kind::False,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// The decoded text of the string value at `range` (quotes included), `None` when it is not a string.
/// A lone surrogate comes out as three bytes that no UTF-8 text holds, so it equals nothing.
pub(crate) fn text_of<'t>(text: &'t [u8], range: &Range<usize>) -> Option<Cow<'t, [u8]>> {
    if kind(text, range.start) != Kind::Text {
        return None;
    }
    text.get(range.start + 1..range.end - 1).map(escape::unescape)
}

/// Whether the raw key (inside its quotes) reads `name`.
pub(crate) fn key_is(raw: &[u8], name: &str) -> bool {
    // An escape is longer than what it stands for, so a raw key of the same length or less has none that matters.
    raw == name.as_bytes()
        || (raw.len() > name.len() && raw.contains(&b'\\') && *escape::unescape(raw) == *name.as_bytes())
}

/// Whether the text is one valid JSON value of any kind.
pub(crate) fn is_valid(text: &[u8]) -> bool {
    if simdutf8::basic::from_utf8(text).is_err() {
        return false;
    }
    match value(text, skip_space(text, 0)) {
        Ok(whole) => skip_space(text, whole.end) == text.len(),
        Err(_) => false,
    }
}

/// The range of the string at `at`, inside its quotes.
fn string(text: &[u8], at: usize) -> Result<Range<usize>, Fault> {
    if text.get(at) != Some(&b'"') {
        return Err(Fault::Invalid);
    }
    let start = at + 1;
    let mut at = start;
    loop {
        at = plain_end(text, at);
        match text.get(at) {
            Some(b'"') => return Ok(start..at),
            Some(b'\\') => match text.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                Some(b'u') if text.get(at + 2..at + 6).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => {
                    at += 6
                }
                _ => return Err(Fault::Invalid),
            },
            Some(0x20..) => at += 1,
            _ => return Err(Fault::Invalid),
        }
    }
}

/// The range of the value at `at`, skipped without recursion.
fn value(text: &[u8], at: usize) -> Result<Range<usize>, Fault> {
    // Strings, numbers and small words are most of a document; they need no parser of their own.
    match text.get(at) {
        Some(b'"') => return string(text, at).map(|inner| at..inner.end + 1),
        Some(b'-' | b'0'..=b'9') => return number(text, at).map(|end| at..end),
        Some(b't') if text[at..].starts_with(b"true") => return Ok(at..at + 4),
        Some(b'f') if text[at..].starts_with(b"false") => return Ok(at..at + 5),
        Some(b'n') if text[at..].starts_with(b"null") => return Ok(at..at + 4),
        None => return Err(Fault::Invalid),
        _ => {}
    }
    let mut stream = serde_json::Deserializer::from_slice(&text[at..]).into_iter::<IgnoredAny>();
    match stream.next() {
        Some(Ok(_)) => Ok(at..at + stream.byte_offset()),
        _ => Err(Fault::Invalid),
    }
}

/// Where a string stops being plain: the first quote, backslash or control character at or after `at`, or up to
/// seven bytes before the end of the text. Eight bytes at a time.
fn plain_end(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // The lowest high bit set is always a true one; borrows can only set bits above it.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let stops = (quote | backslash | below(word, 0x20)) & HIGH;
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at
}

/// The end of the number at `at` (RFC 8259 section 6).
fn number(text: &[u8], at: usize) -> Result<usize, Fault> {
    let mut at = at + usize::from(text.get(at) == Some(&b'-'));
    at = match text.get(at) {
        Some(b'0') => at + 1,
        _ => digits(text, at)?,
    };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = digits(text, at)?;
    }
    Ok(at)
}

/// The end of a run of digits, which has at least one.
fn digits(text: &[u8], start: usize) -> Result<usize, Fault> {
    let mut at = start;
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    if at == start { Err(Fault::Invalid) } else { Ok(at) }
}

pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
