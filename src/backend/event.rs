//! What happened, as one JSON object per event: the shapes the backend takes (POST /events).
//!
//! An event is written once, when it happens, and is bytes from then on. Whatever comes in, the bytes are valid JSON
//! any strict reader takes: text that is not UTF-8 and lone surrogates become U+FFFD, control characters become
//! spaces, every text is cut at its limit. So no event can spoil the batch it travels in.
//!
//! Every event starts with its own random id, so a reader can tell a repetition from a second event.

pub(super) mod text;

pub use text::Text;

use crate::sys::{clock, random};
use text::{write_key, write_text};

/// Characters kept of a route.
pub const MAX_ROUTE: usize = 2_048;

/// Characters kept of any other text.
pub const MAX_TEXT: usize = 256;

/// One event, ready to send: the text of a JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event(Vec<u8>);

/// What every event of a request has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Happened<'a> {
    /// Method and route, as in `GET /weather`; at most 2,048 characters are kept.
    pub route: Text<'a>,
    /// When, in unix milliseconds.
    pub unix_ms: u64,
    /// A JSON object text made by `captured::Captured`, or empty.
    pub request_headers: &'a [u8],
    /// At most 512 characters are kept.
    pub user_agent: Option<Text<'a>>,
    /// What the agent said of itself, name and value; at most 256 characters of each value are kept.
    pub agent_context: &'a [(&'a str, Text<'a>)],
}

/// What is known of a payment. Absent = unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct PaymentFacts<'a> {
    pub payer: Option<Text<'a>>,
    pub network: Option<Text<'a>>,
    pub amount: Option<Text<'a>>,
    pub scheme: Option<Text<'a>>,
    pub asset: Option<Text<'a>>,
    pub transaction: Option<Text<'a>>,
}

/// The id an interaction goes by.
#[derive(Clone, Copy, Debug)]
pub enum InteractionId<'a> {
    /// The feedback id the agent was given.
    Feedback(&'a str),
    /// A random UUID, when no feedback id was given.
    Random,
}

/// A request that carried a payment, and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Interaction<'a> {
    pub id: InteractionId<'a>,
    /// "x402/2", "x402/1" or "open402".
    pub dialect: &'a str,
    pub facts: PaymentFacts<'a>,
    /// What the receipt says: paid, refused, or no receipt seen.
    pub settled: Option<bool>,
    /// "delivered", "aborted" or "failed".
    pub outcome: &'a str,
    /// The receipt's errorReason.
    pub error_reason: Option<Text<'a>>,
    /// 0: unknown, left out.
    pub status: u16,
    pub latency_ms: u64,
}

/// An agent that keeps failing to pay and has been told to stop.
#[derive(Clone, Copy, Debug)]
pub struct Escalation<'a> {
    pub code: &'a str,
    pub attempts: u64,
    pub correlation_id: &'a str,
    /// X-Operator-Contact, as checked by the diagnostic.
    pub operator_contact: Option<Text<'a>>,
    /// X-Agent-ID.
    pub agent_id: Option<Text<'a>>,
    pub dialect: Option<&'a str>,
}

impl Event {
    /// A price was asked: a recognised 402.
    pub fn challenge(happened: &Happened<'_>, dialect: &str) -> Event {
        let mut event = Writer::new("challenge");
        event.happened(happened, Some(dialect));
        event.finish()
    }

    /// A request with a payment ended. On anything but a 2xx only network and amount of the payment are reported.
    pub fn interaction(happened: &Happened<'_>, interaction: &Interaction<'_>) -> Event {
        let mut event = Writer::new("interaction");
        match interaction.id {
            InteractionId::Feedback(id) => event.text("feedback_id", &id.into(), MAX_TEXT),
            InteractionId::Random => event.ascii("interaction_id", &uuid()),
        }
        event.happened(happened, Some(interaction.dialect));
        let facts = &interaction.facts;
        let paid = (200..300).contains(&interaction.status);
        for (name, value, always) in [
            ("payer", &facts.payer, false),
            ("network", &facts.network, true),
            ("amount", &facts.amount, true),
            ("scheme", &facts.scheme, false),
            ("asset", &facts.asset, false),
            ("transaction", &facts.transaction, false),
        ] {
            if paid || always {
                event.optional(name, value, MAX_TEXT);
            }
        }
        match interaction.settled {
            Some(true) => event.raw("settled", b"true"),
            Some(false) => event.raw("settled", b"false"),
            None => event.raw("settled", b"null"),
        }
        event.text("outcome", &interaction.outcome.into(), MAX_TEXT);
        event.optional("errorReason", &interaction.error_reason, MAX_TEXT);
        event.status(interaction.status);
        event.number("latency_ms", interaction.latency_ms);
        event.finish()
    }

    /// Somebody read a discovery document (OpenAPI, well-known).
    pub fn discovery(happened: &Happened<'_>) -> Event {
        let mut event = Writer::new("discovery");
        event.happened(happened, None);
        event.finish()
    }

    /// Another request by a program.
    pub fn visit(happened: &Happened<'_>, status: u16, latency_ms: u64) -> Event {
        let mut event = Writer::new("visit");
        event.happened(happened, None);
        event.status(status);
        event.number("latency_ms", latency_ms);
        event.finish()
    }

