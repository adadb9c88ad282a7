//! A 402 in any of the dialects, as one shape.
//!
//! Stricter than the clients in the field: what two readers could take for two prices is an error, not a guess. Sources: x402 v2
//! transport (`PAYMENT-REQUIRED`), x402 v1 body, open402 (`WWW-Authenticate: x402 …`).

use std::fmt;
use std::ops::Range;

use crate::dialect::open402;
use crate::http::envelope;
use crate::http::head::{HeaderLine, Line, find};
use crate::json::scan::{self, Kind, Slot};

/// What a server asks to be paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentChallenge {
    pub protocol: Protocol,
    /// The server's reason, a machine code or free text.
    pub error: Option<String>,
    /// URL of what is sold.
    pub resource: Option<String>,
    pub description: Option<String>,
    /// The ways to pay, in the server's order; never empty.
    pub offers: Vec<Offer>,
    /// The extensions as JSON text, to be echoed as they are (v2).
    pub extensions: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    X402V2,
    X402V1,
    Open402,
}

/// One way to pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// `exact`, …; `open402` in that dialect.
    pub scheme: String,
    /// CAIP-2 in v2, a name in v1 and open402.
    pub network: String,
    /// Contract or mint address; a symbol is possible in open402.
    pub asset: String,
    /// Digits, in the unit below.
    pub amount: String,
    pub unit: Unit,
    pub pay_to: String,
    pub max_timeout_s: Option<u64>,
}

/// What an amount counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The asset's smallest unit, a whole number.
    Atomic,
    /// The asset itself, a plain decimal.
    Token,
}

/// Why there is nothing to pay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChallengeError {
    /// The status is not 402: this is no challenge, whatever headers it has.
    NotPaymentRequired(u16),
    /// A 402 of no dialect known here.
    Unknown,
    /// A header line or a JSON name stands there twice.
    Ambiguous(&'static str),
    /// Something a payment needs is missing or of the wrong kind.
    Malformed(&'static str),
    /// The open402 header breaks a rule.
    Open402(open402::Fault),
}

impl fmt::Display for ChallengeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChallengeError::NotPaymentRequired(status) => write!(out, "status {status} is no challenge; only 402 is"),
            ChallengeError::Unknown => write!(out, "402 without an x402 or open402 challenge"),
            ChallengeError::Ambiguous(name) => {
                write!(out, "{name}: stands there twice; readers differ on which counts")
            }
            ChallengeError::Malformed(name) => write!(out, "{name}: missing, or not what x402 says it is"),
            ChallengeError::Open402(fault) => write!(out, "WWW-Authenticate: {fault}"),
        }
    }
}

impl std::error::Error for ChallengeError {}

