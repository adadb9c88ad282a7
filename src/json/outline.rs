//! An outline of a whole JSON text: where every key and value stands, for callers that walk a document
//! back and forth (references, shared parts) instead of looking for a few members.
//!
//! The text passes the same check as everywhere else first; the outline is then one iterative pass, 12 bytes
//! per key or value and no copy of the text.
//!
//! Not done on purpose: names are not indexed here; a caller that looks often into one large object keeps its own index.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

use super::escape;
use super::scan::{self, Fault, Kind};

/// One key or value of an [`Outline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct At(u32);

/// What stands under a name in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    One(At),
    /// The name stands there more than once: readers disagree about which counts.
    Repeated,
}

pub(crate) struct Outline<'t> {
    pub text: &'t [u8],
    nodes: Vec<Node>,
}

/// A key is a node of its own in front of its value; `next` is the index after everything inside.
struct Node {
    start: u32,
    end: u32,
    next: u32,
}

impl<'t> Outline<'t> {
    /// Checks the text, at most 4 GiB, and outlines it.
    pub fn of(text: &'t [u8]) -> Result<Self, Fault> {
        if u32::try_from(text.len()).is_err() || !scan::is_valid(text) {
            return Err(Fault::Invalid);
        }
        let mut nodes = Vec::with_capacity(text.len() / 24);
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let end = match byte {
                b' ' | b'\n' | b'\r' | b'\t' | b',' | b':' => {
                    at += 1;
                    continue;
                }
                b'{' | b'[' => {
                    open.push(nodes.len());
                    nodes.push(Node { start: at as u32, end: 0, next: 0 });
                    at += 1;
                    continue;
                }
                b'}' | b']' => {
                    at += 1;
                    let next = nodes.len() as u32;
                    if let Some(node) = open.pop().and_then(|index| nodes.get_mut(index)) {
                        let node: &mut Node = node;
                        (node.end, node.next) = (at as u32, next);
                    }
                    continue;
                }
                b'"' => string_end(text, at),
                _ => word_end(text, at),
            };
            nodes.push(Node { start: at as u32, end: end as u32, next: nodes.len() as u32 + 1 });
            at = end;
        }
        Ok(Outline { text, nodes })
    }

    /// The top-level value.
    pub fn root(&self) -> At {
        At(0)
    }

    /// The byte range of a key or value, quotes and brackets included.
    pub fn range(&self, at: At) -> Range<usize> {
        self.nodes.get(at.0 as usize).map_or(0..0, |node| node.start as usize..node.end as usize)
    }

    pub fn kind(&self, at: At) -> Kind {
        scan::kind(self.text, self.range(at).start)
    }

    pub fn bytes(&self, at: At) -> &'t [u8] {
        self.text.get(self.range(at)).unwrap_or_default()
    }

    /// The decoded text of a string (or key), `None` for any other value.
    pub fn string(&self, at: At) -> Option<Cow<'t, [u8]>> {
        self.raw_string(at).map(escape::unescape)
    }

    /// The bytes of a string (or key) inside its quotes, escapes as they stand.
    pub fn raw_string(&self, at: At) -> Option<&'t [u8]> {
        self.bytes(at).strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// Keys and values of an object; nothing for any other value.
    pub fn members(&self, at: At) -> impl Iterator<Item = (At, At)> {
        let (mut next, end) = self.inside(at, Kind::Object);
        std::iter::from_fn(move || {
            let key = (next < end).then_some(At(next))?;
            let value = At(next + 1);
            next = self.after(value);
            Some((key, value))
        })
    }

    /// Elements of an array; nothing for any other value.
    pub fn elements(&self, at: At) -> impl Iterator<Item = At> {
        let (mut next, end) = self.inside(at, Kind::Array);
        std::iter::from_fn(move || {
            let element = (next < end).then_some(At(next))?;
            next = self.after(element);
            Some(element)
        })
    }

    /// Everything inside a value, keys included, in the order of the text.
    pub fn descendants(&self, at: At) -> impl Iterator<Item = At> {
        (at.0 + 1..self.after(at)).map(At)
    }

    pub fn get(&self, object: At, name: &str) -> Found {
        let mut found = Found::Absent;
        for (key, value) in self.members(object) {
            if self.reads(key, name) {
                found = if found == Found::Absent { Found::One(value) } else { Found::Repeated };
            }
        }
        found
    }

    /// The value under a name that stands there exactly once.
    pub fn one(&self, object: At, name: &str) -> Option<At> {
        match self.get(object, name) {
            Found::One(value) => Some(value),
            _ => None,
        }
    }

    /// As [`Outline::one`], only if it is of that kind.
    pub fn one_of_kind(&self, object: At, name: &str, kind: Kind) -> Option<At> {
        self.one(object, name).filter(|&value| self.kind(value) == kind)
    }

    /// Whether a string (or key) reads `name`.
    pub fn reads(&self, at: At, name: &str) -> bool {
        self.raw_string(at).is_some_and(|raw| scan::key_is(raw, name))
    }

    pub fn is_empty(&self, container: At) -> bool {
        self.after(container) == container.0 + 1
    }

    /// The position of the closing bracket of an object or array: the place for a new last member.
    pub fn close(&self, container: At) -> usize {
        self.range(container).end.saturating_sub(1)
    }

    fn inside(&self, at: At, kind: Kind) -> (u32, u32) {
        if self.kind(at) == kind { (at.0 + 1, self.after(at)) } else { (0, 0) }
    }

    fn after(&self, at: At) -> u32 {
        self.nodes.get(at.0 as usize).map_or(u32::MAX, |node| node.next)
    }
}

