//! A rating as an agent sends it: read from a query or a JSON body, checked, and written for the backend.
//!
//! Whether the id is real is not asked here; see [`super::routes::admit`].

use std::ops::Range;

use super::route_texts::{ISSUES, OUTCOMES};
use crate::json::escape::write_string;
use crate::json::scan::{self, Kind};
use crate::text;

/// Largest body of a rating, in bytes.
pub(crate) const BODY_LIMIT: usize = 16 * 1024;
/// Longest note, in UTF-16 units, without the white space around it.
pub(crate) const NOTE_LIMIT: usize = 280;

/// A rating whose fields are in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    /// As it was sent, not yet verified.
    pub feedback_id: String,
    pub outcome: &'static str,
    pub issue: Option<&'static str>,
    pub note: Option<String>,
}

/// What is wrong with a rating, in the order in which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    BodyTooLarge,
    InvalidJsonBody,
    MissingFeedbackId,
    MissingOutcome,
    InvalidOutcome,
    InvalidIssue,
    NoteRequiresPost,
    InvalidNote,
}

impl Fault {
    /// The word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Fault::BodyTooLarge => "body_too_large",
            Fault::InvalidJsonBody => "invalid_json_body",
            Fault::MissingFeedbackId => "missing_feedback_id",
            Fault::MissingOutcome => "missing_outcome",
            Fault::InvalidOutcome => "invalid_outcome",
            Fault::InvalidIssue => "invalid_issue",
            Fault::NoteRequiresPost => "note_requires_post",
            Fault::InvalidNote => "invalid_note",
        }
    }
}

/// How a rating came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Get,
    Post,
}

/// Reads a raw query. The first value of a name counts, a blank one too; a `+` is a space.
pub(crate) fn from_query(query: &[u8]) -> Result<Submission, Fault> {
    let mut sent = Sent::default();
    for segment in query.split(|&byte| byte == b'&') {
        let equals = segment.iter().position(|&byte| byte == b'=').unwrap_or(segment.len());
        let name = text::percent_decode_lossy(&segment[..equals]);
        if let Some(slot) = sent.slot(&name)
            && *slot == Field::Absent
        {
            *slot = Field::Text(text::percent_decode_lossy(segment.get(equals + 1..).unwrap_or_default()));
        }
    }
    sent.check(Via::Get)
}

/// Reads a JSON body, whatever media type it claims. Of a repeated member the last counts.
pub(crate) fn from_body(body: &[u8]) -> Result<Submission, Fault> {
    if body.len() > BODY_LIMIT {
        return Err(Fault::BodyTooLarge);
    }
    if scan::document(body, []).is_err() || is_deeper_than(body, DEPTH_LIMIT) {
        return Err(Fault::InvalidJsonBody);
    }
    let mut sent = Sent::default();
    let read = scan::members(body, scan::skip_space(body, 0), |key, value| {
        let name = crate::json::escape::unescape(&body[key]);
        if let Some(slot) = std::str::from_utf8(&name).ok().and_then(|name| sent.slot(name)) {
            *slot = field(body, &value);
        }
    });
    read.map_err(|_| Fault::InvalidJsonBody)?;
    sent.check(Via::Post)
}

impl Submission {
    /// The body of POST /feedback at the backend. `request_headers` is the JSON object of the captured headers, empty
    /// where there are none.
    pub fn forward(&self, via: Via, user_agent: Option<&[u8]>, request_headers: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(br#"{"feedback_id":"#);
        write_string(&mut out, &self.feedback_id);
        out.extend_from_slice(br#","outcome":"#);
        write_string(&mut out, self.outcome);
        put_optional(&mut out, "issue", self.issue);
        put_optional(&mut out, "note", self.note.as_deref());
        put_optional(&mut out, "via", Some(if via == Via::Get { "GET" } else { "POST" }));
        let user_agent = user_agent.map(|bytes| text::clean_bytes(bytes, USER_AGENT_LIMIT).into_owned());
        put_optional(&mut out, "user_agent", user_agent.as_deref().filter(|name| !name.is_empty()));
        if !request_headers.is_empty() {
            out.extend_from_slice(br#","request_headers":"#);
            out.extend_from_slice(request_headers);
        }
        out.push(b'}');
        out
    }
}

/// What came under one name.
#[derive(Debug, Default, PartialEq, Eq)]
enum Field {
    #[default]
    Absent,
    Text(String),
    NotText,
}

impl Field {
    /// Absent, null and the empty text are the same.
    fn is_blank(&self) -> bool {
        matches!(self, Field::Absent) || *self == Field::Text(String::new())
    }

    /// The one of `known` that this is.
    fn known<const N: usize>(&self, known: &[(&'static str, &str); N]) -> Option<&'static str> {
        let Field::Text(text) = self else { return None };
        known.iter().map(|&(name, _)| name).find(|name| name == text)
    }
}

#[derive(Default)]
struct Sent {
    feedback_id: Field,
    outcome: Field,
    issue: Field,
    note: Field,
}

impl Sent {
    fn slot(&mut self, name: &str) -> Option<&mut Field> {
        match name {
            "feedback_id" => Some(&mut self.feedback_id),
            "outcome" => Some(&mut self.outcome),
            "issue" => Some(&mut self.issue),
            "note" => Some(&mut self.note),
            _ => None,
        }
    }

    fn check(self, via: Via) -> Result<Submission, Fault> {
        let feedback_id = match self.feedback_id {
            Field::Text(text) if !text.is_empty() => text,
            _ => return Err(Fault::MissingFeedbackId),
        };
        if self.outcome.is_blank() {
            return Err(Fault::MissingOutcome);
        }
        let outcome = self.outcome.known(&OUTCOMES).ok_or(Fault::InvalidOutcome)?;
        let issue =
            if self.issue.is_blank() { None } else { Some(self.issue.known(&ISSUES).ok_or(Fault::InvalidIssue)?) };
        if !self.note.is_blank() && via == Via::Get {
            return Err(Fault::NoteRequiresPost);
        }
        let note = match self.note {
            Field::Absent => None,
            Field::NotText => return Err(Fault::InvalidNote),
            Field::Text(text) => match text.trim() {
                "" => None,
                note if text::utf16_len(note) > NOTE_LIMIT => return Err(Fault::InvalidNote),
                note => Some(note.to_owned()),
            },
        };
        Ok(Submission { feedback_id, outcome, issue, note })
    }
}

fn field(body: &[u8], value: &Range<usize>) -> Field {
    match scan::kind(body, value.start) {
        Kind::Null => Field::Absent,
        Kind::Text => {
            scan::text_of(body, value).map_or(Field::NotText, |text| Field::Text(text::lossy(&text).into_owned()))
        }
        _ => Field::NotText,
    }
}

/// Whether arrays and objects of a valid JSON text nest deeper than `limit`. No reader of a rating needs that, and
/// a backend behind us might recurse.
fn is_deeper_than(body: &[u8], limit: usize) -> bool {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    body.iter().any(|&byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > limit
    })
}

fn put_optional(out: &mut Vec<u8>, name: &str, value: Option<&str>) {
    out.push(b',');
    write_string(out, name);
    out.push(b':');
    match value {
        Some(text) => write_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

/// UTF-16 units kept of a user agent.
const USER_AGENT_LIMIT: usize = 512;
/// Deepest nesting of a rating's body.
const DEPTH_LIMIT: usize = 32;

#[cfg(test)]
#[path = "submission_tests.rs"]
mod tests;
