//! Verdicts as Node reads them; lib/verdict.js takes them apart.
//!
//! One text is what costs least to hand over: a text for a name, an object and a property for each field cost many times as much.

use forge_x402::{Action, EditOp, NewBody, Verdict};
use napi::bindgen_prelude::Result;
use napi::{Env, JsString};

/// `action\nstatus\nbody limit\nid\ntarget\nedits\n` with the number of edits, `op\nname\nvalue\n` for each, op one of S(et), A(dd),
/// R(emove), and behind a B the body if there is one; all in Latin-1. An empty text passes with nothing to do. `came` is the
/// body that the engine was shown.
pub fn tell<'env>(env: &'env Env, made: Verdict, came: &[u8]) -> Result<JsString<'env>> {
    if is_empty(&made) {
        return env.create_string_latin1(b"");
    }
    let values = made.edits.iter().map(|edit| edit.name.len() + edit.value.len() + 4).sum::<usize>();
    let mut told = Vec::with_capacity(256 + values + made.body.as_ref().map_or(0, NewBody::len));
    let mut field = |part: &[u8]| {
        told.extend_from_slice(part);
        told.push(b'\n');
    };
    field(match made.action {
        Action::Pass => b"0",
        Action::Reply => b"1",
        Action::WantBody => b"2",
        Action::Wait => b"3",
    });
    field(made.http_status.to_string().as_bytes());
    field(made.body_limit.to_string().as_bytes());
    field(id(&made));
    field(made.target.as_deref().unwrap_or_default());
    field(made.edits.len().to_string().as_bytes());
    for edit in &made.edits {
        field(match edit.op {
            EditOp::Set => b"S",
            EditOp::Add => b"A",
            EditOp::Remove => b"R",
        });
        field(edit.name.as_bytes());
        field(&edit.value);
    }
    if let Some(body) = &made.body {
        told.push(b'B');
        for part in body.parts(&[came]) {
            told.extend_from_slice(part);
        }
    }
    env.create_string_latin1(&told)
}

fn is_empty(made: &Verdict) -> bool {
    made.action == Action::Pass
        && made.edits.is_empty()
        && made.target.is_none()
        && made.body.is_none()
        && made.feedback_id.is_none()
}

/// Empty where the answer carries none.
fn id(made: &Verdict) -> &[u8] {
    made.feedback_id.as_ref().map_or("", |id| id.as_str()).as_bytes()
}
