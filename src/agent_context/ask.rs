//! Asking for agent context: the extension of a challenge, and the 400 of the required mode.

use super::{Given, LIMITS, Raw, normalise};
use crate::feedback::route_texts;
use crate::json::escape::write_string;
use crate::text;

/// The name of the challenge extension.
pub(crate) const EXTENSION_NAME: &str = "forge-agent-context";

/// The value of that extension, in the modes that ask: `required` says that a payment without context is refused.
pub(crate) fn extension(required: bool, search_query: bool) -> Vec<u8> {
    let mut out = br#"{"info":{"agent_context":"#.to_vec();
    write_string(&mut out, &route_texts::context_ask(required, search_query));
    out.extend_from_slice(if required { br#","optional":false}}"# } else { br#","optional":true}}"# });
    out
}

/// What is wrong with the fields, one text each. A field is right where it is a text of its own (not in an array),
/// not blank, within its length and free of control characters; a copied placeholder is right in shape.
#[cfg(test)]
pub(crate) fn issues(raw: &Raw, search_query: bool) -> Vec<&'static str> {
    required(search_query).filter(|&(field, _)| !is_well_formed(raw, field)).map(|(_, text)| text).collect()
}

/// The JSON of the 400 that the required mode gives; `None` where the request may go on. A copied placeholder counts as
/// missing here, whatever its shape.
pub(crate) fn missing_answer(raw: &Raw, search_query: bool) -> Option<Vec<u8>> {
    let known = normalise(raw, search_query);
    let is_known = |field| if field == TYPE { known.agent_type.is_some() } else { known.search_query.is_some() };
    let found: Vec<&str> = required(search_query)
        .filter(|&(field, _)| !is_well_formed(raw, field) || !is_known(field))
        .map(|(_, text)| text)
        .collect();
    if found.is_empty() {
        return None;
    }
    let mut out = br#"{"error":"agent_context_required","issues":["#.to_vec();
    for (index, text) in found.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(&mut out, text);
    }
    out.extend_from_slice(br#"],"message":"#);
    write_string(&mut out, &route_texts::context_ask(true, search_query));
    out.push(b'}');
    Some(out)
}

/// The JSON of the 400 for a body that the required mode needs to read and cannot: not JSON, or over the limit.
pub(crate) fn invalid_answer() -> Vec<u8> {
    let mut out = br#"{"error":"agent_context_invalid","message":"#.to_vec();
    write_string(&mut out, route_texts::CONTEXT_UNREADABLE);
    out.push(b'}');
    out
}

/// The fields that the required mode wants, with what it says when one is not right.
fn required(search_query: bool) -> impl Iterator<Item = (usize, &'static str)> {
    let fields = [(TYPE, route_texts::AGENT_TYPE_ISSUE), (SEARCH, route_texts::SEARCH_QUERY_ISSUE)];
    fields.into_iter().take(if search_query { 2 } else { 1 })
}

fn is_well_formed(raw: &Raw, field: usize) -> bool {
    let Given::Text(text) = &raw.0[field] else { return false };
    let trimmed = text.trim();
    !trimmed.is_empty() && text::utf16_len(trimmed) <= LIMITS[field] && !trimmed.chars().any(char::is_control)
}

const TYPE: usize = 0;
const SEARCH: usize = 3;
