//! One event, rating, note or escalation as a line or a card.

use serde_json::Value;

use super::words::{issue_label, number, outcome_label};
use crate::clock::rfc3339;
use crate::store::FeedItem;

pub struct EscalationCard {
    pub code: String,
    pub when: String,
    pub route: String,
    pub facts: Vec<(String, String)>,
}

pub struct Note {
    pub when: String,
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
            let class = match outcome.as_str() {
                "fully" => "fully",
                "partially" => "partially",
                "no" => "no",
                _ => "other",
            };
            (class, format!("Rated: {}", outcome_label(&outcome).to_lowercase()), join(&[issue, text("note"), who]))
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
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut facts = Vec::new();
    if let Value::Object(members) = &body {
        for (name, value) in members {
            match value {
                Value::Object(inner) => {
                    facts.extend(inner.iter().map(|(name, value)| (name.replace('_', " "), text(value))))
                }
                _ if matches!(name.as_str(), "type" | "id" | "route" | "code" | "ts") => {}
                _ => facts.push((name.replace('_', " "), text(value))),
            }
        }
    }
    facts.truncate(24);
    EscalationCard {
        code: body["code"].as_str().unwrap_or("(no code)").to_owned(),
        when: rfc3339(received_ms),
        route: body["route"].as_str().unwrap_or("").to_owned(),
        facts,
    }
}
