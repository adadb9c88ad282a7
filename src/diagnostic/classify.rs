//! From the text of an error to the reason behind it.
//!
//! Order: the exact text; the wrappers that servers put around a facilitator's answer; the code in front of `: `; families of
//! machine reasons. Free text is never put into a family: "insufficient funds for gas" in a node's message is the
//! facilitator's gas, not the payer's balance. What nothing fits is `unclassified`, or `settlement_unknown` once settling has begun,
//! so that an unknown text never advises to pay again.

use super::code::{Reason, RetryPolicy};
use super::reasons::EXACT;
use crate::json::scan::{self, Slot};

/// A classified failure, with the machine codes worth repeating to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub reason: Reason,
    pub retry_policy: RetryPolicy,
    /// Whether this error comes only after the payer's signature was checked.
    pub payer_proven: bool,
    pub facilitator_error_code: Option<String>,
    pub client_error_code: Option<&'static str>,
}

/// How far the payment had come when the error was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A challenge's error: the payment was refused before settlement, as far as the protocol says.
    Verify,
    /// A receipt's error: settlement was tried.
    Settle,
    /// A v1 body does not tell.
    Either,
}

/// What the request brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    Nothing,
    /// A payment header that does not decode as a payment.
    Undecodable,
    Payment,
    /// An open402 proof: that payment is on the chain already.
    Proof,
}

/// Classifies the error text of one failed request. `None`: there was no payment, so nothing failed.
///
/// `error` is `None` where the server gave no reason at all.
pub fn classify(error: Option<&str>, phase: Phase, brought: Brought) -> Option<Failure> {
    if brought == Brought::Nothing {
        return None;
    }
    let text = error.unwrap_or_default().trim();
    let mut found = by_text(text, phase).unwrap_or(Found::of(fallback(phase)));
    // Some servers answer a payment they could not read, or would not look at, as if there had been none.
    if found.reason == Reason::NoPayment || (brought == Brought::Undecodable && found.reason == Reason::Unclassified) {
        found = Found::of(match brought {
            Brought::Undecodable => Reason::MalformedPayment,
            Brought::Payment if is_no_payment(text) => Reason::MalformedPayment,
            _ => Reason::Unclassified,
        });
    }
    // A parser's message: about the header if the header is broken, else about a facilitator's answer, whose effect is unknown.
    if text.starts_with("Unexpected token") || text.ends_with("is not valid JSON") {
        let unread = brought == Brought::Undecodable;
        found = Found::of(if unread { Reason::MalformedPayment } else { Reason::SettlementUnknown });
    }
    if phase == Phase::Settle && found.reason == Reason::FacilitatorUnavailable {
        found = Found::of(Reason::SettlementUnknown);
    }
    let facilitator_code = machine_code(text).filter(|_| client_code(text).is_none());
    // Screening results are not told, not even by their name.
    let told = found.reason != Reason::PaymentRefused;
    Some(Failure {
        reason: found.reason,
        retry_policy: found.retry_policy.unwrap_or(found.reason.facts().retry_policy),
        payer_proven: found.payer_proven,
        facilitator_error_code: facilitator_code.filter(|_| told).map(str::to_owned),
        client_error_code: client_code(text).or(match (brought, found.reason) {
            (Brought::Undecodable, Reason::MalformedPayment) => Some("undecodable_payment_header"),
            _ => None,
        }),
    })
}

/// The `error` of a v1 body: it does not say whether verifying or settling failed.
pub fn from_v1_body(body: &[u8], brought: Brought) -> Option<Failure> {
    classify(text_member(body, "error").as_deref(), Phase::Either, brought)
}

/// The `error` of a decoded v2 challenge (PAYMENT-REQUIRED, or the same object as a body).
pub fn from_v2_challenge(challenge: &[u8], brought: Brought) -> Option<Failure> {
    classify(text_member(challenge, "error").as_deref(), Phase::Verify, brought)
}

