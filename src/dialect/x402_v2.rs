//! x402 version 2: the challenge (`PAYMENT-REQUIRED`, or a JSON body) and the receipt (`PAYMENT-RESPONSE`).
//!
//! Source: x402 specification v2, transport HTTP. The sentence goes to `resource.description`, the extension to
//! `extensions`. Not done on purpose: `accepts` is looked at only for being a non-empty array; servers deep-compare its
//! echo, so not one byte of it may change. A repeated member we would edit makes the challenge foreign.

use super::{
    DescriptionPlace, EXTENSION_NAMES, ExtensionPlace, Found, Settlement, accepts_array, description_place,
    error_is_text, settlement, string_of, version,
};
use crate::json::scan::{self, Kind, Members, Slot};
use crate::skip::Skip;

pub(crate) const CHALLENGE_HEADER: &str = "PAYMENT-REQUIRED";
pub(crate) const PAYMENT_HEADER: &str = "PAYMENT-SIGNATURE";
pub(crate) const RECEIPT_HEADER: &str = "PAYMENT-RESPONSE";

/// Where a v2 challenge may take additions.
#[derive(Clone, Debug)]
pub(crate) struct Challenge {
    /// The document's top-level object.
    pub document: Members<5>,
    pub description: DescriptionPlace,
    pub extensions: ExtensionPlace,
    pub resource_url: Option<String>,
}

/// A receipt: what it says, and where it may take additions.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    /// The document's top-level object.
    pub document: Members<6>,
    /// An error where `extensions` stands there twice; the settlement is known all the same.
    pub extensions: Found<ExtensionPlace>,
    pub settlement: Option<Settlement>,
}

impl Receipt {
    /// `payer`, `network` and `transaction`.
    pub fn facts(&self) -> &[Slot] {
        &self.document.slots[2..5]
    }

    pub fn error_reason(&self) -> &Slot {
        &self.document.slots[5]
    }
}

/// Members of a challenge, in the order of `document.slots`.
const NAMES: [&str; 5] = ["x402Version", "error", "resource", "accepts", "extensions"];
/// Members of a receipt, in the order of `document.slots`.
const RECEIPT_NAMES: [&str; 6] = ["success", "extensions", "payer", "network", "transaction", "errorReason"];

pub(crate) fn challenge(text: &[u8]) -> Found<Challenge> {
    let (mut described, mut extended) = (None, None);
    let document = scan::document_with(text, NAMES, |index, at| match index {
        2 => Members::keep(scan::object(text, at, ["description", "url"]), &mut described),
        4 => Members::keep(scan::object(text, at, EXTENSION_NAMES), &mut extended),
        _ => None,
    })?;
    let [version_slot, error, resource, accepts, extensions] = &document.slots;
    if version(text, version_slot)? != 2 {
        return Err(Skip::NotRecognised);
    }
    error_is_text(text, error)?;
    accepts_array(text, accepts)?;
    let (description, resource_url) = match (resource, described) {
        (Slot::Repeated, _) => return Err(Skip::Ambiguous),
        (Slot::One(_), Some(Members { slots: [description, url], close, count })) => {
            let described = Members { slots: [description], close, count };
            (description_place(text, described)?, string_of(text, &url))
        }
        _ => (DescriptionPlace::Nowhere, None),
    };
    let extensions = extension_place(text, extensions, extended)?;
    Ok(Challenge { resource_url, description, extensions, document })
}

/// Reads a receipt of either version.
pub(crate) fn receipt(text: &[u8]) -> Found<Receipt> {
    let mut extended = None;
    let document = scan::document_with(text, RECEIPT_NAMES, |index, at| match index {
        1 => Members::keep(scan::object(text, at, EXTENSION_NAMES), &mut extended),
        _ => None,
    })?;
    let [success, extensions, ..] = &document.slots;
    let (settlement, extensions) = (settlement(text, success), extension_place(text, extensions, extended));
    Ok(Receipt { document, extensions, settlement })
}

/// Where our key may go; `object`: what is inside `extensions`, if it is one.
fn extension_place(text: &[u8], extensions: &Slot, object: Option<Members<3>>) -> Found<ExtensionPlace> {
    let range = match extensions {
        Slot::Absent => return Ok(ExtensionPlace::Absent),
        Slot::Repeated => return Err(Skip::Ambiguous),
        Slot::One(range) => range,
    };
    match object {
        Some(object) if object.slots[0] == Slot::Absent => Ok(ExtensionPlace::Member(object)),
        Some(_) => Ok(ExtensionPlace::Ours),
        None if scan::kind(text, range.start) == Kind::Null => Ok(ExtensionPlace::Null(range.clone())),
        None => Ok(ExtensionPlace::Nowhere),
    }
}
