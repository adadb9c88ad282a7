//! The dialects of x402: where a challenge, a payment and a receipt are, and where we may add.
//!
//! Finds, never writes: every answer is a byte range into the caller's text. A closed set with one match per
//! question; nothing is converted from one dialect to another.

pub mod open402;
pub(crate) mod open402_body;
mod open402_grammar;
mod open402_json;
mod open402_replay;
mod open402_schema;
pub(crate) mod x402_v1;
pub(crate) mod x402_v2;

use std::ops::Range;

use crate::json::scan::{self, Fault, Kind, Members, Slot};
use crate::skip::Skip;

/// Which protocol a message speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    X402V1,
    X402V2,
    Open402,
}

impl Dialect {
    /// The name under which events report it.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::X402V1 => "x402/1",
            Dialect::X402V2 => "x402/2",
            Dialect::Open402 => "open402",
        }
    }
}

/// Our key among the extensions of a challenge or receipt.
pub(crate) const EXTENSION_NAME: &str = "forge-feedback";

/// Every key we may add to `extensions`; the first one there makes the document as a whole somebody's already.
pub(crate) const EXTENSION_NAMES: [&str; 3] = [EXTENSION_NAME, "forge-agent-context", "diagnostic"];

/// Where a sentence may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DescriptionPlace {
    /// Behind a text: the raw range inside its quotes.
    Append(Range<usize>),
    /// As a new last member of the object that lacks it.
    Member(Members<1>),
    /// Nowhere: not a string, or no object to put it into.
    Nowhere,
}

/// Where an extension may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExtensionPlace {
    /// As a new last member of `extensions`, in which [`EXTENSION_NAMES`] were looked for.
    Member(Members<3>),
    /// In place of `null`.
    Null(Range<usize>),
    /// As a new `extensions` at the end of the document.
    Absent,
    /// Nowhere: our key is there already, so the document as a whole is left alone.
    Ours,
    /// Nowhere: `extensions` is something else.
    Nowhere,
}

impl ExtensionPlace {
    /// Whether an extension of that name, one of [`EXTENSION_NAMES`], is there already.
    pub fn has(&self, name: &str) -> bool {
        let ExtensionPlace::Member(object) = self else { return false };
        EXTENSION_NAMES.iter().zip(&object.slots).any(|(known, slot)| *known == name && *slot != Slot::Absent)
    }
}

/// What a base64 JSON value or a JSON body turned out to be.
pub(crate) type Found<T> = Result<T, Skip>;

impl From<Fault> for Skip {
    fn from(fault: Fault) -> Skip {
        match fault {
            Fault::Invalid => Skip::NotJson,
            Fault::Kind => Skip::NotRecognised,
        }
    }
}

/// A challenge in whichever dialect it speaks.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one lives on the stack of one call")]
pub(crate) enum Challenge {
    V1(x402_v1::Challenge),
    V2(x402_v2::Challenge),
}

/// The challenge that a JSON body holds, by its own version.
pub(crate) fn challenge(text: &[u8]) -> Found<Challenge> {
    match x402_v1::challenge(text) {
        Err(Skip::NotRecognised) => x402_v2::challenge(text).map(Challenge::V2),
        v1 => v1.map(Challenge::V1),
    }
}

/// A payment that decoded as one. Its text is kept for the facts that events report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payment {
    pub dialect: Dialect,
    /// The decoded header; empty in open402, whose facts are in `proof`.
    pub text: Vec<u8>,
    /// Where in `text` the facts stand.
    pub facts: FactPlaces,
    pub proof: Option<open402::Proof>,
    resource_url: Slot,
}

impl Payment {
    pub fn of_proof(proof: open402::Proof) -> Payment {
        Payment {
            dialect: Dialect::Open402,
            text: Vec::new(),
            facts: FactPlaces::default(),
            resource_url: Slot::Absent,
            proof: Some(proof),
        }
    }

    /// The payer's copy of the resource's URL: a hint only, the payer may have written anything.
    pub fn resource_url(&self) -> Option<String> {
        string_of(&self.text, &self.resource_url)
    }
}

/// Where a payment of x402 tells what it pays; absent where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FactPlaces {
    /// Of v1: `network` and `scheme` of the payment itself.
    pub network: Slot,
    pub scheme: Slot,
    /// Of v2: `network`, `amount`, `scheme` and `asset` of `accepted`.
    pub accepted: [Slot; 4],
    /// `from` and `value` of `payload.authorization`.
    pub authorization: [Slot; 2],
}

/// What a settlement header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settlement {
    Succeeded,
    Failed,
}

/// `x402Version` as it stands in a document.
pub(crate) fn version(text: &[u8], slot: &Slot) -> Found<u8> {
    match slot {
        Slot::One(range) => match &text[range.clone()] {
            b"1" => Ok(1),
            b"2" => Ok(2),
            _ => Err(Skip::NotRecognised),
        },
        Slot::Absent => Err(Skip::NotRecognised),
        Slot::Repeated => Err(Skip::Ambiguous),
    }
}