/// The `errorReason` of a decoded receipt with `success: false`; `None` for any other receipt.
pub fn from_receipt(receipt: &[u8], brought: Brought) -> Option<Failure> {
    let members = scan::document(receipt, ["success"]).ok()?;
    let Slot::One(range) = &members.slots[0] else { return None };
    if &receipt[range.clone()] != b"false" {
        return None;
    }
    classify(text_member(receipt, "errorReason").as_deref(), Phase::Settle, brought)
}

/// An open402 gateway's answer: 402 without a reason, or 4xx `{"error", "detail"}`, where `detail` is the reason.
pub fn from_open402_body(body: &[u8], brought: Brought) -> Option<Failure> {
    let text = text_member(body, "detail").or_else(|| text_member(body, "error"));
    classify(text.as_deref(), Phase::Verify, brought)
}

/// A 4xx answer without a challenge. `None` unless its text is one that only payments fail with: a paid request may just as
/// well be refused for what it asks, and a merchant's own `invalid_date` or list of issues is no failed payment.
pub fn from_refusal(body: &[u8], brought: Brought) -> Option<Failure> {
    let text = text_member(body, "detail").or_else(|| text_member(body, "error"))?;
    let code = text.split_once(": ").map_or(text.as_str(), |(code, _)| code);
    let speaks_of_payment = |text: &str| exact(text).is_some() && text != "unknown_error";
    let known = speaks_of_payment(&text)
        || speaks_of_payment(code)
        || wrapped(&text, Phase::Verify).is_some()
        || (!text.starts_with('[') && phrase(&text).is_some());
    if known { classify(Some(&text), Phase::Verify, brought) } else { None }
}

#[derive(Clone, Copy)]
struct Found {
    reason: Reason,
    payer_proven: bool,
    retry_policy: Option<RetryPolicy>,
}

impl Found {
    fn of(reason: Reason) -> Found {
        Found { reason, payer_proven: false, retry_policy: None }
    }
}

fn fallback(phase: Phase) -> Reason {
    if phase == Phase::Settle { Reason::SettlementUnknown } else { Reason::Unclassified }
}

fn is_no_payment(text: &str) -> bool {
    exact(text).is_some_and(|found| found.reason == Reason::NoPayment)
}

fn by_text(text: &str, phase: Phase) -> Option<Found> {
    exact(text)
        .or_else(|| wrapped(text, phase))
        .or_else(|| phrase(text))
        .or_else(|| text.split_once(": ").and_then(|(code, _)| by_code(code)))
        .or_else(|| by_code(text))
}

fn exact(text: &str) -> Option<Found> {
    let index = EXACT.binary_search_by(|(known, ..)| known.as_bytes().cmp(text.as_bytes())).ok()?;
    let (_, reason, payer_proven) = EXACT[index];
    Some(Found { reason, payer_proven, retry_policy: None })
}

/// A machine reason: exact, else by its family.
fn by_code(code: &str) -> Option<Found> {
    exact(code).or_else(|| machine_code(code).and_then(family))
}

/// Texts in which a server hands on what a facilitator answered.
fn wrapped(text: &str, phase: Phase) -> Option<Found> {
    if let Some(rest) = text.strip_prefix("Facilitator verify failed (") {
        return Some(http_answer(rest, Phase::Verify));
    }
    if let Some(rest) = text.strip_prefix("Facilitator settle failed (") {
        return Some(http_answer(rest, Phase::Settle));
    }
    if let Some(rest) = text.strip_prefix("Failed to verify payment: ") {
        // A status or its text means the facilitator did not answer; an unknown machine reason means it did.
        let unknown = if machine_code(rest).is_some() { fallback(phase) } else { Reason::FacilitatorUnavailable };
        return Some(by_text(rest, phase).unwrap_or(Found::of(unknown)));
    }
    if let Some(rest) = text.strip_prefix("Failed to settle payment: ") {
        let known = by_text(rest, Phase::Settle).filter(|found| found.reason != Reason::FacilitatorUnavailable);
        return Some(known.unwrap_or(Found::of(Reason::SettlementUnknown)));
    }
    if text.starts_with("Facilitator verify returned invalid") {
        return Some(Found::of(Reason::FacilitatorUnavailable));
    }
    text.starts_with("Facilitator settle returned invalid").then_some(Found::of(Reason::SettlementUnknown))
}

