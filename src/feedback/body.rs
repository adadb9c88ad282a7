//! The ask in a paid answer's body: three members at the end of a JSON object, or two lines after a text.

use super::id::{self, FeedbackId};
use super::wording::{self, BODY_NAMES, Link, NESTED_NAME};
use crate::dialect::Found;
use crate::json::scan::{self, Slot};
use crate::skip::Skip;

/// Places among [`BODY_NAMES`].
const ID: usize = 0;
const RATE: usize = 2;

/// How the members stand in the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    #[default]
    Flat,
    /// All in one `forge_feedback` object.
    Nested,
}

/// What a JSON body has to say about ids of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// None of our names: members may be added before the brace at `close`.
    Free { close: usize, empty: bool },
    /// One of our names is there, with the id it carries if it looks like one.
    Taken(Option<FeedbackId>),
}

/// Whether the body has room for the members, and the id an inner layer may have put there.
pub(crate) fn standing(body: &[u8], layout: Layout, hint: bool) -> Found<Standing> {
    match layout {
        Layout::Flat => {
            let (mut id, mut taken) = (Slot::Absent, false);
            let end = scan::document_each(body, BODY_NAMES, |index, value| {
                taken |= hint || index != RATE;
                if index == ID {
                    id.add(value);
                }
            })?;
            Ok(if taken { Standing::Taken(id_at(body, &id)) } else { free(end.close, end.count) })
        }
        Layout::Nested => {
            let document = scan::document(body, [NESTED_NAME])?;
            Ok(match &document.slots[0] {
                Slot::Absent => free(document.close, document.count),
                Slot::One(range) => {
                    let inner = scan::object(body, range.start, [BODY_NAMES[ID]]);
                    Standing::Taken(inner.ok().and_then(|inner| id_at(body, &inner.slots[0])))
                }
                Slot::Repeated => Standing::Taken(None),
            })
        }
    }
}

fn free(close: usize, members: usize) -> Standing {
    Standing::Free { close, empty: members == 0 }
}

/// The id at a member that stands there once and is a text in the shape of one.
fn id_at(body: &[u8], slot: &Slot) -> Option<FeedbackId> {
    let Slot::One(range) = slot else { return None };
    id::parse(&scan::text_of(body, range)?)
}

/// What is put before the last brace of a body that [`standing`] found free; `empty`: the object has no members yet.
pub(crate) fn members(empty: bool, link: &Link, id: FeedbackId, layout: Layout, hint: bool) -> Vec<u8> {
    enrich(b"", (0, empty), link, id, layout, hint)
}

/// The whole of such a body, whose last brace stands at `close`, with the members in it: written once.
pub(crate) fn enrich(
    body: &[u8],
    (close, empty): (usize, bool),
    link: &Link,
    id: FeedbackId,
    layout: Layout,
    hint: bool,
) -> Vec<u8> {
    let members = link.body_members(hint);
    let mut out = Vec::with_capacity(body.len() + members.len() + LAYOUT_ROOM);
    out.extend_from_slice(&body[..close]);
    if !empty {
        out.push(b',');
    }
    match layout {
        Layout::Flat => members.write(&mut out, id),
        Layout::Nested => {
            for part in ["\"", NESTED_NAME, "\":{"] {
                out.extend_from_slice(part.as_bytes());
            }
            members.write(&mut out, id);
            out.push(b'}');
        }
    }
    match &body[close..] {
        // What nearly every body ends with, without a call for one byte.
        [brace] => out.push(*brace),
        rest => out.extend_from_slice(rest),
    }
    out
}

/// A comma, and the nested layout's name and braces.
const LAYOUT_ROOM: usize = 32;

/// What goes behind a text: a newline where it ends without one, then the trailer.
pub(crate) fn trailer(body: &[u8], link: &Link, id: FeedbackId) -> Found<Vec<u8>> {
    if body.is_empty() || simdutf8::basic::from_utf8(body).is_err() {
        return Err(Skip::BodyNotEditable);
    }
    let mut out = Vec::new();
    if !body.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.extend_from_slice(&wording::text_trailer(link, id.as_str()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose id the members of `body` carry; an error: the members may be added.
    fn carried(body: &str, layout: Layout, hint: bool) -> Result<Option<FeedbackId>, ()> {
        match standing(body.as_bytes(), layout, hint).expect("a JSON object") {
            Standing::Taken(id) => Ok(id),
            Standing::Free { .. } => Err(()),
        }
    }

    #[test]
    fn a_body_is_taken_by_a_name_that_we_would_add() {
        let id = id::parse(b"aqQMtjN9lCJnCAn54ZS7wQ");
        for (body, with_hint, without, inside) in [
            (r#"{"a":1}"#, Err(()), Err(()), None),
            (r#"{"feedback_id":"aqQMtjN9lCJnCAn54ZS7wQ"}"#, Ok(id), Ok(id), id),
            (r#"{"feedback_id":7}"#, Ok(None), Ok(None), None),
            // Readers disagree about which of two counts.
            (
                r#"{"feedback_id":"aqQMtjN9lCJnCAn54ZS7wQ","feedback_id":"aqQMtjN9lCJnCAn54ZS7wQ"}"#,
                Ok(None),
                Ok(None),
                None,
            ),
            (r#"{"feedback_url":"aqQMtjN9lCJnCAn54ZS7wQ"}"#, Ok(None), Ok(None), None),
            // Without the hint this name is not ours.
            (r#"{"rate_this_call":"aqQMtjN9lCJnCAn54ZS7wQ"}"#, Ok(None), Err(()), None),
        ] {
            assert_eq!(carried(body, Layout::Flat, true), with_hint, "{body}");
            assert_eq!(carried(body, Layout::Flat, false), without, "{body}");
            assert_eq!(carried(body, Layout::Nested, true), Err(()), "{body}");
            let nested = format!(r#"{{"forge_feedback":{body}}}"#);
            assert_eq!(carried(&nested, Layout::Flat, true), Err(()), "{nested}");
            assert_eq!(carried(&nested, Layout::Nested, true), Ok(inside), "{nested}");
        }
    }
}
