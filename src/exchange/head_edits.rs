//! The edits of one response head, and how large it is with them: every edit is weighed once, when it is made.

use crate::feedback::ladder;
use crate::http::head::{self, HeaderLine};
use crate::verdict::{Edit, EditOp};
use std::borrow::Cow;

#[derive(Debug)]
pub(super) struct HeadEdits<'r> {
    headers: &'r [HeaderLine<'r>],
    /// Bytes of the head as it came.
    before: usize,
    /// Bytes of the head with the edits.
    after: usize,
    edits: Vec<Edit>,
}

/// A state to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    count: usize,
    after: usize,
}

impl<'r> HeadEdits<'r> {
    pub fn new(headers: &'r [HeaderLine<'r>]) -> Self {
        let before = head::size(headers);
        HeadEdits { headers, before, after: before, edits: Vec::new() }
    }

    pub fn headers(&self) -> &'r [HeaderLine<'r>] {
        self.headers
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<Cow<'static, [u8]>>) {
        self.push(Edit::set(name, value));
    }

    /// Removes a header, where it stands there.
    pub fn remove(&mut self, name: &'static str) {
        if head::find(self.headers, name).is_present() {
            self.push(Edit::remove(name));
        }
    }

    pub fn push(&mut self, edit: Edit) {
        if edit.op != EditOp::Add {
            self.after = self.after.saturating_sub(self.bytes_of(edit.name));
        }
        if edit.op != EditOp::Remove {
            self.after += head::line_size(edit.name.as_bytes(), &edit.value);
        }
        if self.edits.capacity() == 0 {
            self.edits.reserve(ROOM);
        }
        self.edits.push(edit);
    }

    pub fn extend(&mut self, edits: impl IntoIterator<Item = Edit>) {
        edits.into_iter().for_each(|edit| self.push(edit));
    }

    /// Whether the head may become as large as it is now.
    pub fn fits(&self) -> bool {
        ladder::may_grow(&ladder::HEAD, self.before, self.after)
    }

    /// Whether the value of one of its lines, of `old` bytes, may become one of `new` bytes.
    pub fn fits_value(&self, old: usize, new: usize) -> bool {
        ladder::may_grow(&ladder::VALUE, old, new)
            && ladder::may_grow(&ladder::HEAD, self.before, (self.after + new).saturating_sub(old))
    }

    /// Bytes of the head as it came, and with the edits.
    pub fn sizes(&self) -> (usize, usize) {
        (self.before, self.after)
    }

    pub fn mark(&self) -> Mark {
        Mark { count: self.edits.len(), after: self.after }
    }

    pub fn clear(&mut self) {
        self.back_to(Mark { count: 0, after: self.before });
    }

    /// Drops what was added since.
    pub fn back_to(&mut self, mark: Mark) {
        self.edits.truncate(mark.count);
        self.after = mark.after;
    }

    pub fn as_slice(&self) -> &[Edit] {
        &self.edits
    }

    pub fn into_edits(self) -> Vec<Edit> {
        self.edits
    }

    fn bytes_of(&self, name: &str) -> usize {
        let lines = self.headers.iter().filter(|(line, _)| line.eq_ignore_ascii_case(name.as_bytes()));
        lines.map(|(line, value)| head::line_size(line, value)).sum()
    }
}

/// A paid answer has mostly five to seven.
const ROOM: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_that_of_the_head_with_the_edits() {
        let headers: [HeaderLine<'_>; 3] = [(b"etag", b"\"x\""), (b"Content-Length", b"7"), (b"CONTENT-LENGTH", b"7")];
        let mut edits = HeadEdits::new(&headers);
        edits.remove("ETag");
        edits.remove("Last-Modified");
        edits.set("Content-Length", &b"1234"[..]);
        edits.set("Accept-Ranges", &b"none"[..]);
        let sent: [HeaderLine<'_>; 2] = [(b"Content-Length", b"1234"), (b"Accept-Ranges", b"none")];
        assert_eq!(edits.sizes(), (head::size(&headers), head::size(&sent)));
        let names: Vec<_> = edits.as_slice().iter().map(|edit| edit.name).collect();
        assert_eq!(names, ["ETag", "Content-Length", "Accept-Ranges"]);
    }

    #[test]
    fn going_back_forgets_edits_and_their_size() {
        let mut edits = HeadEdits::new(&[]);
        edits.set("A", &b"1"[..]);
        let (mark, sizes) = (edits.mark(), edits.sizes());
        edits.set("B", &b"2"[..]);
        edits.back_to(mark);
        assert_eq!((edits.sizes(), edits.into_edits().len()), (sizes, 1));
    }
}