/// `500): excerpt`: what an HTTP status of the facilitator means, unless its answer names a reason.
fn http_answer(rest: &str, phase: Phase) -> Found {
    let (status, excerpt) = rest.split_once("): ").unwrap_or((rest.trim_end_matches(')'), ""));
    for name in ["\"invalidReason\":\"", "\"errorReason\":\""] {
        let named = excerpt.split_once(name).and_then(|(_, tail)| tail.split_once('"'));
        if let Some(found) = named.and_then(|(code, _)| by_code(code)) {
            return found;
        }
    }
    if phase == Phase::Settle {
        return Found::of(Reason::SettlementUnknown);
    }
    Found::of(match status {
        // The reference facilitator says so to a description over 500 characters as well as to a malformed payload.
        "400" | "422" => Reason::FacilitatorRefusedPayload,
        "401" | "403" | "404" => Reason::ServerMisconfigured,
        _ => Reason::FacilitatorUnavailable,
    })
}

/// Sentences that servers and SDKs send, told by how they begin.
fn phrase(text: &str) -> Option<Found> {
    for &(start, reason) in PHRASES {
        if text.starts_with(start) {
            return Some(Found::of(reason));
        }
    }
    if text.contains("authorization is used or canceled") || text.contains("AuthorizationUsed") {
        return Some(Found { reason: Reason::PaymentAlreadyUsed, payer_proven: true, retry_policy: None });
    }
    if text.starts_with("Verification error:") {
        let retry_policy = Some(RetryPolicy::RetrySamePayment);
        return Some(Found { reason: Reason::FacilitatorUnavailable, payer_proven: false, retry_policy });
    }
    // A validator's list of issues with the payload (zod, pydantic).
    let is_issues = text.starts_with('[') && text.contains("\"code\"") && text.contains("\"path\"");
    is_issues.then_some(Found::of(Reason::MalformedPayment))
}

#[rustfmt::skip]
const PHRASES: &[(&str, Reason)] = &[
    ("Request too old", Reason::StaleRequestTimestamp),
    ("Request timestamp is in the future", Reason::StaleRequestTimestamp),
    ("Duplicate nonce", Reason::RequestNonceReused),
    ("Missing X-x402-Timestamp header", Reason::ReplayHeadersMissing),
    ("Missing X-x402-Nonce header", Reason::ReplayHeadersMissing),
    ("Invalid timestamp format", Reason::ReplayHeadersInvalid),
    ("Invalid nonce format", Reason::ReplayHeadersInvalid),
    ("Nonce too long", Reason::ReplayHeadersInvalid),
    ("x402 payment proof required", Reason::NoPayment),
    ("Unable to find matching payment requirements", Reason::RequirementsMismatch),
    ("Invalid network", Reason::RequirementsMismatch),
    ("Unsupported x402 version", Reason::MalformedPayment),
    ("Invalid character", Reason::MalformedPayment),
    ("Invalid or malformed payment header", Reason::MalformedPayment),
    ("Incorrect padding", Reason::MalformedPayment),
    ("No facilitator supports", Reason::ServerMisconfigured),
    ("[x402] No server implementation registered", Reason::ServerMisconfigured),
    ("Payment verification failed", Reason::FacilitatorUnavailable),
    ("fetch failed", Reason::FacilitatorUnavailable),
    ("Settlement failed", Reason::SettlementUnknown),
    ("Payment settlement failed", Reason::SettlementUnknown),
    ("request timed out", Reason::SettlementUnknown),
];

