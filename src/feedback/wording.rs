//! Every text an agent reads, and nothing else. Copied to the letter from the protocol; other programs look for them.
//!
//! All ASCII, so a Latin-1 reader sees the same (the v1 codec is `btoa`). The parts are constants, so that the
//! length of a text is known before it is built.

use std::sync::OnceLock;

use super::ladder;
use super::template::{GAP, Template};
use crate::dialect::EXTENSION_NAME;

/// Where a rating goes: the rate URL (`<origin><base_path>/rate`), or the same-origin path where no origin is known.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    rate: String,
    path_len: usize,
    /// What a paid body gains, without and with the hint.
    body: [OnceLock<Template>; 2],
    /// What a receipt gains, by tone and schema.
    receipts: [OnceLock<Vec<Template>>; 4],
}

impl Link {
    pub fn new(origin: &str, base_path: &str) -> Self {
        let rate = [origin, base_path, "/rate"].concat();
        Link { path_len: rate.len() - origin.len(), rate, body: Default::default(), receipts: Default::default() }
    }

    pub fn rate(&self) -> &str {
        &self.rate
    }

    /// The members of a paid body, without braces.
    pub fn body_members(&self, hint: bool) -> &Template {
        self.body[usize::from(hint)].get_or_init(|| body_members(self, hint))
    }

    /// The member that a receipt's `extensions` gains, the fullest form first; none that is too large for an extension.
    pub fn receipt_members(&self, tone: Tone, schema: bool) -> &[Template] {
        let which = 2 * usize::from(tone == Tone::Lifecycle) + usize::from(schema);
        self.receipts[which].get_or_init(|| receipt_members(self, tone, schema))
    }

    /// Whether a text already speaks of this link, whoever wrote it.
    pub fn is_mentioned_in(&self, text: &[u8]) -> bool {
        let path = &self.rate.as_bytes()[self.rate.len() - self.path_len..];
        let has_origin = self.path_len < self.rate.len();
        // Every link ends in /rate, and a description has few slashes.
        memchr::memchr_iter(b'/', text).any(|slash| {
            let Some(after) = text[slash..].strip_prefix(b"/rate") else { return false };
            let before = &text[..text.len() - after.len()];
            (before.ends_with(path) && after.starts_with(b"?feedback_id="))
                || (has_origin && before.ends_with(self.rate.as_bytes()))
        })
    }
}

/// How much a sentence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sentence {
    Full,
    Medium,
    Short,
}

impl Sentence {
    /// Length in bytes, which are its UTF-16 units too.
    pub fn len(self, link: &Link) -> usize {
        let (before, after, more) = self.parts();
        before.len() + link.rate.len() + after.len() + more.len()
    }

    pub fn text(self, link: &Link) -> String {
        let (before, after, more) = self.parts();
        [before, &link.rate, after, more].concat()
    }

    fn parts(self) -> (&'static str, &'static str, &'static str) {
        const ASK: &str = "After your call, please rate this service for other agents: GET ";
        const OUTCOMES: &str = "?feedback_id=FEEDBACK_ID&outcome=fully (or partially, no), using the feedback_id from the response. Free, one request.";
        match self {
            Sentence::Full => (ASK, OUTCOMES, ISSUES),
            Sentence::Medium => (ASK, OUTCOMES, ""),
            Sentence::Short => (
                "After your call, please rate it for other agents: GET ",
                "?feedback_id=FEEDBACK_ID&outcome=fully. Free, one request.",
                "",
            ),
        }
    }
}

/// The voice of the extension's `ask`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Default,
    /// The ask as steps, and the steps again as `flow`.
    Lifecycle,
}

/// The value of `extensions["forge-feedback"]` in a challenge.
pub(crate) fn challenge_extension(link: &Link, tone: Tone, schema: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    put(
        &mut out,
        &[
            INFO,
            ",\"ask\":\"",
            ask(tone),
            "\",\"rate\":\"GET ",
            link.rate(),
            "?feedback_id=FEEDBACK_ID",
            FULLY,
            "\",",
            OUTCOME,
            ",",
            ISSUE,
        ],
    );
    put(
        &mut out,
        &[
            ",\"feedback_id\":\"In the paid response body (feedback_id) and the Forge-Feedback-Id header.\",",
            PAYMENT,
            flow(tone),
        ],
    );
    close(out, schema)
}

/// The least an extension says: protocol, rate, outcome.
pub(crate) fn compact_extension(link: &Link, schema: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    put(&mut out, &[INFO, ",\"rate\":\"GET ", link.rate(), "?feedback_id=FEEDBACK_ID", FULLY, "\",", OUTCOME]);
    close(out, schema)
}

