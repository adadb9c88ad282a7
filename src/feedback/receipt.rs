//! The ask in a receipt: the extension with the real id, after whatever the facilitator put there.

use super::challenge::{add_extensions, members};
use super::ladder;
use super::wording::{self, Link, Tone};
use crate::dialect::{EXTENSION_NAME, ExtensionPlace, Found, x402_v2};
use crate::json::Splice;
use crate::verdict::Skip;

/// A successful v2 receipt with the extension, full or compact, as `fits` (told the new length in bytes) lets through.
pub(crate) fn decorate(
    text: &[u8],
    receipt: &x402_v2::Receipt,
    link: &Link,
    id: &str,
    tone: Tone,
    schema: bool,
    fits: impl Fn(usize) -> bool,
) -> Found<Vec<u8>> {
    let place = match &receipt.extensions {
        Ok(ExtensionPlace::Ours) => return Err(Skip::AlreadyOurs),
        Ok(ExtensionPlace::Nowhere) => return Err(Skip::NotRecognised),
        Ok(place) => place,
        Err(skip) => return Err(*skip),
    };
    let full = || wording::receipt_extension(link, id, tone, schema);
    let compact = || wording::compact_receipt_extension(link, id, schema);
    for write in [&full as &dyn Fn() -> Vec<u8>, &compact] {
        let extension = write();
        if extension.len() >= ladder::EXTENSION {
            continue;
        }
        let extension = members(std::iter::once((EXTENSION_NAME, &extension[..])));
        let mut splice = Splice::new(text);
        add_extensions(&mut splice, &receipt.document, place, &extension);
        let made = splice.finish();
        if fits(made.len()) {
            return Ok(made);
        }
    }
    Err(Skip::NoRoom)
}