/// The first family a machine reason belongs to. `unclassified` has no row: it is what is left.
fn family(code: &str) -> Option<Found> {
    FAMILIES
        .iter()
        .find(|(parts, _)| parts.iter().any(|part| code.contains(part)))
        .map(|&(_, reason)| Found::of(reason))
}

#[rustfmt::skip]
const FAMILIES: &[(&[&str], Reason)] = &[
    (&["account_frozen", "sanction", "blocklist", "blacklist", "kyt"], Reason::PaymentRefused),
    (&["insufficient"], Reason::InsufficientBalance),
    (&["expired", "valid_before", "deadline"], Reason::AuthorizationExpired),
    (&["valid_after", "not_yet_valid", "too_early"], Reason::AuthorizationNotYetValid),
    (&["already_used", "duplicate", "nonce"], Reason::PaymentAlreadyUsed),
    (&["timed_out", "timeout", "pending"], Reason::SettlementPending),
    (&["signature"], Reason::SignatureInvalid),
    (&["simulation"], Reason::SimulationFailed),
    (&["transaction_failed", "broadcast", "deployment_failed", "approval_tx_failed"], Reason::SettlementUnknown),
    (&["mismatch", "amount", "recipient", "payee", "asset", "mint", "spender", "scheme", "network", "value",
       "destination", "owner", "token", "memo", "receiver", "facilitator", "authorizer", "withdraw_delay", "channel",
       "cumulative", "refund", "settle_", "claim_", "nothing_to_settle", "below_min_deposit"], Reason::RequirementsMismatch),
    (&["instruction", "wrong_", "unsupported_version", "payload", "format", "invalid", "missing", "required",
       "unavailable", "parse"], Reason::MalformedPayment),
];

/// The text, or its part in front of `: `, if it is a machine reason: lower-case letters, digits, underscores.
fn machine_code(text: &str) -> Option<&str> {
    let code = text.split_once(": ").map_or(text, |(code, _)| code);
    let is_code = (1..=128).contains(&code.len())
        && code.starts_with(|first: char| first.is_ascii_lowercase())
        && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_code.then_some(code)
}

/// Faults of the request that a merchant's server finds itself, under a name of their own.
fn client_code(text: &str) -> Option<&'static str> {
    #[rustfmt::skip]
    const NAMES: &[(&str, &str)] = &[
        ("No matching payment requirements", "no_matching_payment_requirements"),
        ("Unable to find matching payment requirements", "no_matching_payment_requirements"),
        ("extension_echo_mismatch", "extension_echo_mismatch"),
        ("Unsupported x402 version", "unsupported_x402_version"),
        ("invalid_payment_signature_header", "undecodable_payment_header"),
        ("Invalid character", "undecodable_payment_header"),
        ("Invalid or malformed payment header", "undecodable_payment_header"),
        ("Incorrect padding", "undecodable_payment_header"),
        ("Invalid x402 authorization format", "malformed_authorization"),
        ("Request too old", "request_too_old"),
        ("Request timestamp is in the future", "request_in_the_future"),
        ("Duplicate nonce", "duplicate_nonce"),
        ("Missing X-x402-Timestamp header", "missing_timestamp"),
        ("Missing X-x402-Nonce header", "missing_nonce"),
        ("Invalid timestamp format", "invalid_timestamp"),
        ("Invalid nonce format", "invalid_nonce"),
        ("Nonce too long", "nonce_too_long"),
    ];
    NAMES.iter().find(|(start, _)| text.starts_with(start)).map(|&(_, name)| name)
}

/// A text member of a JSON object, where it stands exactly once.
fn text_member(json: &[u8], name: &str) -> Option<String> {
    let members = scan::document(json, [name]).ok()?;
    let Slot::One(range) = &members.slots[0] else { return None };
    String::from_utf8(scan::text_of(json, range)?.into_owned()).ok()
}
