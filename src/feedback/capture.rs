//! What a request tells about its caller and its payment, as events and ratings report it.
//!
//! A fixed list of headers, never Authorization, Cookie or a payment header. Payment facts are what the payer claims; whether they
//! are true is known only after settlement, and the event says so.

use std::borrow::Cow;
use std::ops::Range;

use crate::http::head::{self, HeaderLine, Line};
use crate::json::scan::{self, Kind};
use crate::json::{Members, Slot};
use crate::text::{self, Plus};

/// Header values that are reported, by name in lower case, in the order of the protocol's list.
pub(crate) fn request_headers(headers: &[HeaderLine<'_>]) -> Vec<(&'static str, String)> {
    let mut captured = Vec::new();
    for name in PLAIN {
        if let Line::One(value) | Line::Many(value) = head::find(headers, name) {
            push(&mut captured, name, text::clean(&text::lossy(value), VALUE_LIMIT));
        }
    }
    for name in WHOLE {
        if let Some(value) = joined(headers, name, WHOLE_LIMIT) {
            push(&mut captured, name, text::clean(&text::lossy(&value), WHOLE_LIMIT));
        }
    }
    if let Some(release) = sentry_release(headers) {
        push(&mut captured, "sentry-release", release);
    }
    captured
}

/// What a payment header, or a receipt, says of a payment. Each a text of at most 256 UTF-16 units; `None` = not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PaymentFacts {
    pub payer: Option<String>,
    pub network: Option<String>,
    pub amount: Option<String>,
    pub scheme: Option<String>,
    pub asset: Option<String>,
    /// Only a receipt tells it.
    pub transaction: Option<String>,
}

/// Reads the JSON of a v1 or v2 payment header. What is missing or not a text is not told; nothing is refused.
pub(crate) fn payment_facts(json: &[u8]) -> PaymentFacts {
    let Ok(payment) = scan::document(json, ["payload", "accepted", "network", "scheme"]) else {
        return PaymentFacts::default();
    };
    let accepted = inside(json, &payment.slots[1], ["network", "amount", "scheme", "asset"]);
    let authorization = inside(json, &payment.slots[0], ["authorization"])
        .and_then(|payload| inside(json, &payload.slots[0], ["from", "value"]));
    let of_accepted = |index: usize| accepted.as_ref().and_then(|found| fact(json, &found.slots[index]));
    let of_authorization = |index: usize| authorization.as_ref().and_then(|found| fact(json, &found.slots[index]));
    PaymentFacts {
        payer: of_authorization(0),
        network: of_accepted(0).or_else(|| fact(json, &payment.slots[2])),
        amount: of_accepted(1).or_else(|| of_authorization(1)),
        scheme: of_accepted(2).or_else(|| fact(json, &payment.slots[3])),
        asset: of_accepted(3),
        transaction: None,
    }
}

impl PaymentFacts {
    /// What a successful receipt tells counts before what the payer claimed.
    pub fn settled_by(mut self, receipt_json: &[u8]) -> Self {
        if let Ok(receipt) = scan::document(receipt_json, ["payer", "network", "transaction"]) {
            let [payer, network, transaction] = &receipt.slots;
            self.payer = fact(receipt_json, payer).or(self.payer);
            self.network = fact(receipt_json, network).or(self.network);
            self.transaction = fact(receipt_json, transaction).or(self.transaction);
        }
        self
    }

    /// What is left to report where nothing was delivered: which network, how much.
    pub fn of_a_failure(self) -> Self {
        PaymentFacts { network: self.network, amount: self.amount, ..PaymentFacts::default() }
    }
}

fn push(captured: &mut Vec<(&'static str, String)>, name: &'static str, value: String) {
    if !value.is_empty() {
        captured.push((name, value));
    }
}

/// All lines of a list header as one value (RFC 9110 section 5.3), `None` where there is none or more than `limit` bytes.
fn joined<'a>(headers: &[HeaderLine<'a>], name: &str, limit: usize) -> Option<Cow<'a, [u8]>> {
    match head::find(headers, name) {
        Line::Absent => None,
        Line::One(value) => (value.len() <= limit).then_some(Cow::Borrowed(value)),
        Line::Many(_) => {
            let values: Vec<&[u8]> = head::all(headers, name).collect();
            let length = values.iter().map(|value| value.len() + 2).sum::<usize>() - 2;
            (length <= limit).then(|| Cow::Owned(values.join(&b", "[..])))
        }
    }
}

/// The release of the caller's own software, from its W3C baggage. A malformed escape drops it.
fn sentry_release(headers: &[HeaderLine<'_>]) -> Option<String> {
    let baggage = joined(headers, "baggage", BAGGAGE_LIMIT)?;
    let value = baggage.split(|&byte| byte == b',').find_map(|member| {
        let equals = member.iter().position(|&byte| byte == b'=')?;
        (head::trim(&member[..equals]) == b"sentry-release").then(|| &member[equals + 1..])
    })?;
    let bare = head::trim(value.split(|&byte| byte == b';').next().unwrap_or_default());
    let decoded = text::percent_decode(bare, Plus::Itself)?;
    Some(text::clean(&decoded, VALUE_LIMIT))
}

fn inside<const N: usize>(json: &[u8], slot: &Slot, names: [&str; N]) -> Option<Members<N>> {
    let Slot::One(range) = slot else { return None };
    (scan::kind(json, range.start) == Kind::Object).then(|| scan::object(json, range.start, names).ok()).flatten()
}

fn fact(json: &[u8], slot: &Slot) -> Option<String> {
    let Slot::One(range) = slot else { return None };
    let value = text::clean(&text::lossy(&scan::text_of(json, range)?), FACT_LIMIT);
    (!value.is_empty()).then_some(value)
}

/// Cut at [`VALUE_LIMIT`].
const PLAIN: [&str; 11] = [
    "user-agent",
    "x-client-id",
    "x-session-id",
    "x-wallet-address",
    "x-solana-wallet-address",
    "referer",
    "access-control-expose-headers",
    "payment-retry",
    "cf-worker",
    "signature-agent",
    "x-agent-id",
];
/// Whole or not at all: a cut signature can never verify.
const WHOLE: [&str; 2] = ["signature-input", "signature"];

/// UTF-16 units of an ordinary value.
const VALUE_LIMIT: usize = 512;
/// Bytes of a signature header.
const WHOLE_LIMIT: usize = 4_096;
/// Longest baggage that is looked into, in bytes.
const BAGGAGE_LIMIT: usize = 8_192;
/// UTF-16 units of a payment fact.
const FACT_LIMIT: usize = 256;

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
