//! Insertions and cuts at byte ranges of a text; every byte outside them is copied as it is.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::Members;

/// Edits of one text, collected in any order, applied once.
pub(crate) struct Splice<'t> {
    text: &'t [u8],
    edits: Vec<(Range<usize>, Cow<'t, [u8]>)>,
}

impl<'t> Splice<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Splice { text, edits: Vec::with_capacity(6) }
    }

    /// Puts `bytes` in front of the byte at `at`; two insertions at one place keep their order.
    pub fn insert(&mut self, at: usize, bytes: impl Into<Cow<'t, [u8]>>) {
        self.replace(at..at, bytes);
    }

    pub fn cut(&mut self, range: Range<usize>) {
        self.replace(range, &b""[..]);
    }

    pub fn replace(&mut self, range: Range<usize>, bytes: impl Into<Cow<'t, [u8]>>) {
        self.edits.push((range, bytes.into()));
    }

    /// Adds `"name":value` as the last member of an object.
    pub fn append_member<const N: usize>(&mut self, object: &Members<N>, name: &str, value: &[u8]) {
        let mut member = Vec::with_capacity(name.len() + value.len() + 4);
        if !object.is_empty() {
            member.push(b',');
        }
        member.push(b'"');
        member.extend_from_slice(name.as_bytes());
        member.extend_from_slice(b"\":");
        member.extend_from_slice(value);
        self.insert(object.close, member);
    }

    /// The edited text. Overlapping edits do not happen: callers edit disjoint members.
    pub fn finish(self) -> Vec<u8> {
        let whole = 0..self.text.len();
        self.finish_within(whole)
    }

    /// The edited text of one value only, for a copy that is put elsewhere; every edit lies inside `range`.
    pub fn finish_within(mut self, range: Range<usize>) -> Vec<u8> {
        self.edits.sort_by_key(|(range, _)| range.start);
        let added: usize = self.edits.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut out = Vec::with_capacity(range.len() + added);
        let mut at = range.start;
        for (range, bytes) in &self.edits {
            out.extend_from_slice(&self.text[at..range.start]);
            out.extend_from_slice(bytes);
            at = range.end;
        }
        out.extend_from_slice(&self.text[at..range.end]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan;
    use super::*;

    #[test]
    fn outside_bytes_are_kept_whatever_the_order_of_the_edits() {
        let text = br#"{"a": 1.10, "b":"x" }"#;
        let object = scan::document(text, ["a", "b"]).unwrap();
        let mut splice = Splice::new(text);
        splice.append_member(&object, "c", b"3");
        let scan::Slot::One(a) = &object.slots[0] else { panic!() };
        splice.replace(a.clone(), &b"2"[..]);
        assert_eq!(splice.finish(), br#"{"a": 2, "b":"x" ,"c":3}"#);
    }

    #[test]
    fn a_part_is_finished_alone() {
        let mut splice = Splice::new(br#"{"a":{"b":1},"c":2}"#);
        splice.insert(11, &br#","d":3"#[..]);
        assert_eq!(splice.finish_within(5..12), br#"{"b":1,"d":3}"#);
    }

    #[test]
    fn an_empty_object_gets_no_comma() {
        let text = b"{ }";
        let object = scan::document(text, []).unwrap();
        let mut splice = Splice::new(text);
        splice.append_member(&object, "c", b"3");
        assert_eq!(splice.finish(), br#"{ "c":3}"#);
    }
}
