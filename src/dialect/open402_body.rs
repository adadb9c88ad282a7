//! The JSON body of an open402 challenge: recognised, and decorated by splicing.
//!
//! The clients in the field pay from the header and skip the body, so what is added here changes nobody's price.

use std::fmt;

use crate::json::scan::{self, Slot};
use crate::json::{Splice, escape};

/// Why a body keeps its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoration {
    /// Not a JSON object with the four texts `chain`, `token`, `amount`, `address`, each once.
    NotAChallenge,
    /// The merchant has a `description` or `extensions` of its own there.
    Occupied,
}

impl fmt::Display for Decoration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Decoration::NotAChallenge => "not a JSON object with chain, token, amount and address as texts",
            Decoration::Occupied => "the body has a description or extensions of its own",
        })
    }
}

impl std::error::Error for Decoration {}

/// The four fields of a challenge body, in the order chain, token, amount, address.
///
/// # Errors
/// [`Decoration::NotAChallenge`].
pub(crate) fn fields(body: &[u8]) -> Result<[String; 4], Decoration> {
    let members =
        scan::document(body, ["chain", "token", "amount", "address"]).map_err(|_| Decoration::NotAChallenge)?;
    let mut texts = [const { String::new() }; 4];
    for (slot, text) in members.slots.iter().zip(&mut texts) {
        let Slot::One(range) = slot else { return Err(Decoration::NotAChallenge) };
        let value = scan::text_of(body, range).ok_or(Decoration::NotAChallenge)?;
        *text = String::from_utf8(value.into_owned()).map_err(|_| Decoration::NotAChallenge)?;
    }
    Ok(texts)
}

/// The body with `"extensions":{"forge-feedback":…}` and `"description":…` as its last members; every byte of the
/// merchant stays. `extension` is the JSON object of the extension, `sentence` the text for agents.
///
/// Only for a request that asked for [`Negotiated::V1`](super::open402::Negotiated): the base protocol has no such members.
///
/// # Errors
/// See [`Decoration`]; the body is to be sent as it was.
pub fn decorate(body: &[u8], sentence: &str, extension: &[u8]) -> Result<Vec<u8>, Decoration> {
    fields(body)?;
    let members = scan::document(body, ["description", "extensions"]).map_err(|_| Decoration::NotAChallenge)?;
    if members.slots.iter().any(|slot| *slot != Slot::Absent) {
        return Err(Decoration::Occupied);
    }
    let mut value = Vec::with_capacity(extension.len() + 24);
    value.extend_from_slice(b"{\"forge-feedback\":");
    value.extend_from_slice(extension);
    value.push(b'}');
    let mut text = Vec::with_capacity(sentence.len() + 2);
    escape::write_string(&mut text, sentence);
    let mut splice = Splice::new(body);
    splice.append_member(&members, "extensions", &value);
    splice.append_member(&members, "description", &text);
    Ok(splice.finish())
}
