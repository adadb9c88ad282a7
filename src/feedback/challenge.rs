//! The ask in a challenge: one sentence at the end of each description, one extension after the merchant's own.

use std::cell::LazyCell;
use std::ops::{Deref, Range};

use super::ladder;
use super::wording::{self, Link, Sentence, Tone};
use crate::dialect::{DescriptionPlace, EXTENSION_NAME, ExtensionPlace, Found, x402_v1, x402_v2};
use crate::json::escape::{ends_in_white_space, unescape, utf16_len};
use crate::json::{Members, Splice};
use crate::skip::Skip;

/// What the merchant wants added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Additions {
    pub sentence: bool,
    pub extension: bool,
    pub schema: bool,
    pub tone: Tone,
    /// UTF-16 units at which a v2 description ends at the latest.
    pub max_description: usize,
}

/// An extension besides the ask, with its JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extra {
    pub name: &'static str,
    pub value: Vec<u8>,
}

/// A v2 challenge with as much of the ask as `fits` (told the new length in bytes) lets through.
/// Rungs: sentence and extension, each shorter and shorter, down to a compact extension alone. `extras` go with every
/// rung that has the whole extension, and never in place of one of that name.
pub(crate) fn decorate_v2(
    text: &[u8],
    challenge: &x402_v2::Challenge,
    link: &Link,
    wanted: Additions,
    extras: &[Extra],
    fits: &dyn Fn(usize) -> bool,
) -> Found<Vec<u8>> {
    if challenge.extensions == ExtensionPlace::Ours || is_mentioned(text, &challenge.description, link) {
        return Err(Skip::AlreadyOurs);
    }
    let room = room_for_sentence(text, &challenge.description, wanted.max_description).filter(|_| wanted.sentence);
    let has_room = |sentence: Sentence| room.is_some_and(|room| sentence.len(link) <= room);
    let may_extend = challenge.extensions != ExtensionPlace::Nowhere;
    let ask = may_extend && wanted.extension;
    // Written only when a rung comes that has them: mostly the first one fits.
    let whole = LazyCell::new(|| {
        let full = || small(wording::challenge_extension(link, wanted.tone, wanted.schema));
        let compact = || small(wording::compact_extension(link, wanted.schema));
        let own = ask.then(|| full().or_else(compact)).flatten();
        let free = |extra: &&Extra| may_extend && !challenge.extensions.has(extra.name);
        let own = own.iter().map(|value| (EXTENSION_NAME, &value[..]));
        members(own.chain(extras.iter().filter(free).map(|extra| (extra.name, &extra.value[..]))))
    });
    let compact = LazyCell::new(|| {
        let own = ask.then(|| small(wording::compact_extension(link, wanted.schema))).flatten();
        members(own.iter().map(|value| (EXTENSION_NAME, &value[..])))
    });

    let is_silent = !has_room(Sentence::Short);
    let rungs = [
        (has_room(Sentence::Full), Some(Sentence::Full), &whole as &dyn Deref<Target = Vec<u8>>),
        (has_room(Sentence::Medium), Some(Sentence::Medium), &whole),
        (has_room(Sentence::Short), Some(Sentence::Short), &whole),
        (is_silent, None, &whole),
        (has_room(Sentence::Short), Some(Sentence::Short), &compact),
        (true, None, &compact),
    ];
    let mut last = Skip::DescriptionNotText;
    for (_, sentence, extensions) in rungs.into_iter().filter(|(may, ..)| *may) {
        if sentence.is_none() && extensions.is_empty() {
            continue;
        }
        let made = write_v2(text, challenge, link, sentence, extensions);
        if fits(made.len()) {
            return Ok(made);
        }
        last = Skip::NoRoom;
    }
    Err(last)
}

/// A v1 challenge with the sentence in every description that can take it. There is no limit of length there: servers
/// send their own requirements to the facilitator.
pub(crate) fn decorate_v1(text: &[u8], challenge: &x402_v1::Challenge, link: &Link) -> Found<Vec<u8>> {
    if challenge.descriptions.iter().any(|place| is_mentioned(text, place, link)) {
        return Err(Skip::AlreadyOurs);
    }
    let sentence = Sentence::Full.text(link);
    let mut splice = Splice::new(text);
    let mut added = false;
    for place in &challenge.descriptions {
        added |= add_sentence(&mut splice, text, place, &sentence);
    }
    if added { Ok(splice.finish()) } else { Err(Skip::DescriptionNotText) }
}