/// The member that a receipt's `extensions` gains, with the real id: the whole extension, or the least it says.
fn receipt_members(link: &Link, tone: Tone, schema: bool) -> Vec<Template> {
    let least: &[&str] = &[INFO, ",\"rate\":\"GET ", link.rate(), "?feedback_id=", GAP, FULLY, "\",", OUTCOME];
    let whole: &[&str] = &[
        INFO,
        ",\"ask\":\"",
        ask(tone),
        "\",\"feedback_id\":\"",
        GAP,
        "\",\"rate\":\"GET ",
        link.rate(),
        "?feedback_id=",
        GAP,
        FULLY,
        "\",",
        OUTCOME,
        ",",
        ISSUE,
        ",",
        PAYMENT,
        flow(tone),
    ];
    let close = end(schema);
    let length = |parts: &[&str]| parts.iter().map(|part| part.len()).sum::<usize>() + close.len();
    let forms = [whole, least].into_iter().filter(|parts| length(parts) < ladder::EXTENSION);
    forms
        .map(|parts| {
            Template::new(["\"", EXTENSION_NAME, "\":"].into_iter().chain(parts.iter().copied()).chain([close]))
        })
        .collect()
}

/// The members of a paid body, without braces: `"feedback_id":…,"feedback_url":…[,"rate_this_call":…]`.
fn body_members(link: &Link, hint: bool) -> Template {
    let rate = link.rate();
    let bare: &[&str] =
        &["\"feedback_id\":\"", GAP, "\",\"feedback_url\":\"", rate, "?feedback_id=", GAP, "&outcome=\""];
    let hints: &[&str] = &[
        ",\"rate_this_call\":\"Please rate this service for other agents: GET ",
        rate,
        "?feedback_id=",
        GAP,
        "&outcome= with fully, partially or no appended (e.g. ",
        rate,
        "?feedback_id=",
        GAP,
        "&outcome=fully). Free, one request.",
        ISSUES,
        "\"",
    ];
    Template::new(bare.iter().chain(if hint { hints } else { &[] }).copied())
}

/// The lines after a text answer, behind the newline that ends the text.
pub(crate) fn text_trailer(link: &Link, id: &str) -> Vec<u8> {
    ["\nfeedback_id: ", id, "\nfeedback_url: ", link.rate(), "?feedback_id=", id, "&outcome=\n"].concat().into_bytes()
}

/// Names the body members carry, in their order.
pub(crate) const BODY_NAMES: [&str; 3] = ["feedback_id", "feedback_url", "rate_this_call"];
/// The one name of the nested layout.
pub(crate) const NESTED_NAME: &str = "forge_feedback";
/// The response header of a paid answer.
pub(crate) const ID_HEADER: &str = "Forge-Feedback-Id";

const ISSUES: &str = " If it wasn't fully, please also add &issue= with wrong_output, unmet_expectation, schema_mismatch, slow, unclear_docs or too_expensive, so the merchant knows what to fix.";
const INFO: &str = r#"{"info":{"protocol":"forge-feedback/0""#;
const FULLY: &str = "&outcome=fully";
const OUTCOME: &str = r#""outcome":["fully","partially","no"]"#;
const ISSUE: &str = r#""issue":{"when":"The outcome is not fully. Tells the merchant what to fix.","values":["wrong_output","unmet_expectation","schema_mismatch","slow","unclear_docs","too_expensive"]}"#;
const PAYMENT: &str = r#""payment":"None. Plain GET, not an x402 endpoint.""#;

/// The ask of the extension, and of the discovery document of a merchant who says nothing else.
pub(crate) fn ask(tone: Tone) -> &'static str {
    match tone {
        Tone::Default => {
            "After your call, please rate this service for other agents. Free, one request. When the outcome is not fully, the issue field tells the merchant what to fix."
        }
        Tone::Lifecycle => {
            "Steps: 402 challenge, pay, response, rate this service for other agents. Free, one request. When the outcome is not fully, the issue field tells the merchant what to fix."
        }
    }
}

fn flow(tone: Tone) -> &'static str {
    match tone {
        Tone::Default => "",
        Tone::Lifecycle => r#","flow":["402 challenge","pay","response","rate"]"#,
    }
}

fn close(mut out: Vec<u8>, schema: bool) -> Vec<u8> {
    put(&mut out, &[end(schema)]);
    out
}

/// Ends `info`, adds the schema that the v2 text asks for beside it if wanted, ends the extension.
fn end(schema: bool) -> &'static str {
    if schema { r#"},"schema":{"type":"object"}}"# } else { "}}" }
}

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
#[path = "wording_tests.rs"]
mod tests;
