//! open402 / ag402: the challenge in `WWW-Authenticate: x402 …`, the payment in `Authorization: x402 …`.
//!
//! Parser and builder are strict where the clients in the field are loose. Those scan `(\w+)="([^"]*)"` over the whole
//! header, so that `max-amount="99"` is read as `amount` and the last of two names wins. What the strict and the loose
//! reading of one challenge do not agree on is refused here, whichever side it would favour.
//!
//! Not done on purpose: the header of a merchant is never written or edited (the body is, in `open402_body`). The
//! fields `x402 chain token amount address` stand in the document "x402 Protocol Specification v1.0".

use std::fmt;

use sha2::{Digest, Sha256};

use crate::http::head::{self, HeaderLine, Line, find};

use super::open402_grammar::{Fields, MAX_VALUE, SCHEME, Scheme, challenges, checked};

pub use super::open402_body::{Decoration, decorate};
pub use super::open402_json::BuildError;
pub use super::open402_replay::{ReplayFields, replay_headers};
pub use super::open402_schema::json_schema;

/// What a 402 of this dialect asks for. All texts are as they stand in the header, none is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Blockchain identifier: `solana`, `base`, `ethereum`.
    pub chain: String,
    /// Token symbol (`USDC`) or mint address.
    pub token: String,
    /// Amount in token units, a plain decimal above zero: `0.05`.
    pub amount: String,
    /// The recipient's wallet address.
    pub address: String,
    pub service_hash: Option<String>,
    pub service_tier: Option<String>,
    pub refund_contract: Option<String>,
}

/// What a client pays with: the proof of a payment that is on the chain already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    pub tx_hash: String,
    /// A claim of the client until somebody has looked at the chain.
    pub payer_address: Option<String>,
    pub chain: Option<String>,
    pub request_id: Option<String>,
}

