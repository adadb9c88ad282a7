//! Every text and schema that enrichment adds to a document, except what the [`Plan`](super::Plan) brings along
//! and what the other rooms say too.
//!
//! All of it is ASCII JSON without white space, in a spelling that Swagger 2.0 and OpenAPI 3.0 to 3.2 share;
//! where they differ the function takes the version.

use super::document::Version;
use super::plan::{BodyLayout, Context, Feedback};
use crate::feedback::route_texts::{ISSUES, OUTCOMES, PROTOCOL};
use crate::feedback::wording::{ID_HEADER, NESTED_NAME};
use crate::json::escape::write_string;

/// The members a paid body gains, as members of `properties`.
pub(crate) fn body_properties(feedback: &Feedback) -> String {
    let hint = if feedback.rate_hint { format!(",{RATE_THIS_CALL}") } else { String::new() };
    let flat = format!("{FEEDBACK_ID},{FEEDBACK_URL}{hint}");
    match feedback.body_layout {
        BodyLayout::Flat => flat,
        BodyLayout::Nested => format!("\"{NESTED_NAME}\":{{\"type\":\"object\",\"properties\":{{{flat}}}}}"),
    }
}

/// The response header, as a member of `headers`.
pub(crate) fn id_header(version: Version) -> String {
    format!("\"{ID_HEADER}\":{}", described_value(version, ID_HEADER_TEXT, ID_SCHEMA_MEMBERS))
}

/// `agent_context`, as a member of `properties`.
pub(crate) fn context_property(context: &Context) -> String {
    let member = |name, text| format!("\"{name}\":{{\"type\":\"string\",\"description\":{}}}", quoted(text));
    let mut members = vec![member("agent_type", AGENT_TYPE_TEXT)];
    if context.search_query {
        members.push(member("search_query", SEARCH_QUERY_TEXT));
    }
    format!(
        "\"agent_context\":{{\"type\":\"object\",\"description\":{},\"properties\":{{{}}}}}",
        quoted(&context.ask),
        members.join(",")
    )
}

/// The query parameters for a request without a JSON body: name and parameter object.
pub(crate) fn context_parameters(context: &Context, version: Version) -> Vec<(&'static str, String)> {
    let parameter = |name: &'static str, description: &str| {
        let value = described_value(version, description, "\"type\":\"string\"");
        let members = value.trim_start_matches('{');
        (
            name,
            format!(
                "{{\"name\":\"{name}\",\"in\":\"query\",\"required\":{},\"{CONTEXT_MARK}\":true,{members}",
                context.required
            ),
        )
    };
    let mut parameters = vec![parameter("agent_type", AGENT_TYPE_TEXT)];
    if context.search_query {
        parameters.push(parameter("agent_search_query", SEARCH_QUERY_TEXT));
    }
    parameters
}

/// `x-forge-feedback`, as a member of the document.
pub(crate) fn feedback_extension(feedback: &Feedback) -> String {
    let rate = format!("{}?feedback_id={{feedback_id}}&outcome={{outcome}}", feedback.rate_url);
    format!(
        "\"x-forge-feedback\":{{\"protocol\":\"{PROTOCOL}\",\"rate\":{},\"submit\":{},\"id_header\":\"{ID_HEADER}\",\"outcomes\":{},\"issues\":{}}}",
        quoted(&rate),
        quoted(feedback.submit_url()),
        names(&OUTCOMES),
        names(&ISSUES)
    )
}

/// `x-forge-agent-context`, as a member of a document without ratings.
pub(crate) fn context_extension(context: &Context) -> String {
    format!("\"{CONTEXT_MARK}\":{{\"ask\":{}}}", quoted(&context.ask))
}

/// Adds a description to a schema's members in the way the version writes headers and parameters.
pub(crate) fn described_value(version: Version, description: &str, schema_members: &str) -> String {
    let description = quoted(description);
    match version {
        Version::Swagger2 => format!("{{\"description\":{description},{schema_members}}}"),
        Version::OpenApi3 => format!("{{\"description\":{description},\"schema\":{{{schema_members}}}}}"),
    }
}

/// The names of a list of names and meanings, as a JSON array.
pub(crate) fn names(list: &[(&str, &str)]) -> String {
    let names: Vec<String> = list.iter().map(|(name, _)| quoted(name)).collect();
    format!("[{}]", names.join(","))
}

/// A JSON string with its quotes, ASCII only.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// Marks our own query parameters, so that a document that was enriched before is not taken for a merchant who owns them.
pub(crate) const CONTEXT_MARK: &str = "x-forge-agent-context";
pub(crate) const ID_SCHEMA_MEMBERS: &str = r#""type":"string","pattern":"^[A-Za-z0-9_-]{22}$""#;

const ID_HEADER_TEXT: &str = "Names this call in a rating. The same as feedback_id in the body.";
const FEEDBACK_ID: &str = r#""feedback_id":{"type":"string","pattern":"^[A-Za-z0-9_-]{22}$"}"#;
const FEEDBACK_URL: &str = r#""feedback_url":{"type":"string","format":"uri-reference","description":"Quick rating URL; append fully, partially or no."}"#;
const RATE_THIS_CALL: &str =
    r#""rate_this_call":{"type":"string","description":"How to rate this call in one free request."}"#;
const AGENT_TYPE_TEXT: &str = "Your agent name.";
const SEARCH_QUERY_TEXT: &str = "The query you used to find this service, or direct if you did not search.";

pub(crate) const FORM_SUMMARY: &str = "How to rate a paid call";
pub(crate) const SUBMIT_SUMMARY: &str = "Rate a paid call, with a note";
pub(crate) const RATE_SUMMARY: &str = "Rate a paid call in one request";
pub(crate) const SUMMARY_SUMMARY: &str = "Ratings of this service";
pub(crate) const FORM_ANSWER: &str = "What can be sent, and what it means.";
pub(crate) const RECORDED_ANSWER: &str = "Recorded.";
pub(crate) const WRONG_ANSWER: &str = "Not a rating; the answer says what is allowed.";
pub(crate) const UNKNOWN_ANSWER: &str = "The feedback_id is unknown or expired.";
pub(crate) const CONFLICT_ANSWER: &str = "The rating was not taken.";
pub(crate) const TOO_LARGE_ANSWER: &str = "The body is over 16 KiB.";
pub(crate) const LIMITED_ANSWER: &str = "Too many ratings; see Retry-After.";
pub(crate) const LATER_ANSWER: &str = "Ratings cannot be taken now.";
pub(crate) const SUMMARY_ANSWER: &str = "The summary.";
pub(crate) const NO_SUMMARY_ANSWER: &str = "The summary cannot be had now.";
pub(crate) const FEEDBACK_ID_TEXT: &str = "From the paid response.";
pub(crate) const OUTCOME_TEXT: &str = "Whether the call accomplished what you called it for.";
pub(crate) const ISSUE_TEXT: &str = "If it was not fully: what to fix.";
pub(crate) const NOTE_TEXT: &str = "No user data.";