    /// A failing sequence crossed its limit: once per sequence.
    pub fn escalation(happened: &Happened<'_>, escalation: &Escalation<'_>) -> Event {
        let mut event = Writer::new("escalation");
        event.text("code", &escalation.code.into(), MAX_TEXT);
        event.happened(happened, escalation.dialect);
        event.number("attempts", escalation.attempts);
        event.text("correlation_id", &escalation.correlation_id.into(), MAX_TEXT);
        event.optional("operator_contact", &escalation.operator_contact, MAX_TEXT);
        event.optional("agent_id", &escalation.agent_id, MAX_TEXT);
        event.finish()
    }

    /// An event the host wrote itself: one JSON object with a text member `type`.
    ///
    /// Its bytes are kept; `id` and `ts` are put in front unless it has them. Refused: what is not UTF-8 JSON (a lone
    /// surrogate or a depth above 127 too, a strict reader would refuse the whole batch for it), no object, no type,
    /// more than 16 KiB.
    pub fn from_json(json: &[u8], unix_ms: u64) -> Result<Event, EventRefused> {
        if json.len() > MAX_RAW_BYTES {
            return Err(EventRefused::TooLarge);
        }
        let parsed: serde_json::Value = serde_json::from_slice(json).map_err(|_| EventRefused::NotJson)?;
        let object = parsed.as_object().ok_or(EventRefused::NotAnObject)?;
        match object.get("type") {
            Some(serde_json::Value::String(kind)) if !kind.is_empty() => {}
            _ => return Err(EventRefused::NoType),
        }
        let start = json.iter().position(|byte| *byte == b'{').ok_or(EventRefused::NotAnObject)?;
        let mut out = Vec::with_capacity(json.len() + 80);
        out.push(b'{');
        if !object.contains_key("id") {
            write_key(&mut out, "id");
            out.push(b'"');
            out.extend_from_slice(&uuid());
            out.push(b'"');
        }
        if !object.contains_key("ts") {
            write_key(&mut out, "ts");
            out.extend_from_slice(unix_ms.to_string().as_bytes());
        }
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(json[start + 1..].trim_ascii_end());
        Ok(Event(out))
    }

    /// The JSON text.
    pub fn as_json(&self) -> &[u8] {
        &self.0
    }

    #[cfg(test)]
    pub(super) fn from_json_unchecked(json: Vec<u8>) -> Event {
        Event(json)
    }

    pub(super) fn into_json(self) -> Vec<u8> {
        self.0
    }
}

/// Why an event the host wrote was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRefused {
    NotJson,
    NotAnObject,
    NoType,
    TooLarge,
}

impl std::fmt::Display for EventRefused {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            EventRefused::NotJson => "event: not a JSON text that every reader takes",
            EventRefused::NotAnObject => "event: not a JSON object",
            EventRefused::NoType => "event: the member type must be a text that is not empty",
            EventRefused::TooLarge => "event: larger than 16,384 bytes",
        })
    }
}

impl std::error::Error for EventRefused {}

/// A UUID of version 7 (RFC 9562 section 5.7) as its 36 characters: the time in front, so that a backend's index grows at
/// its end, and 74 random bits behind it.
pub fn uuid() -> [u8; 36] {
    let mut bytes = random::array::<16>();
    bytes[..6].copy_from_slice(&clock::unix_ms().to_be_bytes()[2..]);
    bytes[6] = bytes[6] & 0x0f | 0x70;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut out = [b'-'; 36];
    let mut at = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            at += 1;
        }
        out[at] = HEX[usize::from(byte >> 4)];
        out[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    out
}

/// Writes members in the order they are given, with the separators.
struct Writer(Vec<u8>);

impl Writer {
    fn new(kind: &str) -> Writer {
        let mut event = Writer(Vec::with_capacity(768));
        event.0.push(b'{');
        event.ascii("id", &uuid());
        event.ascii("type", kind.as_bytes());
        event
    }

    fn happened(&mut self, happened: &Happened<'_>, dialect: Option<&str>) {
        self.text("route", &happened.route, MAX_ROUTE);
        self.number("ts", happened.unix_ms);
        if let Some(dialect) = dialect {
            self.text("dialect", &dialect.into(), MAX_TEXT);
        }
        if !happened.request_headers.is_empty() {
            self.raw("request_headers", happened.request_headers);
        }
        self.optional("user_agent", &happened.user_agent, super::captured::MAX_VALUE);
        if !happened.agent_context.is_empty() {
            self.raw("agent_context", b"{");
            for (name, value) in happened.agent_context {
                self.text(name, value, MAX_TEXT);
            }
            self.0.push(b'}');
        }
    }

    fn optional(&mut self, name: &str, value: &Option<Text<'_>>, limit: usize) {
        if let Some(value) = value {
            self.text(name, value, limit);
        }
    }

    fn text(&mut self, name: &str, value: &Text<'_>, limit: usize) {
        write_key(&mut self.0, name);
        write_text(&mut self.0, value, limit);
    }

    fn ascii(&mut self, name: &str, plain: &[u8]) {
        write_key(&mut self.0, name);
        self.0.push(b'"');
        self.0.extend_from_slice(plain);
        self.0.push(b'"');
    }

    fn number(&mut self, name: &str, value: u64) {
        write_key(&mut self.0, name);
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = value;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&digits[at..]);
    }

    /// Left out where nobody knows it.
    fn status(&mut self, status: u16) {
        if status != 0 {
            self.number("status", u64::from(status));
        }
    }

    fn raw(&mut self, name: &str, json: &[u8]) {
        write_key(&mut self.0, name);
        self.0.extend_from_slice(json);
    }

    fn finish(mut self) -> Event {
        self.0.push(b'}');
        Event(self.0)
    }
}

const MAX_RAW_BYTES: usize = 16 * 1024;
const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests;
