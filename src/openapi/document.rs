//! A document with its version and its local references: which object a `$ref` means, and a copy of that
//! object for the place where it is to differ.
//!
//! References to other files and URLs are never followed. `#anchor` references are not either: only JSON Pointers.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use memchr::memmem;

use super::schema::Refusal;
use crate::json::{At, Found, Kind, Outline, Splice};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Swagger2,
    OpenApi3,
}

pub(crate) struct Document<'t> {
    pub outline: Outline<'t>,
    pub version: Version,
    /// Whether any schema names itself; a copy of such a schema would make the name ambiguous.
    has_anchors: bool,
    /// Names of the objects that references were looked up in, so that many references into one large object stay cheap.
    index: RefCell<HashMap<At, Index<'t>>>,
    copied: Cell<usize>,
}

type Index<'t> = HashMap<Cow<'t, [u8]>, Found>;

/// An object that was reached directly or through references.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub target: At,
    /// The reference objects on the way, the outermost first; empty if the object stands there itself.
    references: Vec<At>,
}

impl<'t> Document<'t> {
    pub fn new(outline: Outline<'t>, version: Version) -> Self {
        let names_itself = |text: &[u8]| ANCHORS.iter().any(|name| memmem::find(text, name.as_bytes()).is_some());
        let has_anchors = names_itself(outline.text) && has_anchor(&outline, outline.root());
        Document { outline, version, has_anchors, index: RefCell::default(), copied: Cell::new(0) }
    }

    /// The object that stands at `site`, through at most 16 local references.
    pub fn follow(&self, site: At) -> Result<Place, Refusal> {
        let mut place = Place { target: site, references: Vec::new() };
        loop {
            if self.outline.kind(place.target) != Kind::Object {
                return Ok(place);
            }
            let pointer = match self.outline.get(place.target, "$ref") {
                Found::Absent if self.outline.is_empty(place.target) && self.has_siblings(&place) => {
                    return Err(Refusal::ReferenceSiblings);
                }
                Found::Absent => return Ok(place),
                Found::Repeated => return Err(Refusal::Repeated("$ref")),
                Found::One(value) => self.outline.string(value).ok_or(Refusal::UnknownForm)?,
            };
            for (key, _) in self.outline.members(place.target) {
                if !["$ref", "description", "summary", "title"].iter().any(|name| self.outline.reads(key, name)) {
                    return Err(Refusal::ReferenceSiblings);
                }
            }
            if place.references.len() == MAX_HOPS {
                return Err(Refusal::TooDeep);
            }
            place.references.push(place.target);
            place.target = self.resolve(&pointer)?;
        }
    }

    /// Whether the object may be edited where it is meant: always if it stands there itself, else if a copy
    /// of it may be made. Each copy is counted against a budget, so that a document cannot grow without bound.
    pub fn reserve(&self, place: &Place) -> Result<(), Refusal> {
        if place.references.is_empty() {
            return Ok(());
        }
        if self.has_anchors && has_anchor(&self.outline, place.target) {
            return Err(Refusal::Anchor);
        }
        let copied = self.copied.get() + self.outline.range(place.target).len();
        if copied > MAX_COPIED {
            return Err(Refusal::NoRoom);
        }
        self.copied.set(copied);
        Ok(())
    }

