//! Where a diagnostic goes: the end of a JSON object, under the name `diagnostic`.
//!
//! One place for all dialects: a v1 or open402 challenge body, the body of a v2 challenge (`{}` or an object of the merchant's), and
//! the 4xx answers of servers that refuse a payment without a challenge. Whether a body may be edited at all is rule 7's
//! question and the caller's to ask; the header of a v2 challenge is edited by whoever edits challenges.

use crate::json::Splice;
use crate::json::scan::{self, Slot};

/// Why a body keeps its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// Not one valid JSON object.
    NotAnObject,
    /// A `diagnostic` stands there already, the merchant's or a second layer's.
    Occupied,
}

/// Whether an answer of this status may carry a diagnostic in its body.
pub fn takes_diagnostic(status: u16) -> bool {
    matches!(status, 400 | 402 | 403 | 409 | 422)
}

/// The body with `"diagnostic":…` as its last member; every other byte stays.
pub fn into_body(body: &[u8], diagnostic: &[u8]) -> Result<Vec<u8>, Unplaced> {
    let members = scan::document(body, [NAME]).map_err(|_| Unplaced::NotAnObject)?;
    if members.slots[0] != Slot::Absent {
        return Err(Unplaced::Occupied);
    }
    let mut splice = Splice::new(body);
    splice.append_member(&members, NAME, diagnostic);
    Ok(splice.finish())
}

/// The member, and the extension, that carries a diagnostic.
pub const NAME: &str = "diagnostic";

/// What an answer with a diagnostic says to caches: it is about one client at one moment.
pub const CACHE_CONTROL: &str = "no-store";
