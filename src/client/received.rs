//! A diagnostic as a client receives it: read from wherever a server may have put it, trusted with nothing.

use std::ops::Range;

use crate::diagnostic::{Code, RetryPolicy};
use crate::http::envelope;
use crate::http::head::{HeaderLine, Line, find};
use crate::json::scan::{self, Kind, Slot};

/// What a server says about why payments fail. Texts are cut at 512 characters, control characters are spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedDiagnostic {
    /// The code as it stands there.
    pub code: String,
    /// The code, if it is one of the six.
    pub known_code: Option<Code>,
    pub reason: Option<String>,
    pub retry_policy: Option<RetryPolicy>,
    /// Seconds to wait, if the server names them.
    pub retry_after_s: Option<u64>,
    pub attempts: Option<u64>,
    pub first_attempt: Option<String>,
    pub message: Option<String>,
    pub suggestion: Option<String>,
    pub escalate: bool,
    /// 1 to 64 letters, digits, `.`, `_`, `-`; anything else counts as absent.
    pub correlation_id: Option<String>,
    /// Unix seconds.
    pub expires_at: Option<u64>,
    pub facilitator_error_code: Option<String>,
    pub client_error_code: Option<String>,
}

/// Reads the diagnostic of a response: `diagnostic` in a JSON body, `extensions.diagnostic` in it, or the same in the
/// `PAYMENT-REQUIRED` header; the first that has a `code`.
///
/// `None` where there is none, or where a name on the way to it stands there twice.
pub fn parse_diagnostic(headers: &[HeaderLine<'_>], body: &[u8]) -> Option<ReceivedDiagnostic> {
    let header = || match find(headers, "payment-required") {
        Line::One(value) => envelope::decode(value).and_then(|json| from_document(&json)),
        _ => None,
    };
    from_document(body).or_else(header)
}

impl ReceivedDiagnostic {
    /// Reads the diagnostic object itself, as [`ReceivedDiagnostic::to_json`] writes it. `None`: no JSON object with a `code`.
    pub fn from_json(json: &[u8]) -> Option<ReceivedDiagnostic> {
        let close = scan::document::<0>(json, []).ok()?.close;
        from_object(json, &(scan::skip_space(json, 0)..close + 1))
    }
}

fn from_document(json: &[u8]) -> Option<ReceivedDiagnostic> {
    let members = scan::document(json, ["diagnostic", "extensions"]).ok()?;
    let [plain, extensions] = &members.slots;
    let in_extensions = || {
        let extension = member(json, single(extensions)?, "diagnostic")?;
        // `{info, schema}` is what the protocol says; some put the members there directly.
        let info = member(json, &extension, "info");
        from_object(json, &info.unwrap_or(extension))
    };
    single(plain).and_then(|range| from_object(json, range)).or_else(in_extensions)
}

fn from_object(json: &[u8], range: &Range<usize>) -> Option<ReceivedDiagnostic> {
    let text = |name| member(json, range, name).and_then(|value| shown(json, &value));
    let number = |name| member(json, range, name).and_then(|value| whole_number(json, &value));
    if scan::kind(json, range.start) != Kind::Object {
        return None;
    }
    let code = text("code").filter(|code| !code.is_empty())?;
    let policy = text("retry_policy").or_else(|| text("retryPolicy"));
    Some(ReceivedDiagnostic {
        known_code: Code::from_name(&code),
        code,
        reason: text("reason"),
        retry_policy: policy.as_deref().and_then(RetryPolicy::from_name),
        retry_after_s: number("retry_after").or_else(|| number("retryAfter")),
        attempts: number("attempts"),
        first_attempt: text("firstAttempt").or_else(|| text("since")),
        message: text("message"),
        suggestion: text("suggestion").or_else(|| text("hint")),
        escalate: member(json, range, "escalate").is_some_and(|value| scan::kind(json, value.start) == Kind::True),
        correlation_id: text("correlation_id").filter(|id| is_id(id)),
        expires_at: number("expires_at"),
        facilitator_error_code: text("facilitator_error_code"),
        client_error_code: text("client_error_code"),
    })
}

/// The value of a member of the object at `range`, where it stands exactly once.
fn member(json: &[u8], range: &Range<usize>, name: &str) -> Option<Range<usize>> {
    let members = scan::object(json, range.start, [name]).ok()?;
    single(&members.slots[0]).cloned()
}

fn single(slot: &Slot) -> Option<&Range<usize>> {
    match slot {
        Slot::One(range) => Some(range),
        _ => None,
    }
}

fn shown(json: &[u8], value: &Range<usize>) -> Option<String> {
    let bytes = scan::text_of(json, value)?;
    let text = std::str::from_utf8(&bytes).ok()?;
    Some(text.chars().take(MAX_TEXT).map(|letter| if letter.is_control() { ' ' } else { letter }).collect())
}

fn whole_number(json: &[u8], value: &Range<usize>) -> Option<u64> {
    std::str::from_utf8(&json[value.clone()]).ok()?.parse().ok()
}

fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

const MAX_TEXT: usize = 512;
