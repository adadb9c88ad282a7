//! The ask in a receipt: the extension with the real id, after whatever the facilitator put there.

use super::challenge::Opening;
use super::id::FeedbackId;
use super::wording::{Link, Tone};
use crate::dialect::{ExtensionPlace, Found, x402_v2};
use crate::skip::Skip;

/// A successful v2 receipt with the extension, full or compact, as `fits` (told the new length in bytes) lets through.
pub(crate) fn decorate(
    text: &[u8],
    receipt: &x402_v2::Receipt,
    link: &Link,
    id: FeedbackId,
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
    let Some(opening) = Opening::of(&receipt.document, place) else { return Err(Skip::NotRecognised) };
    let Opening { at, before, after } = opening;
    let kept = text.len() - at.len() + before.len() + after.len();
    let fitting = link.receipt_members(tone, schema).iter().find(|members| fits(kept + members.len()));
    let Some(members) = fitting else { return Err(Skip::NoRoom) };
    let mut out = Vec::with_capacity(kept + members.len());
    out.extend_from_slice(&text[..at.start]);
    out.extend_from_slice(before.as_bytes());
    members.write(&mut out, id);
    out.extend_from_slice(after.as_bytes());
    out.extend_from_slice(&text[at.end..]);
    Ok(out)
}