fn string_end(text: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        if text.get(at + found) == Some(&b'"') {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

fn word_end(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'));
    end.map_or(text.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'t>(outline: &Outline<'t>, at: At) -> &'t str {
        std::str::from_utf8(outline.bytes(at)).unwrap()
    }

    #[test]
    fn every_member_and_element_is_found_with_its_bytes() {
        let text = br#" {"a" : {"b":[1.10, {"c":"}]"},"x\"y"], "n":null}, "d":{ }, "e":-1e5 } "#;
        let outline = Outline::of(text).unwrap();
        let members: Vec<_> = outline
            .members(outline.root())
            .map(|(key, value)| (shown(&outline, key), shown(&outline, value)))
            .collect();
        assert_eq!(members[0], (r#""a""#, r#"{"b":[1.10, {"c":"}]"},"x\"y"], "n":null}"#));
        assert_eq!(members[1], (r#""d""#, "{ }"));
        assert_eq!(members[2], (r#""e""#, "-1e5"));
        let a = outline.one(outline.root(), "a").unwrap();
        let elements: Vec<_> =
            outline.elements(outline.one(a, "b").unwrap()).map(|value| shown(&outline, value)).collect();
        assert_eq!(elements, ["1.10", r#"{"c":"}]"}"#, r#""x\"y""#]);
        assert!(outline.is_empty(outline.one(outline.root(), "d").unwrap()));
        assert!(!outline.is_empty(a));
        assert_eq!(text[outline.close(outline.root())], b'}');
    }

    #[test]
    fn names_are_compared_as_what_they_read() {
        let outline = Outline::of(br#"{"\u0061":1,"b":2,"b":3}"#).unwrap();
        assert!(matches!(outline.get(outline.root(), "a"), Found::One(_)));
        assert_eq!(outline.get(outline.root(), "b"), Found::Repeated);
        assert_eq!(outline.get(outline.root(), "c"), Found::Absent);
    }

    #[test]
    fn other_kinds_have_no_members_and_no_elements() {
        for text in ["1", "\"x\"", "null", "true", "[]", "{}"] {
            let outline = Outline::of(text.as_bytes()).unwrap();
            assert_eq!(outline.members(outline.root()).count(), 0, "{text}");
            assert_eq!(outline.elements(outline.root()).count(), 0, "{text}");
        }
    }

    #[test]
    fn invalid_text_has_no_outline() {
        for text in ["", "{", "{\"a\":1,}", "[1 2]", "{}{}", "nul"] {
            assert!(Outline::of(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn p35_depth_needs_no_stack() {
        let text = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let outline = Outline::of(text.as_bytes()).unwrap();
        assert_eq!(outline.descendants(outline.root()).count(), 100_001);
    }
}
