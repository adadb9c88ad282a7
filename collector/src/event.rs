//! One reported event: read leniently, kept in bounds.
//!
//! A batch is cut into events without looking inside, so one that cannot be read is refused alone and its neighbours are kept.
//! Every text is cut to its limit and loses its control characters; unknown scalar members stay (newer reporters may send
//! them), nested ones go. Credentials and payment headers are never stored, whoever sends them.
//!
//! Not done on purpose: checking the feedback id's signature. The bearer vouches for its own events.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::clock::{DAY_MS, MINUTE_MS};
use crate::feedback_id;
use crate::text::{clean, replace_lone_surrogates};

pub const MAX_EVENTS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Challenge,
    Interaction,
    Discovery,
    Visit,
    Escalation,
    Other,
}

impl Kind {
    pub const ALL: [Self; 6] =
        [Self::Challenge, Self::Interaction, Self::Discovery, Self::Visit, Self::Escalation, Self::Other];

    pub fn name(self) -> &'static str {
        match self {
            Self::Challenge => "challenge",
            Self::Interaction => "interaction",
            Self::Discovery => "discovery",
            Self::Visit => "visit",
            Self::Escalation => "escalation",
            Self::Other => "other",
        }
    }

    fn of(text: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == text).unwrap_or(Self::Other)
    }
}

#[derive(Debug, Clone)]
pub struct Event {
    /// What makes the event the same one when it is sent again; unique within a project.
    pub event_id: String,
    pub kind: Kind,
    pub route: String,
    pub feedback_id: Option<String>,
    /// When it happened, as reported if that is believable, else when it was received. Unix milliseconds.
    pub at_ms: i64,
    pub status: Option<i64>,
    pub latency_ms: Option<i64>,
    /// Whether the payment settled: as reported, else true if a settlement transaction is named, else unknown.
    pub settled: Option<bool>,
    pub agent: Option<String>,
    pub client: Option<String>,
    /// The product token of the user agent: `python-httpx` of `python-httpx/0.27`.
    pub user_agent: Option<String>,
    /// The cleaned event as JSON.
    pub body: String,
}

pub struct Batch {
    pub events: Vec<Event>,
    /// Position in the batch and why it was refused.
    pub refused: Vec<(usize, &'static str)>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum BatchError {
    NotJson,
    NotABatch,
    TooMany,
}

/// What a POST /events body holds. `idempotency_key` gives events that bring no id of their own one that survives a repeat.
pub fn read_batch(body: &[u8], idempotency_key: Option<&str>, now_ms: i64) -> Result<Batch, BatchError> {
    let text = std::str::from_utf8(body).map_err(|_| BatchError::NotJson)?;
    let outer: Outer = serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => BatchError::NotABatch,
        _ => BatchError::NotJson,
    })?;
    if outer.events.len() > MAX_EVENTS {
        return Err(BatchError::TooMany);
    }
    let repeat = idempotency_key.map(|key| Sha256::new().chain_update(key).chain_update([0]).chain_update(body));
    let mut batch = Batch { events: Vec::with_capacity(outer.events.len()), refused: Vec::new() };
    for (index, raw) in outer.events.iter().enumerate() {
        match read(raw.get(), now_ms) {
            Ok((id, mut event)) => {
                event.event_id = id
                    .map_or_else(|| assigned_id(repeat.as_ref(), index, now_ms), Ok)
                    .unwrap_or_else(|_| format!("r:{now_ms:x}-{index}"));
                batch.events.push(event);
            }
            Err(reason) => batch.refused.push((index, reason)),
        }
    }
    Ok(batch)
}

#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

fn read(raw: &str, now_ms: i64) -> Result<(Option<String>, Event), &'static str> {
    let value: Value =
        serde_json::from_str(&replace_lone_surrogates(raw)).map_err(|_| "not readable as a JSON object")?;
    let Value::Object(members) = value else { return Err("an event is a JSON object") };
    let Some(kind_text) = members.get("type").and_then(Value::as_str) else { return Err("type must be a string") };
    let kind = Kind::of(kind_text);
    let kept = keep(members);
    let text = |name: &str| kept.get(name).and_then(Value::as_str).map(str::to_owned);
    let context = |name: &str| {
        kept.get("agent_context").and_then(|context| context.get(name)).and_then(Value::as_str).map(str::to_owned)
    };
    let user_agent = text("user_agent").or_else(|| {
        kept.get("request_headers")
            .and_then(|headers| headers.get("user-agent"))
            .and_then(Value::as_str)
            .map(str::to_owned)
    });
    let feedback_id = text("feedback_id").filter(|id| feedback_id::is_well_formed(id));
    let id = match kept.get("id") {
        None => match (kind, &feedback_id, text("interaction_id")) {
            (Kind::Interaction, Some(id), _) => Some(format!("f:{id}")),
            (Kind::Interaction, None, Some(id)) => Some(format!("i:{id}")),
            _ => None,
        },
        Some(Value::String(id)) => Some(id.clone()),
        Some(other) => Some(other.to_string()),
    };
    let believable = (now_ms - 35 * DAY_MS)..=(now_ms + 5 * MINUTE_MS);
    let at_ms = kept.get("ts").and_then(Value::as_i64).filter(|ts| believable.contains(ts)).unwrap_or(now_ms);
    let event = Event {
        event_id: String::new(),
        kind,
        route: text("route").unwrap_or_else(|| "(no route)".to_owned()),
        at_ms,
        status: kept.get("status").and_then(Value::as_i64),
        latency_ms: kept.get("latency_ms").and_then(Value::as_i64),
        settled: match kept.get("settled").and_then(Value::as_bool) {
            None if kept.contains_key("transaction") => Some(true),
            reported => reported,
        },
        agent: context("agent_type"),
        client: context("client"),
        user_agent: user_agent.as_deref().and_then(product),
        feedback_id,
        body: Value::Object(kept).to_string(),
    };
    Ok((id, event))
}

