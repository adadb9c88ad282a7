//! The full check of a JSON text, and the byte ranges of the members a caller asks for.
//!
//! [`document`] refuses everything RFC 8259 refuses (and a byte order mark), so an edit never meets text
//! that another parser would read differently. Objects and arrays inside are skipped without recursion at any depth;
//! lone surrogate escapes pass. A differential test holds all of it to serde_json's IgnoredAny.
//!
//! Not done on purpose: no member list is built. A caller names what it looks for; a megabyte of small
//! members costs no memory.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use super::{escape, runs, skip};
pub(crate) use runs::space_end as skip_space;

/// Why a text is not the JSON that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not UTF-8, or not RFC 8259 JSON.
    Invalid,
    /// JSON, but the top level (or the value asked about) is not of the kind that was asked for.
    Kind,
}

/// What stands under a name in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Slot {
    #[default]
    Absent,
    /// The value's byte range.
    One(Range<usize>),
    /// The name stands there more than once: readers disagree about which counts.
    Repeated,
}

impl Slot {
    pub fn add(&mut self, value: Range<usize>) {
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
    /// How many members it has, of any name.
    pub count: usize,
}

impl<const N: usize> Members<N> {
    /// Whether the object has no members at all, so that a new one needs no comma.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// For [`object_with`]: keeps what an inner object's reading found, and says where that object ends.
    pub fn keep(found: Result<Self, Fault>, place: &mut Option<Self>) -> Option<Result<usize, Fault>> {
        Some(found.map(|members| place.insert(members).close + 1))
    }
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
    document_with(text, names, |_, _| None)
}

/// As [`document`], for a caller that looks into objects on the way, so that none is read twice: see [`object_with`].
pub(crate) fn document_with<const N: usize>(
    text: &[u8],
    names: [&str; N],
    inside: impl FnMut(usize, usize) -> Option<Result<usize, Fault>>,
) -> Result<Members<N>, Fault> {
    let mut slots = [const { Slot::Absent }; N];
    let end = whole(text, |start| named(text, start, names, inside, |index, value| slots[index].add(value)))?;
    Ok(Members { slots, close: end.close, count: end.count })
}

/// As [`document`], for a caller that wants no list: `met` is told which of the names stands there, and its value's
/// range. A body's members are looked for so, of which there are none nearly always.
pub(crate) fn document_each<const N: usize>(
    text: &[u8],
    names: [&str; N],
    met: impl FnMut(usize, Range<usize>),
) -> Result<End, Fault> {
    whole(text, |start| named(text, start, names, |_, _| None, met))
}

/// Checks all of the text but its top-level object, which `read` is given the start of.
fn whole(text: &[u8], read: impl FnOnce(usize) -> Result<End, Fault>) -> Result<End, Fault> {
    if !is_utf8(text) {
        return Err(Fault::Invalid);
    }
    let start = skip_space(text, 0);
    if text.get(start) != Some(&b'{') {
        return Err(if is_valid(text) { Fault::Kind } else { Fault::Invalid });
    }
    let end = read(start)?;
    if skip_space(text, end.close + 1) == text.len() { Ok(end) } else { Err(Fault::Invalid) }
}

/// Finds `names` among the members of the object whose brace stands at `start`.
pub(crate) fn object<const N: usize>(text: &[u8], start: usize, names: [&str; N]) -> Result<Members<N>, Fault> {
    object_with(text, start, names, |_, _| None)
}

/// As [`object`]; `inside` is told which of the names begins an object and where, and may read that object itself: it
/// gives the position after it. `None`: passed over as any value.
pub(crate) fn object_with<const N: usize>(
    text: &[u8],
    start: usize,
    names: [&str; N],
    inside: impl FnMut(usize, usize) -> Option<Result<usize, Fault>>,
) -> Result<Members<N>, Fault> {
    let mut slots = [const { Slot::Absent }; N];
    let end = named(text, start, names, inside, |index, value| slots[index].add(value))?;
    Ok(Members { slots, close: end.close, count: end.count })
}

/// Where an object ends, and how many members it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Position of the closing brace.
    pub close: usize,
    pub count: usize,
}

/// Passes the object at `start`; `inside` as for [`object_with`], `met` as for [`document_each`].
fn named<const N: usize>(
    text: &[u8],
    start: usize,
    names: [&str; N],
    mut inside: impl FnMut(usize, usize) -> Option<Result<usize, Fault>>,
    mut met: impl FnMut(usize, Range<usize>),
) -> Result<End, Fault> {
    let mut count = 0;
    // An escape is longer than what it stands for, so a key shorter than every name is none of them.
    let shortest = names.iter().map(|name| name.len()).min().unwrap_or(usize::MAX);
    let close = members_with(text, start, |key, at| {
        count += 1;
        if key.len() < shortest {
            return value(text, at);
        }
        let Some(index) = name_at(&text[key], &names) else { return value(text, at) };
        let read = if text.get(at) == Some(&b'{') { inside(index, at) } else { None };
        let end = read.unwrap_or_else(|| value(text, at))?;
        met(index, at..end);
        Ok(end)
    })?;
    Ok(End { close, count })
}

