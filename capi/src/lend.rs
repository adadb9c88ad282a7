//! Verdicts out: the exchange keeps the engine's verdict, the caller gets views of it (rule R3).

use forge_x402::{Action, Edit, EditOp, Exchange, FeedbackId, Verdict};

use crate::abi::handles::fx402_exchange;
use crate::abi::values::fx402_span;
use crate::abi::verdict::{
    FX402_BODY_REPLACED, FX402_EDIT_ADD, FX402_EDIT_REMOVE, FX402_EDIT_SET, FX402_PASS, FX402_REPLY,
    FX402_TARGET_REPLACED, FX402_WAIT, FX402_WANT_BODY, fx402_edit, fx402_verdict,
};
use crate::sized::{self, Room};

/// Makes `out` say "change nothing", as far as it has room: what a call that fails leaves there.
///
/// # Safety
/// `out` is NULL or points to a verdict of at least its own `struct_size` bytes.
#[inline(always)]
pub(crate) unsafe fn clear(out: *mut fx402_verdict) {
    if !out.is_null() && out.is_aligned() {
        // SAFETY: not NULL, aligned; the caller's promise.
        unsafe { sized::write_prefix(out, &PASS, (*out).struct_size as usize) };
    }
}

impl fx402_exchange {
    pub(crate) fn new(exchange: Exchange) -> fx402_exchange {
        fx402_exchange { exchange, verdict: Verdict::pass(), body: None, edits: Vec::new() }
    }

    /// Keeps `verdict` until the next one and shows it in `out`; `came` is the body that the engine was shown.
    pub(crate) fn lend(&mut self, mut verdict: Verdict, came: &[u8], out: &Room<fx402_verdict>) {
        self.body = verdict.body.take().map(|body| body.whole(came));
        self.verdict = verdict;
        self.edits.clear();
        self.edits.extend(self.verdict.edits.iter().map(edit));
        let verdict = &self.verdict;
        let replaced = |part: &Option<Vec<u8>>, flag| if part.is_some() { flag } else { 0 };
        out.write(&fx402_verdict {
            action: action(verdict.action),
            http_status: verdict.http_status.into(),
            flags: replaced(&verdict.target, FX402_TARGET_REPLACED) | replaced(&self.body, FX402_BODY_REPLACED),
            edits: if self.edits.is_empty() { std::ptr::null() } else { self.edits.as_ptr() },
            edits_len: self.edits.len(),
            target: fx402_span::of(verdict.target.as_deref().unwrap_or_default()),
            body: fx402_span::of(self.body.as_deref().unwrap_or_default()),
            feedback_id: fx402_span::of(verdict.feedback_id.as_ref().map_or("", FeedbackId::as_str).as_bytes()),
            body_limit: verdict.body_limit,
            ..PASS
        });
    }
}

fn edit(edit: &Edit) -> fx402_edit {
    let op = match edit.op {
        EditOp::Set => FX402_EDIT_SET,
        EditOp::Add => FX402_EDIT_ADD,
        EditOp::Remove => FX402_EDIT_REMOVE,
    };
    fx402_edit { op, reserved: 0, name: fx402_span::of(edit.name.as_bytes()), value: fx402_span::of(&edit.value) }
}

fn action(action: Action) -> u32 {
    match action {
        Action::Pass => FX402_PASS,
        Action::Reply => FX402_REPLY,
        Action::WantBody => FX402_WANT_BODY,
        Action::Wait => FX402_WAIT,
    }
}

const PASS: fx402_verdict = fx402_verdict {
    struct_size: 0,
    action: FX402_PASS,
    http_status: 0,
    flags: 0,
    edits: std::ptr::null(),
    edits_len: 0,
    target: fx402_span::EMPTY,
    body: fx402_span::EMPTY,
    feedback_id: fx402_span::EMPTY,
    body_limit: 0,
};
