//! What the host is to do now.

use std::borrow::Cow;
use std::ops::Range;

use crate::feedback::FeedbackId;

/// What to do with the message in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Apply the edits (often none) and go on.
    #[default]
    Pass,
    /// Answer the request now: status, edits as headers, body. The merchant's code does not run.
    Reply,
    /// Call the same phase again with the whole body; if it is larger than `body_limit`, or cannot be held,
    /// apply this verdict and stream on.
    WantBody,
    /// Call [`crate::Exchange::wait`] where blocking is allowed.
    Wait,
}

/// How a header is changed. Names are compared without case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditOp {
    /// The first line of that name keeps its place and spelling and gets the value, others go; appended where there is none.
    Set,
    /// A new line at the end.
    Add,
    /// All lines of that name go.
    Remove,
}

/// One header change. Names and values are ASCII or the merchant's own bytes; never CR, LF or NUL of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub op: EditOp,
    pub name: &'static str,
    pub value: Cow<'static, [u8]>,
}

impl Edit {
    pub(crate) fn set(name: &'static str, value: impl Into<Cow<'static, [u8]>>) -> Self {
        Edit { op: EditOp::Set, name, value: value.into() }
    }

    pub(crate) fn remove(name: &'static str) -> Self {
        Edit { op: EditOp::Remove, name, value: Cow::Borrowed(b"") }
    }
}

/// The answer of one phase. The default says: change nothing, go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub action: Action,
    /// The status to answer with; 0 unless `action` is [`Action::Reply`].
    pub http_status: u16,
    pub edits: Vec<Edit>,
    /// The request target to hand on instead of the one that came.
    pub target: Option<Vec<u8>>,
    /// The body to send, or hand on, instead of the one that came.
    pub body: Option<NewBody>,
    /// The feedback id that this answer carries.
    pub feedback_id: Option<FeedbackId>,
    /// With [`Action::WantBody`]: the largest body worth holding, in bytes.
    pub body_limit: usize,
}

impl Verdict {
    /// Change nothing and go on.
    pub fn pass() -> Self {
        Verdict::default()
    }
}

/// A body instead of the one that came: new bytes, with a beginning and an end of the one that came around them. Both are
/// often empty; where they are not, a host that puts the parts where it sends from copies a large body once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBody {
    /// Bytes of the one that came that stay in front.
    before: usize,
    made: Vec<u8>,
    /// Bytes of the one that came that stay behind.
    after: usize,
}

impl NewBody {
    /// `made` put in front of the byte at `at` of a body of `len` bytes.
    pub(crate) fn inserted(len: usize, at: usize, made: Vec<u8>) -> Self {
        NewBody { before: at, made, after: len.saturating_sub(at) }
    }

    /// How many bytes it has.
    #[expect(clippy::len_without_is_empty, reason = "what is sent instead is rarely empty, and nobody asks")]
    pub fn len(&self) -> usize {
        self.before + self.made.len() + self.after
    }

    /// Its bytes in order; `came` is the body that the engine was shown, in as many pieces as the host has it in.
    pub fn parts<'a>(&'a self, came: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
        let size = came.iter().map(|piece| piece.len()).sum::<usize>();
        let behind = within(came, size.saturating_sub(self.after)..size);
        within(came, 0..self.before).chain(std::iter::once(&self.made[..])).chain(behind)
    }

    /// Its bytes in one piece; `came` is the body that the engine was shown, empty where it was shown none.
    pub fn whole(self, came: &[u8]) -> Vec<u8> {
        if self.before == 0 && self.after == 0 {
            return self.made;
        }
        let mut whole = Vec::with_capacity(self.len());
        self.parts(&[came]).for_each(|part| whole.extend_from_slice(part));
        whole
    }
}

/// What of the pieces lies in `range` of all of them, one behind the other.
fn within<'a>(pieces: &'a [&'a [u8]], range: Range<usize>) -> impl Iterator<Item = &'a [u8]> {
    let mut at = 0;
    pieces.iter().map(move |piece| {
        let place = |end: usize| end.saturating_sub(at).min(piece.len());
        let part = piece.get(place(range.start)..place(range.end)).unwrap_or_default();
        at += piece.len();
        part
    })
}

impl From<Vec<u8>> for NewBody {
    fn from(made: Vec<u8>) -> Self {
        NewBody { before: 0, made, after: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_the_same_in_however_many_pieces_the_old_one_came() {
        let came = b"0123456789";
        for (body, wanted) in [
            (NewBody::inserted(10, 0, b"new".to_vec()), "new0123456789"),
            (NewBody::inserted(10, 9, b"new".to_vec()), "012345678new9"),
            (NewBody::inserted(10, 10, b"new".to_vec()), "0123456789new"),
            (NewBody::from(b"new".to_vec()), "new"),
        ] {
            assert_eq!(body.len(), wanted.len());
            for first in 0..=10 {
                for second in first..=10 {
                    let pieces = [&came[..first], &came[first..second], &came[second..]];
                    assert_eq!(body.parts(&pieces).collect::<Vec<_>>().concat(), wanted.as_bytes());
                }
            }
            assert_eq!(body.whole(came), wanted.as_bytes());
        }
    }
}
