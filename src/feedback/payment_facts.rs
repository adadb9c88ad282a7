//! What a payment header and a receipt tell of a payment, as events report it.
//!
//! What a payment header says is the payer's claim; whether it is true is known only after settlement, and the event says so.

use std::borrow::Cow;

use crate::dialect::{FactPlaces, x402_v2::Receipt};
use crate::json::Slot;
use crate::json::scan;
use crate::text;

/// What a payment header, or a receipt, says of a payment. Each a text of at most 256 UTF-16 units; `None` = not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PaymentFacts<'t> {
    pub payer: Option<Cow<'t, str>>,
    pub network: Option<Cow<'t, str>>,
    pub amount: Option<Cow<'t, str>>,
    pub scheme: Option<Cow<'t, str>>,
    pub asset: Option<Cow<'t, str>>,
    /// Only a receipt tells it.
    pub transaction: Option<Cow<'t, str>>,
}

/// The facts of a v1 or v2 payment. What is missing or not a text is not told; nothing is refused.
pub(crate) fn payment_facts<'t>(json: &'t [u8], places: &FactPlaces) -> PaymentFacts<'t> {
    let [network, amount, scheme, asset] = &places.accepted;
    let [from, value] = &places.authorization;
    PaymentFacts {
        payer: fact(json, from),
        network: fact(json, network).or_else(|| fact(json, &places.network)),
        amount: fact(json, amount).or_else(|| fact(json, value)),
        scheme: fact(json, scheme).or_else(|| fact(json, &places.scheme)),
        asset: fact(json, asset),
        transaction: None,
    }
}

impl<'t> PaymentFacts<'t> {
    /// What a successful receipt tells counts before what the payer claimed.
    pub fn settled_by(mut self, receipt_json: &'t [u8], receipt: &Receipt) -> Self {
        if let [payer, network, transaction] = receipt.facts() {
            self.payer = fact(receipt_json, payer).or(self.payer);
            self.network = fact(receipt_json, network).or(self.network);
            self.transaction = fact(receipt_json, transaction).or(self.transaction);
        }
        self
    }
}

fn fact<'t>(json: &'t [u8], slot: &Slot) -> Option<Cow<'t, str>> {
    let Slot::One(range) = slot else { return None };
    let value = match scan::text_of(json, range)? {
        Cow::Borrowed(raw) => text::clean_bytes(raw, FACT_LIMIT),
        Cow::Owned(read) => Cow::Owned(text::clean_bytes(&read, FACT_LIMIT).into_owned()),
    };
    (!value.is_empty()).then_some(value)
}

/// UTF-16 units of a payment fact.
const FACT_LIMIT: usize = 256;

#[cfg(test)]
#[path = "payment_facts_tests.rs"]
mod tests;