/// The payment that a decoded payment header holds, by its own version.
pub(crate) fn payment(text: Vec<u8>) -> Found<Payment> {
    let (members, inner) = read_payment(&text)?;
    let [version_slot, _, payload, accepted, network, scheme] = &members.slots;
    let is = |slot: &Slot, kind| matches!(slot, Slot::One(range) if scan::kind(&text, range.start) == kind);
    let (dialect, resource_url) = match version(&text, version_slot)? {
        2 if is(payload, Kind::Object) && is(accepted, Kind::Object) => (Dialect::X402V2, inner.resource_url),
        1 if is(payload, Kind::Object) && is(scheme, Kind::Text) && is(network, Kind::Text) => {
            (Dialect::X402V1, Slot::Absent)
        }
        _ => return Err(Skip::NotRecognised),
    };
    Ok(Payment { dialect, resource_url, proof: None, facts: inner.facts, text })
}

/// What stands inside the members of a payment.
#[derive(Debug, Default)]
pub(crate) struct PaymentParts {
    resource_url: Slot,
    pub facts: FactPlaces,
}

/// Reads a payment once, with the places inside it that are needed later.
pub(crate) fn read_payment(text: &[u8]) -> Result<(Members<6>, PaymentParts), Fault> {
    let names = ["x402Version", "resource", "payload", "accepted", "network", "scheme"];
    let (mut resource, mut authorization, mut chosen) = (None, None, None);
    let mut payload_is_one = false;
    let members = scan::document_with(text, names, |index, at| match index {
        1 => Members::keep(scan::object(text, at, ["url"]), &mut resource),
        2 => {
            authorization = None;
            let payload = scan::object_with(text, at, ["authorization"], |_, at| {
                Members::keep(scan::object(text, at, ["from", "value"]), &mut authorization)
            });
            Some(payload.map(|payload| {
                payload_is_one = matches!(payload.slots[0], Slot::One(_));
                payload.close + 1
            }))
        }
        3 => Members::keep(scan::object(text, at, ["network", "amount", "scheme", "asset"]), &mut chosen),
        _ => None,
    })?;
    let is_one = |slot: &Slot| matches!(slot, Slot::One(_));
    let [_, url, payload, accepted, network, scheme] = &members.slots;
    let mut parts = PaymentParts::default();
    if let Some(Members { slots: [found], .. }) = resource.filter(|_| is_one(url)) {
        parts.resource_url = found;
    }
    if let Some(found) = authorization.filter(|_| payload_is_one && is_one(payload)) {
        parts.facts.authorization = found.slots;
    }
    if let Some(found) = chosen.filter(|_| is_one(accepted)) {
        parts.facts.accepted = found.slots;
    }
    (parts.facts.network, parts.facts.scheme) = (network.clone(), scheme.clone());
    Ok((members, parts))
}

/// The text of a string value that is UTF-8.
fn string_of(text: &[u8], slot: &Slot) -> Option<String> {
    let Slot::One(range) = slot else { return None };
    String::from_utf8(scan::text_of(text, range)?.into_owned()).ok()
}

/// `success` of a receipt: only a literal true or false says anything.
pub(crate) fn settlement(text: &[u8], success: &Slot) -> Option<Settlement> {
    let Slot::One(range) = success else { return None };
    match scan::kind(text, range.start) {
        Kind::True => Some(Settlement::Succeeded),
        Kind::False => Some(Settlement::Failed),
        _ => None,
    }
}

/// Shared by v1 and v2: an `error`, if there is one, is a string; anything else is not a challenge of ours.
fn error_is_text(text: &[u8], error: &Slot) -> Found<()> {
    match error {
        Slot::Absent => Ok(()),
        Slot::One(range) if scan::kind(text, range.start) == Kind::Text => Ok(()),
        Slot::One(_) => Err(Skip::NotRecognised),
        Slot::Repeated => Err(Skip::Ambiguous),
    }
}

/// Shared by v1 and v2: `accepts` is an array with something in it.
fn accepts_array(text: &[u8], accepts: &Slot) -> Found<usize> {
    let range = match accepts {
        Slot::One(range) if scan::kind(text, range.start) == Kind::Array => range,
        Slot::Repeated => return Err(Skip::Ambiguous),
        _ => return Err(Skip::NotRecognised),
    };
    match text.get(scan::skip_space(text, range.start + 1)) {
        Some(b']') | None => Err(Skip::NotRecognised),
        Some(_) => Ok(range.start),
    }
}

/// Where the description of `object` may grow.
fn description_place(text: &[u8], object: Members<1>) -> Found<DescriptionPlace> {
    match &object.slots[0] {
        Slot::Absent => Ok(DescriptionPlace::Member(object)),
        Slot::One(range) if scan::kind(text, range.start) == Kind::Text => {
            Ok(DescriptionPlace::Append(range.start + 1..range.end - 1))
        }
        Slot::One(_) => Ok(DescriptionPlace::Nowhere),
        Slot::Repeated => Err(Skip::Ambiguous),
    }
}
