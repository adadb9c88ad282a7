//! x402 version 2: the challenge (`PAYMENT-REQUIRED`, or a JSON body) and the receipt (`PAYMENT-RESPONSE`).
//!
//! Source: x402 specification v2, transport HTTP. The sentence goes to `resource.description`, the extension to
//! `extensions`. Not done on purpose: `accepts` is looked at only for being a non-empty array; servers deep-compare its
//! echo, so not one byte of it may change. A repeated member we would edit makes the challenge foreign.

use super::{
    DescriptionPlace, EXTENSION_NAMES, ExtensionPlace, Found, Settlement, accepts_array, description_place,
    error_is_text, settlement, version,
};
use crate::json::scan::{self, Kind, Members, Slot};
use crate::verdict::Skip;

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

/// Where a v2 receipt may take additions.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub document: Members<2>,
    /// An error where `extensions` stands there twice; the settlement is known all the same.
    pub extensions: Found<ExtensionPlace>,
    pub settlement: Option<Settlement>,
}

/// Members of a challenge, in the order of `document.slots`.
const NAMES: [&str; 5] = ["x402Version", "error", "resource", "accepts", "extensions"];

pub(crate) fn challenge(text: &[u8]) -> Found<Challenge> {
    let document = scan::document(text, NAMES)?;
    let [version_slot, error, resource, accepts, extensions] = &document.slots;
    if version(text, version_slot)? != 2 {
        return Err(Skip::NotRecognised);
    }
    error_is_text(text, error)?;
    accepts_array(text, accepts)?;
    let (description, resource_url) = match resource {
        Slot::One(range) if scan::kind(text, range.start) == Kind::Object => {
            let Members { slots: [description, url], close, empty } =
                scan::object(text, range.start, ["description", "url"])?;
            let described = Members { slots: [description], close, empty };
            (description_place(text, described)?, string_of(text, &url))
        }
        Slot::Repeated => return Err(Skip::Ambiguous),
        _ => (DescriptionPlace::Nowhere, None),
    };
    let extensions = extension_place(text, extensions)?;
    Ok(Challenge { resource_url, description, extensions, document })
}

pub(crate) fn receipt(text: &[u8]) -> Found<Receipt> {
    let document = scan::document(text, ["success", "extensions"])?;
    let [success, extensions] = &document.slots;
    let (settlement, extensions) = (settlement(text, success), extension_place(text, extensions));
    Ok(Receipt { document, extensions, settlement })
}

/// `resource.url`, where it is text.
pub(super) fn resource_url(text: &[u8], resource: &Slot) -> Option<String> {
    let Slot::One(range) = resource else { return None };
    string_of(text, &scan::object(text, range.start, ["url"]).ok()?.slots[0])
}

fn string_of(text: &[u8], slot: &Slot) -> Option<String> {
    let Slot::One(range) = slot else { return None };
    String::from_utf8(scan::text_of(text, range)?.into_owned()).ok()
}

/// Where our key may go.
fn extension_place(text: &[u8], extensions: &Slot) -> Found<ExtensionPlace> {
    let range = match extensions {
        Slot::Absent => return Ok(ExtensionPlace::Absent),
        Slot::Repeated => return Err(Skip::Ambiguous),
        Slot::One(range) => range,
    };
    match scan::kind(text, range.start) {
        Kind::Null => Ok(ExtensionPlace::Null(range.clone())),
        Kind::Object => match scan::object(text, range.start, EXTENSION_NAMES)? {
            object if object.slots[0] == Slot::Absent => Ok(ExtensionPlace::Member(object)),
            _ => Ok(ExtensionPlace::Ours),
        },
        _ => Ok(ExtensionPlace::Nowhere),
    }
}
