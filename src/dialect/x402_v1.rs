//! x402 version 1: the challenge is the JSON body of the 402; the receipt (`X-PAYMENT-RESPONSE`) is only read.
//!
//! Source: x402 specification v1. The sentence goes to every `accepts[].description`; there are no extensions. Payment
//! terms are matched by scheme and network against the server's own requirements, so a longer description pays alike.

use super::{DescriptionPlace, Found, accepts_array, description_place, error_is_text, version};
use crate::json::scan::{self, Slot};
use crate::skip::Skip;

pub(crate) const PAYMENT_HEADER: &str = "X-PAYMENT";
pub(crate) const RECEIPT_HEADER: &str = "X-PAYMENT-RESPONSE";

/// Where a v1 challenge may take the sentence.
#[derive(Clone, Debug)]
pub(crate) struct Challenge {
    /// One place an entry of `accepts`, in order.
    pub descriptions: Vec<DescriptionPlace>,
    /// `accepts[0].resource`, where it is text.
    pub resource_url: Option<String>,
}

pub(crate) fn challenge(text: &[u8]) -> Found<Challenge> {
    let document = scan::document(text, ["x402Version", "error", "accepts"])?;
    let [version_slot, error, accepts] = &document.slots;
    if version(text, version_slot)? != 1 {
        return Err(Skip::NotRecognised);
    }
    error_is_text(text, error)?;
    let start = accepts_array(text, accepts)?;
    let mut entries = Vec::with_capacity(2);
    scan::elements(text, start, |range| entries.push(range.start))?;
    let mut resource_url = None;
    let mut descriptions = Vec::with_capacity(entries.len());
    for (index, &entry) in entries.iter().enumerate() {
        // An entry that is not an object is no requirement, so this is no challenge.
        descriptions.push(description_place(text, scan::object(text, entry, ["description"])?)?);
        if index == 0 {
            resource_url = first_resource(text, entry)?;
        }
    }
    Ok(Challenge { descriptions, resource_url })
}

fn first_resource(text: &[u8], entry: usize) -> Found<Option<String>> {
    let object = scan::object(text, entry, ["resource"])?;
    Ok(match &object.slots[0] {
        Slot::One(range) => scan::text_of(text, range).and_then(|url| String::from_utf8(url.into_owned()).ok()),
        Slot::Repeated => return Err(Skip::Ambiguous),
        Slot::Absent => None,
    })
}