    /// Makes `edit` at the object itself, or at a copy that takes the place of the reference at `site`.
    /// A description, summary or title beside a reference goes into the copy.
    pub fn edit_at(&self, splice: &mut Splice<'t>, site: At, place: &Place, edit: impl FnOnce(&mut Splice<'t>)) {
        if place.references.is_empty() {
            return edit(splice);
        }
        let mut copy = Splice::new(self.outline.text);
        self.carry_siblings(&mut copy, place);
        edit(&mut copy);
        splice.replace(self.outline.range(site), copy.finish_within(self.outline.range(place.target)));
    }

    /// Adds members, already written as `"name":value,"name":value`, behind the last one of an object
    /// (or elements behind the last one of an array).
    pub fn append(&self, splice: &mut Splice<'t>, container: At, members: &str) {
        let close = self.outline.close(container);
        let before = self.outline.text.get(..close).unwrap_or_default().trim_ascii_end().len();
        let comma = if self.outline.is_empty(container) { "" } else { "," };
        splice.insert(before, format!("{comma}{members}").into_bytes());
    }

    fn carry_siblings(&self, copy: &mut Splice<'t>, place: &Place) {
        for name in ["description", "summary", "title"] {
            let nearest = place.references.iter().find_map(|&reference| self.outline.one(reference, name));
            let Some(value) = nearest.map(|value| self.outline.bytes(value)) else { continue };
            match self.outline.get(place.target, name) {
                Found::One(old) => copy.replace(self.outline.range(old), value),
                Found::Absent => {
                    self.append(copy, place.target, &format!("\"{name}\":{}", String::from_utf8_lossy(value)));
                }
                Found::Repeated => {}
            }
        }
    }

    fn has_siblings(&self, place: &Place) -> bool {
        place.references.iter().any(|&reference| self.outline.members(reference).count() > 1)
    }

    fn resolve(&self, reference: &[u8]) -> Result<At, Refusal> {
        let pointer = match reference.strip_prefix(b"#") {
            Some(pointer) if pointer.is_empty() || pointer.starts_with(b"/") => percent_decoded(pointer),
            Some(_) => return Err(Refusal::Dangling),
            None => return Err(Refusal::Remote),
        };
        let mut at = self.outline.root();
        for token in pointer.split(|&byte| byte == b'/').skip(1) {
            at = self.step(at, &unescaped_token(token)).ok_or(Refusal::Dangling)?;
        }
        Ok(at)
    }

    fn step(&self, at: At, token: &[u8]) -> Option<At> {
        match self.outline.kind(at) {
            Kind::Array => {
                let index: usize = std::str::from_utf8(token).ok()?.parse().ok()?;
                self.outline.elements(at).nth(index)
            }
            Kind::Object => {
                let mut indexes = self.index.borrow_mut();
                let index = indexes.entry(at).or_insert_with(|| self.index_of(at));
                match index.get(token) {
                    Some(Found::One(value)) => Some(*value),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn index_of(&self, object: At) -> Index<'t> {
        let mut index = Index::new();
        for (key, value) in self.outline.members(object) {
            let name = self.outline.string(key).unwrap_or_default();
            index.entry(name).and_modify(|found| *found = Found::Repeated).or_insert(Found::One(value));
        }
        index
    }
}

/// Whether anything inside is named by `$id`, `$anchor` or `$dynamicAnchor` (a property of that name is no anchor).
fn has_anchor(outline: &Outline<'_>, at: At) -> bool {
    let mut named = false;
    outline.descendants(at).any(|inside| {
        if named && outline.kind(inside) == Kind::Text {
            return true;
        }
        named = ANCHORS.iter().any(|name| outline.bytes(inside) == name.as_bytes()) && is_key(outline, inside);
        false
    })
}

fn is_key(outline: &Outline<'_>, at: At) -> bool {
    let rest = outline.text.get(outline.range(at).end..).unwrap_or_default();
    rest.trim_ascii_start().starts_with(b":")
}

/// `~1` and `~0` of a JSON Pointer.
fn unescaped_token(token: &[u8]) -> Cow<'_, [u8]> {
    if !token.contains(&b'~') {
        return Cow::Borrowed(token);
    }
    let mut out = Vec::with_capacity(token.len());
    let mut rest = token;
    while let Some((&byte, after)) = rest.split_first() {
        let (read, used) = match (byte, after.first()) {
            (b'~', Some(b'1')) => (b'/', 2),
            (b'~', Some(b'0')) => (b'~', 2),
            _ => (byte, 1),
        };
        out.push(read);
        rest = rest.get(used..).unwrap_or_default();
    }
    Cow::Owned(out)
}

/// `%XX` read as bytes; a malformed escape stays as it is.
pub(crate) fn percent_decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'%') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|digits| byte == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        out.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    Cow::Owned(out)
}

const ANCHORS: [&str; 3] = ["\"$id\"", "\"$anchor\"", "\"$dynamicAnchor\""];
const MAX_HOPS: usize = 16;
/// Bytes of shared parts that may be copied inline in one document.
const MAX_COPIED: usize = 8 << 20;
