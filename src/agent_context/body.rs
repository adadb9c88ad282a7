//! Agent context in a JSON body: the member is cut out by byte range, everything else is copied as it is.
//!
//! The member goes whatever its type; its value counts only where it is an object. Where it stands more than once,
//! every one goes and the last counts, as readers of JSON have it. Depth costs no stack.

use std::ops::Range;

use memchr::memmem;

use super::{FIELDS, Given, MEMBER, Raw};
use crate::json::scan::{self, Kind};
use crate::json::{Fault, Splice};
use crate::text;

/// What came of looking into a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyCut {
    /// No such member in a JSON object, or nothing in the text that could be one: the bytes stay.
    Absent,
    /// Not a JSON object that every reader reads alike: the bytes stay.
    Unreadable,
    /// The body without the member, and what it said.
    Cut(Vec<u8>, Raw),
}

impl BodyCut {
    #[cfg(test)]
    /// The cut alone, for callers that treat the other two alike.
    pub fn into_option(self) -> Option<(Vec<u8>, Raw)> {
        match self {
            BodyCut::Cut(body, raw) => Some((body, raw)),
            BodyCut::Absent | BodyCut::Unreadable => None,
        }
    }
}

/// Cuts the member out of a JSON object. Whether the body may be edited at all (media type, encoding, signatures,
/// size) is the caller's to know.
pub(crate) fn cut_body(body: &[u8]) -> BodyCut {
    if !may_name_it(body) {
        return BodyCut::Absent;
    }
    match find(body) {
        Ok(found) if found.cuts.is_empty() => BodyCut::Absent,
        Ok(found) => {
            let mut splice = Splice::new(body);
            for range in found.cuts {
                splice.cut(range);
            }
            BodyCut::Cut(splice.finish(), found.value.map(|value| read(body, &value)).unwrap_or_default())
        }
        Err(_) => BodyCut::Unreadable,
    }
}

/// Whether the text can hold the key at all: spelled out, or with an escape somewhere. Most bodies cannot, and
/// need no check of their JSON.
fn may_name_it(body: &[u8]) -> bool {
    memmem::find(body, MEMBER.as_bytes()).is_some() || memmem::find(body, br"\u").is_some()
}

struct Found {
    cuts: Vec<Range<usize>>,
    /// The last member's value.
    value: Option<Range<usize>>,
}

/// Checks the whole text and finds what to cut, each member together with one comma.
fn find(body: &[u8]) -> Result<Found, Fault> {
    if simdutf8::basic::from_utf8(body).is_err() {
        return Err(Fault::Invalid);
    }
    let mut found = Found { cuts: Vec::new(), value: None };
    // End of the value before, once a member stays; start of the members cut before any stays.
    let mut kept_end: Option<usize> = None;
    let mut leading: Option<Range<usize>> = None;
    let close = scan::members(body, scan::skip_space(body, 0), |key, value| {
        let start = key.start - 1;
        if scan::key_is(&body[key], MEMBER) {
            found.value = Some(value.clone());
            match kept_end.as_mut() {
                Some(end) => {
                    found.cuts.push(*end..value.end);
                    *end = value.end;
                }
                None => leading = Some(leading.as_ref().map_or(start, |range| range.start)..value.end),
            }
            return;
        }
        if let Some(range) = leading.take() {
            found.cuts.push(range.start..start);
        }
        kept_end = Some(value.end);
    })?;
    found.cuts.extend(leading);
    if scan::skip_space(body, close + 1) != body.len() {
        return Err(Fault::Invalid);
    }
    Ok(found)
}

/// The fields of the member's value. Of a repeated field the last counts.
fn read(body: &[u8], value: &Range<usize>) -> Raw {
    let mut raw = Raw::default();
    // Not an object: no fields.
    let _ = scan::members(body, value.start, |key, value| {
        if let Some(field) = FIELDS.iter().position(|name| scan::key_is(&body[key.clone()], name)) {
            raw.0[field] = given(body, &value);
        }
    });
    raw
}

fn given(body: &[u8], value: &Range<usize>) -> Given {
    if let Some(text) = text_at(body, value) {
        return Given::Text(text);
    }
    if scan::kind(body, value.start) != Kind::Array {
        return Given::NotText;
    }
    let mut first = None;
    let mut seen = false;
    let _ = scan::elements(body, value.start, |element| {
        if !seen {
            first = text_at(body, &element);
        }
        seen = true;
    });
    first.map_or(Given::NotText, Given::FirstOf)
}

fn text_at(body: &[u8], value: &Range<usize>) -> Option<String> {
    scan::text_of(body, value).map(|text| text::lossy(&text).into_owned())
}
