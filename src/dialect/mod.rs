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
use crate::verdict::Skip;

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

/// Members of a payment that tell what it pays.
pub(crate) const FACT_NAMES: [&str; 4] = ["payload", "accepted", "network", "scheme"];

/// A payment that decoded as one. Its text is kept for the facts that events report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payment {
    pub dialect: Dialect,
    /// The decoded header; empty in open402, whose facts are in `proof`.
    pub text: Vec<u8>,
    /// Where its [`FACT_NAMES`] stand.
    pub places: [Slot; 4],
    pub proof: Option<open402::Proof>,
    /// The payer's copy of the resource's URL: a hint only, the payer may have written anything.
    pub resource_url: Option<String>,
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
    let [payload, accepted, network, scheme] = FACT_NAMES;
    let members = scan::document(&text, ["x402Version", "resource", payload, accepted, network, scheme])?;
    let [version_slot, resource, payload, accepted, network, scheme] = &members.slots;
    let is = |slot: &Slot, kind| matches!(slot, Slot::One(range) if scan::kind(&text, range.start) == kind);
    match version(&text, version_slot)? {
        2 if is(payload, Kind::Object) && is(accepted, Kind::Object) => {
            let resource_url = x402_v2::resource_url(&text, resource);
            let [_, _, places @ ..] = members.slots;
            Ok(Payment { dialect: Dialect::X402V2, resource_url, proof: None, places, text })
        }
        1 if is(payload, Kind::Object) && is(scheme, Kind::Text) && is(network, Kind::Text) => {
            let [_, _, places @ ..] = members.slots;
            Ok(Payment { dialect: Dialect::X402V1, resource_url: None, proof: None, places, text })
        }
        _ => Err(Skip::NotRecognised),
    }
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