/// Reads the challenge of a response: the v2 header, else the JSON body (v2 or v1), else the open402 header.
///
/// # Errors
/// See [`ChallengeError`]. Nothing is to be paid then.
pub fn parse_challenge(
    status: u16,
    headers: &[HeaderLine<'_>],
    body: &[u8],
) -> Result<PaymentChallenge, ChallengeError> {
    if status != 402 {
        return Err(ChallengeError::NotPaymentRequired(status));
    }
    match find(headers, "payment-required") {
        Line::One(value) => {
            let json = envelope::decode(value).ok_or(ChallengeError::Malformed("PAYMENT-REQUIRED"))?;
            return from_json(&json)?.ok_or(ChallengeError::Malformed("PAYMENT-REQUIRED"));
        }
        Line::Many(_) => return Err(ChallengeError::Ambiguous("PAYMENT-REQUIRED")),
        Line::Absent => {}
    }
    if let Some(challenge) = from_json(body)? {
        return Ok(challenge);
    }
    match open402::Challenge::find(headers) {
        Ok(challenge) => Ok(of_open402(challenge)),
        Err(open402::Fault::Absent) => Err(ChallengeError::Unknown),
        Err(fault) => Err(ChallengeError::Open402(fault)),
    }
}

/// A v1 or v2 challenge object; `None` where the text is no JSON object with an x402Version.
fn from_json(json: &[u8]) -> Result<Option<PaymentChallenge>, ChallengeError> {
    let names = ["x402Version", "accepts", "error", "resource", "extensions"];
    let Ok(members) = scan::document(json, names) else { return Ok(None) };
    let [version, accepts, error, resource, extensions] = &members.slots;
    let protocol = match one(version, "x402Version")?.map(|range| &json[range.clone()]) {
        None => return Ok(None),
        Some(b"1") => Protocol::X402V1,
        Some(b"2") => Protocol::X402V2,
        Some(_) => return Err(ChallengeError::Malformed("x402Version")),
    };
    let accepts = one(accepts, "accepts")?.ok_or(ChallengeError::Malformed("accepts"))?;
    let mut places = Vec::new();
    scan::elements(json, accepts.start, |element| places.push(element.start))
        .map_err(|_| ChallengeError::Malformed("accepts"))?;
    if places.is_empty() || places.len() > MAX_OFFERS {
        return Err(ChallengeError::Malformed("accepts"));
    }
    let mut challenge = PaymentChallenge {
        protocol,
        error: text(json, error, "error")?,
        resource: None,
        description: None,
        offers: Vec::with_capacity(places.len()),
        extensions: None,
    };
    for &place in &places {
        challenge.offers.push(offer(json, place, protocol)?);
    }
    // v1 repeats resource and description in each offer; v2 has one object for all.
    let described = match protocol {
        Protocol::X402V1 => Some(places[0]),
        _ => one(resource, "resource")?.map(|range| range.start),
    };
    if let Some(start) = described.filter(|&start| scan::kind(json, start) == Kind::Object) {
        let object = scan::object(json, start, ["url", "resource", "description"])
            .map_err(|_| ChallengeError::Malformed("resource"))?;
        let [url, name, description] = &object.slots;
        let slot = if protocol == Protocol::X402V1 { name } else { url };
        challenge.resource = text(json, slot, "resource")?;
        challenge.description = text(json, description, "description")?;
    }
    if let Some(range) = one(extensions, "extensions")? {
        challenge.extensions = std::str::from_utf8(&json[range.clone()]).ok().map(str::to_owned);
    }
    Ok(Some(challenge))
}

fn offer(json: &[u8], start: usize, protocol: Protocol) -> Result<Offer, ChallengeError> {
    let amount_name = if protocol == Protocol::X402V1 { "maxAmountRequired" } else { "amount" };
    let names = ["scheme", "network", "asset", amount_name, "payTo", "maxTimeoutSeconds"];
    let object = scan::object(json, start, names).map_err(|_| ChallengeError::Malformed("accepts"))?;
    let [scheme, network, asset, amount, pay_to, timeout] = &object.slots;
    let needed =
        |slot, name| text(json, slot, name)?.filter(|text| !text.is_empty()).ok_or(ChallengeError::Malformed(name));
    let amount = needed(amount, "amount")?;
    if amount.len() > 78 || !amount.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ChallengeError::Malformed("amount"));
    }
    let max_timeout_s = one(timeout, "maxTimeoutSeconds")?
        .and_then(|range| std::str::from_utf8(&json[range.clone()]).ok())
        .and_then(|digits| digits.parse().ok());
    Ok(Offer {
        scheme: needed(scheme, "scheme")?,
        network: needed(network, "network")?,
        asset: needed(asset, "asset")?,
        amount,
        unit: Unit::Atomic,
        pay_to: needed(pay_to, "payTo")?,
        max_timeout_s,
    })
}

fn of_open402(challenge: open402::Challenge) -> PaymentChallenge {
    PaymentChallenge {
        protocol: Protocol::Open402,
        error: None,
        resource: None,
        description: None,
        offers: vec![Offer {
            scheme: "open402".to_owned(),
            network: challenge.chain,
            asset: challenge.token,
            amount: challenge.amount,
            unit: Unit::Token,
            pay_to: challenge.address,
            max_timeout_s: None,
        }],
        extensions: None,
    }
}

fn one<'s>(slot: &'s Slot, name: &'static str) -> Result<Option<&'s Range<usize>>, ChallengeError> {
    match slot {
        Slot::Absent => Ok(None),
        Slot::One(range) => Ok(Some(range)),
        Slot::Repeated => Err(ChallengeError::Ambiguous(name)),
    }
}

/// A text, `None` where there is none or something else stands there.
fn text(json: &[u8], slot: &Slot, name: &'static str) -> Result<Option<String>, ChallengeError> {
    let Some(range) = one(slot, name)? else { return Ok(None) };
    Ok(scan::text_of(json, range).and_then(|bytes| String::from_utf8(bytes.into_owned()).ok()))
}

const MAX_OFFERS: usize = 64;