/// Why a header is not taken, or not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// There is no `x402` challenge or credential.
    Absent,
    /// More than one header line, or more than one x402 challenge: readers differ on which one counts.
    Ambiguous,
    /// Not `name="value"` pairs behind the scheme.
    Grammar,
    /// A required field is not there, or is empty.
    Missing(&'static str),
    /// A field stands there twice.
    Duplicate(&'static str),
    /// A loose scanner reads this field with another value, from inside a hyphenated name or an escaped quote.
    Smuggled(&'static str),
    /// The value holds CR, LF, a quote, a backslash, a control character or a byte that is not ASCII.
    Unsafe(&'static str),
    /// The amount is not a plain decimal above zero.
    Amount,
    /// The value is longer than any real one.
    TooLong(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Absent => write!(out, "no x402 challenge or credential; expected `x402 name=\"value\" …`"),
            Fault::Ambiguous => write!(out, "more than one x402 challenge or header line; send exactly one"),
            Fault::Grammar => write!(out, "not name=\"value\" pairs behind `x402`"),
            Fault::Missing(name) => write!(out, "{name}: missing or empty; it is required"),
            Fault::Duplicate(name) => write!(out, "{name}: stands there twice; clients differ on which one counts"),
            Fault::Smuggled(name) => write!(out, "{name}: a loose scanner reads another value than the one given"),
            Fault::Unsafe(name) => {
                write!(out, "{name}: holds a quote, backslash, line break, control or non-ASCII character")
            }
            Fault::Amount => write!(out, "amount: not a plain decimal above zero, like 0.05"),
            Fault::TooLong(name) => write!(out, "{name}: longer than {MAX_VALUE} bytes"),
        }
    }
}

impl std::error::Error for Fault {}

impl Challenge {
    /// Reads one `WWW-Authenticate` value. Other schemes may stand before or behind; the scheme's case does not matter.
    ///
    /// # Errors
    /// Whatever a client could read in two ways: see [`Fault`].
    pub fn parse(value: &[u8]) -> Result<Challenge, Fault> {
        let mut ours = challenges(value)?.into_iter().filter(|one| one.scheme.eq_ignore_ascii_case(SCHEME));
        match (ours.next(), ours.next()) {
            (None, _) => Err(Fault::Absent),
            (Some(_), Some(_)) => Err(Fault::Ambiguous),
            (Some(one), None) => Challenge::from_parameters(&one),
        }
    }

    /// The challenge among the headers of a response: exactly one in all `WWW-Authenticate` lines.
    ///
    /// # Errors
    /// As [`Challenge::parse`].
    pub fn find(headers: &[HeaderLine<'_>]) -> Result<Challenge, Fault> {
        let mut found = Err(Fault::Absent);
        let names_us = |value: &&[u8]| value.windows(SCHEME.len()).any(|part| part.eq_ignore_ascii_case(SCHEME));
        for value in head::all(headers, "www-authenticate").filter(names_us) {
            match (Challenge::parse(value), &found) {
                (Err(Fault::Absent), _) => {}
                (one, Err(Fault::Absent)) => found = one,
                _ => return Err(Fault::Ambiguous),
            }
        }
        found
    }

    /// The `WWW-Authenticate` value, fields in the order of the document, one space between.
    ///
    /// # Errors
    /// A field that is empty, unsafe in a header, or an amount that is not a plain decimal above zero.
    pub fn to_header(&self) -> Result<String, Fault> {
        if !is_amount(&self.amount) {
            return Err(if self.amount.is_empty() { Fault::Missing("amount") } else { Fault::Amount });
        }
        write(&[
            ("chain", Some(&self.chain)),
            ("token", Some(&self.token)),
            ("amount", Some(&self.amount)),
            ("address", Some(&self.address)),
            ("service_hash", self.service_hash.as_ref()),
            ("service_tier", self.service_tier.as_ref()),
            ("refund_contract", self.refund_contract.as_ref()),
        ])
    }

    fn from_parameters(found: &Scheme<'_>) -> Result<Challenge, Fault> {
        let mut fields = Fields::read(found, &CHALLENGE_FIELDS)?;
        let challenge = Challenge {
            chain: fields.required("chain")?,
            token: fields.required("token")?,
            amount: fields.required("amount")?,
            address: fields.required("address")?,
            service_hash: fields.optional("service_hash"),
            service_tier: fields.optional("service_tier"),
            refund_contract: fields.optional("refund_contract"),
        };
        if is_amount(&challenge.amount) { Ok(challenge) } else { Err(Fault::Amount) }
    }
}

impl Proof {
    /// Reads an `Authorization` value: `x402 <tx_hash>` or `x402 tx_hash="…" payer_address="…" …`.
    ///
    /// # Errors
    /// [`Fault::Absent`] for another scheme, else what is wrong with it.
    pub fn parse(value: &[u8]) -> Result<Proof, Fault> {
        let value = head::trim(value);
        let end = value.iter().position(|byte| b" \t".contains(byte)).unwrap_or(value.len());
        let (scheme, rest) = (&value[..end], head::trim(&value[end..]));
        if !scheme.eq_ignore_ascii_case(SCHEME) || rest.is_empty() {
            return Err(Fault::Absent);
        }
        if !rest.contains(&b'=') {
            let tx_hash = checked("tx_hash", rest)?;
            return if tx_hash.contains([' ', '\t', ',']) {
                Err(Fault::Grammar)
            } else {
                Ok(Proof { tx_hash, ..Proof::default() })
            };
        }
        let mut all = challenges(value)?;
        if all.len() != 1 {
            return Err(Fault::Ambiguous);
        }
        let mut fields = Fields::read(&all.remove(0), &PROOF_FIELDS)?;
        Ok(Proof {
            tx_hash: fields.required("tx_hash")?,
            payer_address: fields.optional("payer_address"),
            chain: fields.optional("chain"),
            request_id: fields.optional("request_id"),
        })
    }

    /// The payment among the headers of a request: one `Authorization` line that is an x402 credential.
    ///
    /// # Errors
    /// As [`Proof::parse`]; [`Fault::Ambiguous`] for two lines.
    pub fn find(headers: &[HeaderLine<'_>]) -> Result<Proof, Fault> {
        match find(headers, "authorization") {
            Line::Absent => Err(Fault::Absent),
            Line::One(value) => Proof::parse(value),
            Line::Many(_) => Err(Fault::Ambiguous),
        }
    }

    /// The `Authorization` value in the structured spelling.
    ///
    /// # Errors
    /// An empty tx_hash, or a field that is unsafe in a header.
    pub fn to_header(&self) -> Result<String, Fault> {
        write(&[
            ("tx_hash", Some(&self.tx_hash)),
            ("payer_address", self.payer_address.as_ref()),
            ("chain", self.chain.as_ref()),
            ("request_id", self.request_id.as_ref()),
        ])
    }
}

/// What was agreed on `Accept-x402-Version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negotiated {
    /// The client asked for `v1.0`: everything of the document, extension fields included.
    V1,
    /// No version asked for: the base protocol, which any client understands.
    Base,
    /// Another version asked for: graceful degradation to the base protocol.
    Degraded,
}

impl Negotiated {
    /// From the header's value as it stands; an exact match counts, nothing is guessed from `V1.0` or `v1.0, v2.0`.
    pub fn from_value(value: &[u8]) -> Negotiated {
        match value {
            b"v1.0" => Negotiated::V1,
            b"" => Negotiated::Base,
            _ => Negotiated::Degraded,
        }
    }

    /// From the headers of a request.
    pub fn of(headers: &[HeaderLine<'_>]) -> Negotiated {
        match find(headers, "accept-x402-version") {
            Line::Absent => Negotiated::Base,
            Line::One(value) => Negotiated::from_value(value),
            Line::Many(_) => Negotiated::Degraded,
        }
    }

    /// Whether extension fields may be added to the body.
    pub fn allows_extensions(self) -> bool {
        self == Negotiated::V1
    }
}

/// The value of `X-Service-Hash` for a service description: `sha256:` and 64 lower-case hex digits of its UTF-8.
pub fn service_hash(description: &str) -> String {
    use fmt::Write;
    let mut out = String::with_capacity(71);
    out.push_str("sha256:");
    for byte in Sha256::digest(description.as_bytes()) {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// `X-Agent-ID` of a request as a text to report: at most 256 characters, control characters as spaces. It is a
/// name the client gives itself, proof of nothing.
pub fn agent_id(headers: &[HeaderLine<'_>]) -> Option<String> {
    let value = find(headers, "x-agent-id").single()?;
    let text = std::str::from_utf8(value).ok()?;
    let shown: String =
        text.chars().take(MAX_VALUE).map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let shown = shown.trim();
    (!shown.is_empty()).then(|| shown.to_owned())
}

/// Whether `text` is a plain decimal above zero: digits, at most one point, no sign, exponent or space.
pub(crate) fn is_amount(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= 64 && digits(whole) && digits(fraction) && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
}

fn write(fields: &[(&'static str, Option<&String>)]) -> Result<String, Fault> {
    let mut out = String::from("x402");
    for (index, &(name, value)) in fields.iter().enumerate() {
        match value {
            Some(value) if !value.is_empty() => {
                checked(name, value.as_bytes())?;
                out.push_str(&format!(" {name}=\"{value}\""));
            }
            // The first fields up to the first optional one are required; an absent option is left out.
            Some(_) => return Err(Fault::Missing(name)),
            None if index == 0 => return Err(Fault::Missing(name)),
            None => {}
        }
    }
    Ok(out)
}

const CHALLENGE_FIELDS: [&str; 7] =
    ["chain", "token", "amount", "address", "service_hash", "service_tier", "refund_contract"];
const PROOF_FIELDS: [&str; 4] = ["tx_hash", "payer_address", "chain", "request_id"];
