//! One event, rating, note or escalation as a line or a card.

use serde_json::Value;

use super::words::{code_meaning, issue_label, number, outcome_class, outcome_label};
use crate::clock::rfc3339;
use crate::store::FeedItem;

pub struct EscalationCard {
    pub code: String,
    /// What the code says of the client; empty for a code of somebody else.
    pub meaning: &'static str,
    pub when: String,
    pub route: String,
    pub facts: Vec<Fact>,
}

pub struct Fact {
    pub name: String,
    pub value: String,
    /// The value is an RFC 3339 time, to be shown as the reader writes times.
    pub is_time: bool,
}

pub struct Note {
    pub when: String,
    pub class: &'static str,
    pub outcome: String,
    pub issue: String,
    pub route: String,
    pub text: String,
}

pub struct FeedEntry {
    pub when: String,
    pub class: &'static str,
    pub title: String,
    pub route: String,
    pub detail: String,
}

pub fn feed(items: Vec<FeedItem>) -> Vec<FeedEntry> {
    items.into_iter().map(entry).collect()
}

fn entry(item: FeedItem) -> FeedEntry {
    let body = &item.body;
    let text = |name: &str| body[name].as_str().unwrap_or("").to_owned();
    let who = match body["agent_context"]["agent_type"].as_str() {
        Some(agent) => agent.to_owned(),
        None => text("user_agent"),
    };
    let join = |parts: &[String]| parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" · ");
    let status = body["status"].as_i64().map_or_else(String::new, |status| status.to_string());
    let latency = body["latency_ms"].as_i64().map_or_else(String::new, |ms| format!("{} ms", number(ms)));
    let (class, title, detail) = match item.kind.as_str() {
        "challenge" => ("challenge", "Challenge".to_owned(), who),
        "interaction" => {
            let settled = body["settled"].as_bool().or_else(|| body.get("transaction").map(|_| true));
            let title = match settled {
                Some(true) => "Paid and settled",
                Some(false) => "Not settled",
                None => "Paid call",
            };
            let failed = body["status"].as_i64().is_some_and(|status| status >= 400) || settled == Some(false);
            let price = join(&[text("amount"), text("network")]);
            (if failed { "failed" } else { "paid" }, title.to_owned(), join(&[status, latency, price, who]))
        }
        "rating" => {
            let outcome = text("outcome");
            let issue = body["issue"].as_str().map_or_else(String::new, |issue| issue_label(issue).to_lowercase());
            (
                outcome_class(&outcome),
                format!("Rated: {}", outcome_label(&outcome).to_lowercase()),
                join(&[issue, text("note"), who]),
            )
        }
        "discovery" => ("other", "Discovery".to_owned(), who),
        "visit" => ("other", "Visit".to_owned(), join(&[status, latency, who])),
        "escalation" => ("no", "Escalated".to_owned(), join(&[text("code"), text("correlation_id"), who])),
        _ => ("other", text("type"), who),
    };
    FeedEntry { when: rfc3339(item.at_ms), class, title, route: text("route"), detail }
}

pub fn escalation(received_ms: i64, body: &str) -> EscalationCard {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let mut found: Vec<(&str, &Value)> = Vec::new();
    for (name, value) in body.as_object().into_iter().flatten() {
        match value {
            Value::Object(inner) => found.extend(inner.iter().map(|(name, value)| (name.as_str(), value))),
            _ if matches!(name.as_str(), "type" | "id" | "route" | "code" | "ts") => {}
            _ => found.push((name, value)),
        }
    }
    let place = |name: &str| FACTS_FIRST.iter().position(|first| *first == name).unwrap_or(FACTS_FIRST.len());
    found.sort_by_key(|(name, _)| place(name));
    // Told by the event and by a header of its request: once is enough.
    let told = |name: &str| body.get(name).is_some();
    found.retain(|(name, _)| !name.contains('-') || !told(&name.trim_start_matches("x-").replace('-', "_")));
    found.truncate(24);
    let code = body["code"].as_str().unwrap_or("(no code)").to_owned();
    EscalationCard {
        meaning: code_meaning(&code),
        code,
        when: rfc3339(received_ms),
        route: body["route"].as_str().unwrap_or("").to_owned(),
        facts: found.into_iter().map(|(name, value)| fact(name, value)).collect(),
    }
}

fn fact(name: &str, value: &Value) -> Fact {
    let value = match value {
        Value::String(text) => text.clone(),
        other => other.as_i64().map_or_else(|| other.to_string(), number),
    };
    let is_time = value.contains('T') && value.parse::<jiff::Timestamp>().is_ok();
    Fact { name: name.replace('_', " "), value, is_time }
}

/// What a merchant asks first comes first; the rest in the order of its names.
const FACTS_FIRST: [&str; 9] = [
    "reason",
    "attempts",
    "since",
    "agent_type",
    "user_agent",
    "agent_id",
    "operator_contact",
    "correlation_id",
    "dialect",
];

#[cfg(test)]
mod tests {
    #[test]
    fn an_escalation_says_what_matters_first_and_nothing_twice() {
        let body = serde_json::json!({
            "type": "escalation", "id": "1", "ts": 5, "code": "PAYMENT_ATTEMPTS_EXCEEDED", "attempts": 8432, "correlation_id": "ab",
            "agent_id": "a-7", "user_agent": "loop/1", "since": "2026-11-12T08:00:00Z", "extra": "T",
            "request_headers": {"user-agent": "loop/1", "x-agent-id": "a-7", "referer": "r"},
        });
        let card = super::escalation(0, &body.to_string());
        assert!(card.meaning.contains("without a valid payment"));
        let facts: Vec<_> =
            card.facts.iter().map(|fact| (fact.name.as_str(), fact.value.as_str(), fact.is_time)).collect();
        assert_eq!(
            facts,
            [
                ("attempts", "8,432", false),
                ("since", "2026-11-12T08:00:00Z", true),
                ("user agent", "loop/1", false),
                ("agent id", "a-7", false),
                ("correlation id", "ab", false),
                ("extra", "T", false),
                ("referer", "r", false),
            ]
        );
    }
}