fn write_v2(
    text: &[u8],
    challenge: &x402_v2::Challenge,
    link: &Link,
    sentence: Option<Sentence>,
    extensions: &[u8],
) -> Vec<u8> {
    let sentence = sentence.map(|sentence| sentence.text(link));
    let mut splice = Splice::new(text);
    if let Some(sentence) = &sentence {
        add_sentence(&mut splice, text, &challenge.description, sentence);
    }
    if !extensions.is_empty() {
        add_extensions(&mut splice, &challenge.document, &challenge.extensions, extensions);
    }
    splice.finish()
}

/// Where extensions go in a document, and what stands around them there.
pub(super) struct Opening {
    /// The bytes they replace; mostly none.
    pub at: Range<usize>,
    pub before: &'static str,
    pub after: &'static str,
}

impl Opening {
    /// `document`: the object that takes a new `extensions`. `None`: there is no place.
    pub fn of<const N: usize>(document: &Members<N>, place: &ExtensionPlace) -> Option<Opening> {
        let (at, before, after) = match place {
            ExtensionPlace::Member(object) => {
                (object.close..object.close, if object.is_empty() { "" } else { "," }, "")
            }
            ExtensionPlace::Null(range) => (range.clone(), "{", "}"),
            ExtensionPlace::Absent if document.is_empty() => (document.close..document.close, "\"extensions\":{", "}"),
            ExtensionPlace::Absent => (document.close..document.close, ",\"extensions\":{", "}"),
            ExtensionPlace::Ours | ExtensionPlace::Nowhere => return None,
        };
        Some(Opening { at, before, after })
    }
}

/// Puts extensions, written by [`members`], where they may go.
fn add_extensions<'t, const N: usize>(
    splice: &mut Splice<'t>,
    document: &Members<N>,
    place: &ExtensionPlace,
    extensions: &'t [u8],
) {
    if let Some(Opening { at, before, after }) = Opening::of(document, place) {
        let end = at.end;
        splice.replace(at, before.as_bytes());
        splice.insert(end, extensions);
        splice.insert(end, after.as_bytes());
    }
}

/// `"name":value` of every extension, with commas between them.
fn members<'e>(extensions: impl Iterator<Item = (&'static str, &'e [u8])>) -> Vec<u8> {
    let mut out = Vec::with_capacity(ladder::EXTENSION + 64);
    for (name, value) in extensions {
        let comma = if out.is_empty() { "" } else { "," };
        for part in [comma.as_bytes(), b"\"", name.as_bytes(), b"\":", value] {
            out.extend_from_slice(part);
        }
    }
    out
}

/// An extension that is not sent because of its size is none.
fn small(extension: Vec<u8>) -> Option<Vec<u8>> {
    (extension.len() < ladder::EXTENSION).then_some(extension)
}

fn is_mentioned(text: &[u8], place: &DescriptionPlace, link: &Link) -> bool {
    matches!(place, DescriptionPlace::Append(raw) if link.is_mentioned_in(&unescape(&text[raw.clone()])))
}

fn add_sentence<'t>(splice: &mut Splice<'t>, text: &[u8], place: &DescriptionPlace, sentence: &'t str) -> bool {
    match place {
        DescriptionPlace::Append(raw) => {
            if needs_space(&text[raw.clone()]) {
                splice.insert(raw.end, &b" "[..]);
            }
            splice.insert(raw.end, sentence.as_bytes());
            true
        }
        DescriptionPlace::Member(object) => {
            splice.append_member(object, "description", format!("\"{sentence}\"").as_bytes());
            true
        }
        DescriptionPlace::Nowhere => false,
    }
}

/// UTF-16 units that a sentence may have.
fn room_for_sentence(text: &[u8], place: &DescriptionPlace, max: usize) -> Option<usize> {
    match place {
        DescriptionPlace::Append(raw) => {
            let raw = &text[raw.clone()];
            max.checked_sub(utf16_len(raw) + usize::from(needs_space(raw)))
        }
        DescriptionPlace::Member(_) => Some(max),
        DescriptionPlace::Nowhere => None,
    }
}

fn needs_space(raw: &[u8]) -> bool {
    !raw.is_empty() && !ends_in_white_space(raw)
}
