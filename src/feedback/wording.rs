//! Every text an agent reads, and nothing else. Copied to the letter from the protocol; other programs look for them.
//!
//! All ASCII, so a Latin-1 reader sees the same (the v1 codec is `btoa`). The parts are constants, so that the
//! length of a text is known before it is built.

/// Where a rating goes: the rate URL (`<origin><base_path>/rate`), or the same-origin path where no origin is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    rate: String,
    path_len: usize,
}

impl Link {
    pub fn new(origin: &str, base_path: &str) -> Self {
        let rate = [origin, base_path, "/rate"].concat();
        Link { path_len: rate.len() - origin.len(), rate }
    }

    pub fn rate(&self) -> &str {
        &self.rate
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

/// The value of `extensions["forge-feedback"]` in a receipt: the same, with the real id.
pub(crate) fn receipt_extension(link: &Link, id: &str, tone: Tone, schema: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    put(
        &mut out,
        &[
            INFO,
            ",\"ask\":\"",
            ask(tone),
            "\",\"feedback_id\":\"",
            id,
            "\",\"rate\":\"GET ",
            link.rate(),
            "?feedback_id=",
            id,
            FULLY,
            "\",",
        ],
    );
    put(&mut out, &[OUTCOME, ",", ISSUE, ",", PAYMENT, flow(tone)]);
    close(out, schema)
}

/// The receipt's least form.
pub(crate) fn compact_receipt_extension(link: &Link, id: &str, schema: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    put(&mut out, &[INFO, ",\"rate\":\"GET ", link.rate(), "?feedback_id=", id, FULLY, "\",", OUTCOME]);
    close(out, schema)
}

/// Writes the members of a paid body, without braces: `"feedback_id":…,"feedback_url":…[,"rate_this_call":…]`.
pub(crate) fn write_body_members(out: &mut Vec<u8>, link: &Link, id: &str, hint: bool) {
    put(out, &["\"feedback_id\":\"", id, "\",\"feedback_url\":\"", link.rate(), "?feedback_id=", id, "&outcome=\""]);
    if !hint {
        return;
    }
    put(
        out,
        &[
            ",\"rate_this_call\":\"Please rate this service for other agents: GET ",
            link.rate(),
            "?feedback_id=",
            id,
            "&outcome= with fully, partially or no appended (e.g. ",
            link.rate(),
            "?feedback_id=",
            id,
            "&outcome=fully). Free, one request.",
            ISSUES,
            "\"",
        ],
    );
}

/// At most so many bytes do the members of a paid body take, whatever the id.
pub(crate) fn body_members_room(link: &Link) -> usize {
    640 + 3 * link.rate().len()
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

/// Ends `info`, adds the schema that the v2 text asks for beside it if wanted, ends the extension.
fn close(mut out: Vec<u8>, schema: bool) -> Vec<u8> {
    put(&mut out, &[if schema { r#"},"schema":{"type":"object"}}"# } else { "}}" }]);
    out
}

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
#[path = "wording_tests.rs"]
mod tests;
