//! What a payment header and a receipt tell of a payment, as events report it.
//!
//! What a payment header says is the payer's claim; whether it is true is known only after settlement, and the event says so.

use crate::json::scan::{self, Kind};
use crate::json::{Members, Slot};
use crate::text;

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

/// Reads a v1 or v2 payment, whose [`FACT_NAMES`](crate::dialect::FACT_NAMES) stand at `places`. What is missing or not a
/// text is not told; nothing is refused.
pub(crate) fn payment_facts(json: &[u8], places: &[Slot; 4]) -> PaymentFacts {
    let [payload, accepted, network, scheme] = places;
    let accepted = inside(json, accepted, ["network", "amount", "scheme", "asset"]);
    let authorization =
        inside(json, payload, ["authorization"]).and_then(|payload| inside(json, &payload.slots[0], ["from", "value"]));
    let of_accepted = |index: usize| accepted.as_ref().and_then(|found| fact(json, &found.slots[index]));
    let of_authorization = |index: usize| authorization.as_ref().and_then(|found| fact(json, &found.slots[index]));
    PaymentFacts {
        payer: of_authorization(0),
        network: of_accepted(0).or_else(|| fact(json, network)),
        amount: of_accepted(1).or_else(|| of_authorization(1)),
        scheme: of_accepted(2).or_else(|| fact(json, scheme)),
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

/// UTF-16 units of a payment fact.
const FACT_LIMIT: usize = 256;

#[cfg(test)]
#[path = "payment_facts_tests.rs"]
mod tests;
