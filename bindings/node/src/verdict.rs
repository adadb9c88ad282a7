//! Verdicts as Node reads them.

use forge_x402::{Action, EditOp};
use napi::bindgen_prelude::{BufferSlice, Result};
use napi::{Env, JsString};
use napi_derive::napi;

use crate::exchange::Exchange;

/// What to do now. `edits` is `op\nname\nvalue` repeated, op one of S(et), A(dd), R(emove).
#[napi(object, object_from_js = false)]
pub struct Verdict<'env> {
    /// 0 pass, 1 reply, 2 want body, 3 wait.
    pub action: u32,
    pub http_status: u32,
    pub edits: JsString<'env>,
    pub target: Option<JsString<'env>>,
    /// Copied: a buffer that owns foreign memory costs the garbage collector more than the bytes do.
    pub body: Option<BufferSlice<'env>>,
    pub feedback_id: Option<String>,
    pub body_limit: u32,
}

/// An exchange that began, with the verdict of its first phase.
#[napi(object, object_from_js = false)]
pub struct Begun<'env> {
    pub exchange: Exchange,
    pub verdict: Verdict<'env>,
}

pub fn convert(env: &Env, made: forge_x402::Verdict) -> Result<Verdict<'_>> {
    let mut edits = Vec::with_capacity(256);
    for edit in &made.edits {
        if !edits.is_empty() {
            edits.push(b'\n');
        }
        edits.extend_from_slice(match edit.op {
            EditOp::Set => b"S\n",
            EditOp::Add => b"A\n",
            EditOp::Remove => b"R\n",
        });
        edits.extend_from_slice(edit.name.as_bytes());
        edits.push(b'\n');
        edits.extend_from_slice(&edit.value);
    }
    Ok(Verdict {
        action: match made.action {
            Action::Pass => 0,
            Action::Reply => 1,
            Action::WantBody => 2,
            Action::Wait => 3,
        },
        http_status: made.http_status.into(),
        edits: env.create_string_latin1(&edits)?,
        target: made.target.map(|target| env.create_string_latin1(&target)).transpose()?,
        body: made.body.map(|body| BufferSlice::copy_from(env, body)).transpose()?,
        feedback_id: made.feedback_id,
        body_limit: u32::try_from(made.body_limit).unwrap_or(u32::MAX),
    })
}
