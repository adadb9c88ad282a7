//! Agent context in the query: taken out of the raw bytes, the other parameters left exactly as they stand.

use std::borrow::Cow;

use super::{Given, Raw};
use crate::text;

/// Splits a raw query (without its `?`) into what the handler gets and what the agent said. The first value
/// of a name counts; every parameter of the name goes. A parameter that does not decode stays. `own` are names that
/// the merchant's document declares as its own; those stay too.
pub(crate) fn take_query<'q>(query: &'q [u8], own: &[&str]) -> (Cow<'q, [u8]>, Raw) {
    let mut raw = Raw::default();
    // The ordinary query holds nothing of ours: it is told by the first bytes of its parameters and not copied.
    let Some(first) = segments(query).find_map(|(at, segment)| ours(segment, own).map(|_| at)) else {
        return (Cow::Borrowed(query), raw);
    };
    let mut kept = Vec::with_capacity(query.len());
    let mut kept_any = false;
    for (at, segment) in segments(query) {
        if let Some((field, value)) = (at >= first).then(|| ours(segment, own)).flatten() {
            if raw.0[field] == Given::Nothing {
                raw.0[field] = Given::Text(value.into_owned());
            }
            continue;
        }
        if kept_any {
            kept.push(b'&');
        }
        kept.extend_from_slice(segment);
        kept_any = true;
    }
    (Cow::Owned(kept), raw)
}

/// The same for a whole request target; a query emptied by the cut loses its `?`. `None`: nothing was there.
pub(crate) fn take_target(target: &[u8], own: &[&str]) -> Option<(Vec<u8>, Raw)> {
    let mark = target.iter().position(|&byte| byte == b'?')?;
    let (Cow::Owned(kept), raw) = take_query(&target[mark + 1..], own) else { return None };
    let mut cut = target[..mark].to_vec();
    if !kept.is_empty() {
        cut.push(b'?');
        cut.extend_from_slice(&kept);
    }
    Some((cut, raw))
}

/// Which field a parameter fills, and its decoded value; `None` where it is not ours.
fn ours<'s>(segment: &'s [u8], own: &[&str]) -> Option<(usize, Cow<'s, str>)> {
    if !matches!(segment.first(), Some(b'a' | b'%')) {
        return None;
    }
    let equals = segment.iter().position(|&byte| byte == b'=').unwrap_or(segment.len());
    let (name, value) = (&segment[..equals], segment.get(equals + 1..).unwrap_or_default());
    // Longest name, each character as a percent escape.
    if name.len() < SHORTEST || name.len() > LONGEST * 3 {
        return None;
    }
    let decoded = if name.contains(&b'%') { text::percent_decode(name)? } else { as_ascii(name)? };
    let field = PARAMETERS.iter().position(|parameter| *parameter == decoded)?;
    if own.contains(&PARAMETERS[field]) {
        return None;
    }
    Some((field, text::percent_decode(value)?))
}

/// A name without escapes that can be one of ours.
fn as_ascii(name: &[u8]) -> Option<Cow<'_, str>> {
    if !name.starts_with(b"agent_") {
        return None;
    }
    std::str::from_utf8(name).ok().map(Cow::Borrowed)
}

/// The parts between ampersands, with where they begin.
fn segments(query: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    query.split(|&byte| byte == b'&').map(move |segment| {
        let start = at;
        at += segment.len() + 1;
        (start, segment)
    })
}

/// Parameter names in the order of [`super::FIELDS`].
const PARAMETERS: [&str; 4] = ["agent_type", "agent_type_other", "agent_client", "agent_search_query"];
const SHORTEST: usize = 10;
const LONGEST: usize = 18;