/// The members that are stored, within their limits.
fn keep(members: Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    let mut unknown = 0;
    for (name, value) in members {
        let value = match (name.as_str(), value) {
            ("id", Value::String(id)) => stable_id(id).map(Value::String),
            ("route", Value::String(text)) => clean(&text, 2048).map(Value::String),
            ("user_agent", Value::String(text)) => clean(&text, 512).map(Value::String),
            ("request_headers", Value::Object(headers)) => non_empty(headers_kept(headers)),
            ("agent_context", Value::Object(context)) => non_empty(context_kept(context)),
            ("ts", Value::Number(number)) => whole(&number, i64::MIN, i64::MAX),
            ("status", Value::Number(number)) => whole(&number, 100, 599),
            ("latency_ms", Value::Number(number)) => whole(&number, 0, DAY_MS),
            ("route" | "user_agent" | "request_headers" | "agent_context" | "ts" | "status" | "latency_ms", _) => None,
            (_, Value::String(text)) => clean(&text, 256).map(Value::String),
            (_, value @ (Value::Bool(_) | Value::Number(_))) => Some(value),
            (_, Value::Null | Value::Array(_) | Value::Object(_)) => None,
        };
        let Some(value) = value else { continue };
        if !KNOWN.contains(&name.as_str()) {
            unknown += 1;
            if unknown > MAX_UNKNOWN || never_stored(&name) {
                continue;
            }
        }
        if let Some(name) = clean(&name, 64) {
            kept.insert(name, value);
        }
    }
    kept
}

pub(crate) fn headers_kept(headers: Map<String, Value>) -> Map<String, Value> {
    headers
        .into_iter()
        .filter_map(|(name, value)| {
            let name = clean(&name.to_ascii_lowercase(), 64)?;
            let Value::String(value) = value else { return None };
            if never_stored(&name) {
                return None;
            }
            // A signature that is cut can never verify: whole or absent.
            let signature = matches!(name.as_str(), "signature" | "signature-input");
            if signature && value.len() > 4096 {
                return None;
            }
            Some((name, Value::String(clean(&value, if signature { 4096 } else { 512 })?)))
        })
        .take(MAX_HEADERS)
        .collect()
}

fn context_kept(context: Map<String, Value>) -> Map<String, Value> {
    context
        .into_iter()
        .filter_map(|(name, value)| {
            let limit = match name.as_str() {
                "agent_type" | "agent_type_other" | "client" => 80,
                "search_query" => 200,
                _ => return None,
            };
            Some((name, Value::String(clean(value.as_str()?, limit)?)))
        })
        .collect()
}

/// Credentials and payments have no business in a report.
fn never_stored(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    matches!(
        name.as_str(),
        "authorization"
            | "proxy-authorization"
            | "cookie"
            | "set-cookie"
            | "x-payment"
            | "payment-signature"
            | "x-payment-response"
            | "payment-response"
            | "x-api-key"
            | "api-key"
    )
}

fn whole(number: &serde_json::Number, low: i64, high: i64) -> Option<Value> {
    let value = number.as_i64().or_else(|| {
        let float = number.as_f64()?.round();
        (float.abs() < 9e15).then_some(float as i64)
    })?;
    (low..=high).contains(&value).then(|| Value::from(value))
}

fn non_empty(map: Map<String, Value>) -> Option<Value> {
    (!map.is_empty()).then_some(Value::Object(map))
}

fn product(user_agent: &str) -> Option<String> {
    clean(user_agent.split(['/', ' ', '(']).next().unwrap_or(""), 64)
}

/// An id as it is stored: itself if short and printable, else its hash; two different ids never become one. An empty id is
/// none: events that share it are different ones.
fn stable_id(id: String) -> Option<String> {
    if id.is_empty() {
        return None;
    }
    if id.len() <= 128 && !id.chars().any(char::is_control) {
        return Some(id);
    }
    Some(format!("h:{}", URL_SAFE_NO_PAD.encode(Sha256::digest(id.as_bytes()))))
}

fn assigned_id(repeat: Option<&Sha256>, index: usize, now_ms: i64) -> Result<String, getrandom::Error> {
    if let Some(hash) = repeat {
        let digest = hash.clone().chain_update((index as u64).to_be_bytes()).finalize();
        return Ok(format!("k:{}", URL_SAFE_NO_PAD.encode(&digest[..18])));
    }
    let mut random = [0u8; 12];
    getrandom::fill(&mut random)?;
    Ok(format!("r:{now_ms:x}-{}", URL_SAFE_NO_PAD.encode(random)))
}

const MAX_UNKNOWN: usize = 24;
const MAX_HEADERS: usize = 24;
const KNOWN: &[&str] = &[
    "id",
    "type",
    "ts",
    "route",
    "feedback_id",
    "interaction_id",
    "request_headers",
    "user_agent",
    "agent_context",
    "payer",
    "network",
    "amount",
    "scheme",
    "asset",
    "transaction",
    "status",
    "latency_ms",
    "settled",
    "dialect",
    "code",
    "reason",
    "attempts",
    "correlation_id",
    "operator_contact",
    "since",
    "agent_id",
    "outcome",
    "errorReason",
];

#[cfg(test)]
mod tests;
