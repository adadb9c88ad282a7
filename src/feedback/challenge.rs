//! The ask in a challenge: one sentence at the end of each description, one extension after the merchant's own.

use super::ladder;
use super::wording::{self, Link, Sentence, Tone};
use crate::dialect::{DescriptionPlace, EXTENSION_NAME, ExtensionPlace, Found, x402_v1, x402_v2};
use crate::json::escape::{ends_in_white_space, unescape, utf16_len};
use crate::json::{Members, Splice};
use crate::verdict::Skip;

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
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    pub name: &'static str,
    pub value: Vec<u8>,
}

/// An extension's name and JSON value.
pub(super) type Named = (&'static str, Vec<u8>);

/// A v2 challenge with as much of the ask as `fits` (told the new length in bytes) lets through.
/// Rungs: sentence and extension, each shorter and shorter, down to a compact extension alone. `extras` go with every
/// rung that has the whole extension, and never in place of one of that name.
pub(crate) fn decorate_v2(
    text: &[u8],
    challenge: &x402_v2::Challenge,
    link: &Link,
    wanted: Additions,
    extras: &[Extra],
    fits: impl Fn(usize) -> bool,
) -> Found<Vec<u8>> {
    if challenge.extensions == ExtensionPlace::Ours || is_mentioned(text, &challenge.description, link) {
        return Err(Skip::AlreadyOurs);
    }
    let room = room_for_sentence(text, &challenge.description, wanted.max_description).filter(|_| wanted.sentence);
    let sentences: Vec<Sentence> =
        Sentence::LADDER.into_iter().filter(|sentence| room.is_some_and(|room| sentence.len(link) <= room)).collect();
    let may_extend = challenge.extensions != ExtensionPlace::Nowhere;
    let small = |made: Vec<u8>| (made.len() < ladder::EXTENSION).then_some(made);
    let ask = may_extend && wanted.extension;
    let full = ask.then(|| wording::challenge_extension(link, wanted.tone, wanted.schema)).and_then(small);
    let compact = ask.then(|| wording::compact_extension(link, wanted.schema)).and_then(small);

    let named = |value: &Option<Vec<u8>>| value.iter().map(|value| (EXTENSION_NAME, value.clone())).collect::<Vec<_>>();
    let only_compact = named(&compact);
    let mut whole = if full.is_some() { named(&full) } else { only_compact.clone() };
    let free = |extra: &&Extra| may_extend && !challenge.extensions.has(extra.name);
    whole.extend(extras.iter().filter(free).map(|extra| (extra.name, extra.value.clone())));

    let mut rungs: Vec<(Option<Sentence>, &[Named])> =
        sentences.iter().map(|&sentence| (Some(sentence), &whole[..])).collect();
    if sentences.is_empty() {
        rungs.push((None, &whole));
    }
    if sentences.contains(&Sentence::Short) {
        rungs.push((Some(Sentence::Short), &only_compact));
    }
    rungs.push((None, &only_compact));

    let mut last = Skip::DescriptionNotText;
    for (sentence, extensions) in rungs {
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
    extensions: &[Named],
) -> Vec<u8> {
    let mut splice = Splice::new(text);
    if let Some(sentence) = sentence {
        add_sentence(&mut splice, text, &challenge.description, &sentence.text(link));
    }
    if !extensions.is_empty() {
        add_extensions(&mut splice, &challenge.document, &challenge.extensions, extensions);
    }
    splice.finish()
}

/// Puts extensions where they may go; `document` is the object that takes a new `extensions`.
pub(super) fn add_extensions<const N: usize>(
    splice: &mut Splice<'_>,
    document: &Members<N>,
    place: &ExtensionPlace,
    extensions: &[Named],
) {
    let members: Vec<Vec<u8>> =
        extensions.iter().map(|(name, value)| [b"\"", name.as_bytes(), b"\":", &value[..]].concat()).collect();
    let members = members.join(&b","[..]);
    let wrapped = || [b"{", &members[..], b"}"].concat();
    match place {
        ExtensionPlace::Member(object) => {
            let comma: &[u8] = if object.empty { b"" } else { b"," };
            splice.insert(object.close, [comma, &members].concat());
        }
        ExtensionPlace::Null(range) => splice.replace(range.clone(), wrapped()),
        ExtensionPlace::Absent => splice.append_member(document, "extensions", &wrapped()),
        ExtensionPlace::Ours | ExtensionPlace::Nowhere => {}
    }
}

fn is_mentioned(text: &[u8], place: &DescriptionPlace, link: &Link) -> bool {
    matches!(place, DescriptionPlace::Append(raw) if link.is_mentioned_in(&unescape(&text[raw.clone()])))
}

fn add_sentence(splice: &mut Splice<'_>, text: &[u8], place: &DescriptionPlace, sentence: &str) -> bool {
    match place {
        DescriptionPlace::Append(raw) => {
            if needs_space(&text[raw.clone()]) {
                splice.insert(raw.end, *b" ");
            }
            splice.insert(raw.end, sentence);
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