/// Calls `each` with the ranges of every key (inside its quotes) and value of the object at `start`;
/// returns the position of the closing brace.
pub(crate) fn members(
    text: &[u8],
    start: usize,
    mut each: impl FnMut(Range<usize>, Range<usize>),
) -> Result<usize, Fault> {
    members_with(text, start, |key, at| {
        let end = value(text, at)?;
        each(key, at..end);
        Ok(end)
    })
}

/// Calls `pass` with the range of every key and the position of its value, for the position after that value.
fn members_with(
    text: &[u8],
    start: usize,
    mut pass: impl FnMut(Range<usize>, usize) -> Result<usize, Fault>,
) -> Result<usize, Fault> {
    if text.get(start) != Some(&b'{') {
        return Err(Fault::Kind);
    }
    let mut at = skip_space(text, start + 1);
    if text.get(at) == Some(&b'}') {
        return Ok(at);
    }
    loop {
        let key_end = string(text, at)?;
        let key = at + 1..key_end - 1;
        at = skip_space(text, key_end);
        if text.get(at) != Some(&b':') {
            return Err(Fault::Invalid);
        }
        at = skip_space(text, pass(key, skip_space(text, at + 1))?);
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
        let end = value(text, at)?;
        each(at..end);
        at = skip_space(text, end);
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

/// Which of the names the raw key (inside its quotes) reads.
fn name_at(raw: &[u8], names: &[&str]) -> Option<usize> {
    let found = names.iter().position(|name| raw == name.as_bytes());
    if found.is_some() || !raw.contains(&b'\\') {
        return found;
    }
    let key = escape::unescape(raw);
    names.iter().position(|name| *key == *name.as_bytes())
}

/// Whether the raw key (inside its quotes) reads `name`.
pub(crate) fn key_is(raw: &[u8], name: &str) -> bool {
    // An escape is longer than what it stands for.
    match raw.len().cmp(&name.len()) {
        Ordering::Less => false,
        Ordering::Equal => raw == name.as_bytes(),
        Ordering::Greater => raw.contains(&b'\\') && *escape::unescape(raw) == *name.as_bytes(),
    }
}

/// Whether the text is one valid JSON value of any kind.
pub(crate) fn is_valid(text: &[u8]) -> bool {
    if !is_utf8(text) {
        return false;
    }
    match value(text, skip_space(text, 0)) {
        Ok(end) => skip_space(text, end) == text.len(),
        Err(_) => false,
    }
}

/// Most texts are ASCII, which is told faster where the text is short.
fn is_utf8(text: &[u8]) -> bool {
    (text.len() <= SHORT && runs::is_ascii(text)) || simdutf8::basic::from_utf8(text).is_ok()
}

/// The position after the closing quote of the string at `at`.
pub(super) fn string(text: &[u8], at: usize) -> Result<usize, Fault> {
    if text.get(at) != Some(&b'"') {
        return Err(Fault::Invalid);
    }
    let mut at = at + 1;
    loop {
        let (stop, byte) = runs::plain_end(text, at);
        at = match byte {
            Some(b'"') => return Ok(stop + 1),
            Some(b'\\') => escape_end(text, stop)?,
            Some(0x20..) => stop + 1,
            _ => return Err(Fault::Invalid),
        };
    }
}

/// The position after the escape whose backslash stands at `at`.
fn escape_end(text: &[u8], at: usize) -> Result<usize, Fault> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') if text.get(at + 2..at + 6).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => Ok(at + 6),
        _ => Err(Fault::Invalid),
    }
}

/// The position after the value at `at`, skipped without recursion.
fn value(text: &[u8], at: usize) -> Result<usize, Fault> {
    match text.get(at) {
        Some(b'"') => string(text, at),
        Some(b'-' | b'0'..=b'9') => number(text, at),
        Some(b'{' | b'[') => skip::container(text, at),
        _ => word(text, at),
    }
}

/// The end of the `true`, `false` or `null` at `at`.
pub(super) fn word(text: &[u8], at: usize) -> Result<usize, Fault> {
    let rest = text.get(at..).unwrap_or_default();
    for word in [&b"true"[..], b"false", b"null"] {
        if rest.starts_with(word) {
            return Ok(at + word.len());
        }
    }
    Err(Fault::Invalid)
}

/// The end of the number at `at` (RFC 8259 section 6).
pub(super) fn number(text: &[u8], at: usize) -> Result<usize, Fault> {
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
    let at = runs::digits_end(text, start);
    if at == start { Err(Fault::Invalid) } else { Ok(at) }
}

/// Bytes of a text for which the general check takes longer to get going than to run.
const SHORT: usize = 2_048;

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
