//! One rating as POST /feedback brings it: checked field by field, the first fault named.

use serde_json::{Map, Value, json};

use crate::text::{clean, replace_lone_surrogates, utf16_len};

pub const OUTCOMES: [&str; 4] = ["fully", "partially", "no", "not_evaluated"];
pub const ISSUES: [&str; 6] =
    ["wrong_output", "unmet_expectation", "schema_mismatch", "slow", "unclear_docs", "too_expensive"];
const MAX_NOTE: usize = 280;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub feedback_id: String,
    pub outcome: &'static str,
    pub issue: Option<&'static str>,
    pub note: Option<String>,
    pub via: &'static str,
    pub user_agent: Option<String>,
    /// Captured headers of the rating call as JSON.
    pub request_headers: Option<String>,
}

/// The submission, or the protocol's name for what is wrong with it.
pub fn read(body: &[u8]) -> Result<Submission, &'static str> {
    let text = std::str::from_utf8(body).map_err(|_| "invalid_json_body")?;
    let value: Value = serde_json::from_str(&replace_lone_surrogates(text)).map_err(|_| "invalid_json_body")?;
    let Value::Object(members) = value else { return Err("invalid_json_body") };
    let text = |name: &str| members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());

    let feedback_id = text("feedback_id").ok_or("missing_feedback_id")?;
    let outcome = match members.get("outcome") {
        None | Some(Value::Null) => return Err("missing_outcome"),
        Some(Value::String(outcome)) if outcome.is_empty() => return Err("missing_outcome"),
        Some(value) => named(&OUTCOMES, value).ok_or("invalid_outcome")?,
    };
    let issue = match members.get("issue") {
        None | Some(Value::Null) => None,
        Some(Value::String(issue)) if issue.is_empty() => None,
        Some(value) => Some(named(&ISSUES, value).ok_or("invalid_issue")?),
    };
    let via = if text("via") == Some("GET") { "GET" } else { "POST" };
    let note = match members.get("note") {
        None | Some(Value::Null) => None,
        Some(Value::String(note)) if note.trim().is_empty() => None,
        Some(_) if via == "GET" => return Err("note_requires_post"),
        Some(Value::String(note)) if utf16_len(note.trim()) <= MAX_NOTE => clean(note, MAX_NOTE),
        Some(_) => return Err("invalid_note"),
    };
    Ok(Submission {
        feedback_id: feedback_id.to_owned(),
        outcome,
        issue,
        note,
        via,
        user_agent: text("user_agent").and_then(|agent| clean(agent, 512)),
        request_headers: members.get("request_headers").and_then(Value::as_object).and_then(headers),
    })
}

/// The 400 body of the rating protocol.
pub fn refusal(error: &str) -> Value {
    json!({"recorded": false, "error": error, "allowed": {"outcome": OUTCOMES, "issue": ISSUES}})
}

fn named(names: &[&'static str], value: &Value) -> Option<&'static str> {
    names.iter().find(|name| value.as_str() == Some(name)).copied()
}

fn headers(members: &Map<String, Value>) -> Option<String> {
    let kept = crate::event::headers_kept(members.clone());
    (!kept.is_empty()).then(|| Value::Object(kept).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn the_golden_submissions_hold() {
        let vectors: Value = serde_json::from_str(include_str!("../tests/fixtures/forge-vectors.json")).unwrap();
        let rows = vectors["submission"].as_array().unwrap();
        assert!(rows.len() >= 18);
        for row in rows {
            let mut body = row["body"].clone();
            if let Some(members) = body.as_object_mut() {
                members.insert("via".into(), if row["allow_note"] == true { "POST" } else { "GET" }.into());
            }
            match (super::read(body.to_string().as_bytes()), row["error"].as_str()) {
                (Err(error), expected) => assert_eq!(Some(error), expected, "{row}"),
                (Ok(read), _) => {
                    let got = json!({"feedback_id": read.feedback_id, "outcome": read.outcome, "issue": read.issue, "note": read.note});
                    assert_eq!(got, row["submission"], "{row}");
                }
            }
        }
    }

    #[test]
    fn d14_deeply_nested_json_is_an_invalid_body() {
        let deep = format!("{{\"x\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(super::read(deep.as_bytes()), Err("invalid_json_body"));
    }
}
