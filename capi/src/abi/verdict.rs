//! What the host is to do now.

use super::values::fx402_span;

/// Apply the edits (often none) and go on.
pub const FX402_PASS: u32 = 0;
/// Answer now with http_status, the edits as headers, and body. The merchant's code does not run.
pub const FX402_REPLY: u32 = 1;
/// Call the same phase again with the whole body. If it is larger than body_limit or cannot be held: apply this verdict
/// and stream on.
pub const FX402_WANT_BODY: u32 = 2;
/// Call fx402_exchange_wait where blocking is allowed.
pub const FX402_WAIT: u32 = 3;

/// The first line of that name keeps its place and spelling and gets the value, others go; appended where there is none.
pub const FX402_EDIT_SET: u32 = 1;
/// A new line at the end.
pub const FX402_EDIT_ADD: u32 = 2;
/// All lines of that name go.
pub const FX402_EDIT_REMOVE: u32 = 3;

/// In fx402_verdict.flags: hand on target instead of the one that came.
pub const FX402_TARGET_REPLACED: u32 = 1;
/// In fx402_verdict.flags: body is the whole body to send, or to hand on, instead of the one that came.
pub const FX402_BODY_REPLACED: u32 = 2;

/// One header change. Apply in order; names compare without case. No CR, LF or NUL of ours is in them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fx402_edit {
    /// FX402_EDIT_*.
    pub op: u32,
    pub reserved: u32,
    pub name: fx402_span,
    pub value: fx402_span,
}

/// The answer of one phase. Set struct_size before the call; the rest is written by every call, also by one that fails
/// (then it says: pass, no edits).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fx402_verdict {
    /// sizeof(fx402_verdict).
    pub struct_size: u32,
    /// FX402_PASS, FX402_REPLY, FX402_WANT_BODY or FX402_WAIT.
    pub action: u32,
    /// With FX402_REPLY, else 0.
    pub http_status: u32,
    /// FX402_TARGET_REPLACED, FX402_BODY_REPLACED.
    pub flags: u32,
    pub edits: *const fx402_edit,
    pub edits_len: usize,
    pub target: fx402_span,
    pub body: fx402_span,
    /// The id that this answer carries; empty if none.
    pub feedback_id: fx402_span,
    /// With FX402_WANT_BODY: bodies larger than this many bytes are not worth holding.
    pub body_limit: usize,
}
