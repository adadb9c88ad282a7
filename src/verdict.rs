//! What the host is to do now.

use std::borrow::Cow;

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
    /// The whole body to send, or hand on, instead of the one that came.
    pub body: Option<Vec<u8>>,
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
