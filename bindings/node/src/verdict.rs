//! Verdicts as Node reads them; lib/verdict.js takes them apart.
//!
//! One text is what costs least to hand over: a text for a name, an object and a property for each field cost many times as much.

use forge_x402::{Action, EditOp};
use napi::bindgen_prelude::{Array, Either3, Null, Result};
use napi::{Env, JsString};

/// `action\nstatus\nbody limit\nid\ntarget` and `\nop\nname\nvalue` for each edit, in Latin-1, op one of S(et), A(dd), R(emove); an
/// empty text passes with nothing to do. With the body behind it in an array, likewise a Latin-1 text. Null: nothing began.
pub type Told<'env> = Either3<JsString<'env>, Array<'env>, Null>;

pub fn tell(env: &Env, made: forge_x402::Verdict) -> Result<Told<'_>> {
    let mut head = Vec::new();
    if !is_empty(&made) {
        head.reserve(256 + made.edits.iter().map(|edit| edit.value.len()).sum::<usize>());
        head.extend_from_slice(match made.action {
            Action::Pass => b"0\n",
            Action::Reply => b"1\n",
            Action::WantBody => b"2\n",
            Action::Wait => b"3\n",
        });
        head.extend_from_slice(made.http_status.to_string().as_bytes());
        head.push(b'\n');
        head.extend_from_slice(made.body_limit.to_string().as_bytes());
        head.push(b'\n');
        head.extend_from_slice(made.feedback_id.as_ref().map_or("", |id| id.as_str()).as_bytes());
        head.push(b'\n');
        head.extend_from_slice(made.target.as_deref().unwrap_or_default());
        for edit in &made.edits {
            head.extend_from_slice(match edit.op {
                EditOp::Set => b"\nS\n",
                EditOp::Add => b"\nA\n",
                EditOp::Remove => b"\nR\n",
            });
            head.extend_from_slice(edit.name.as_bytes());
            head.push(b'\n');
            head.extend_from_slice(&edit.value);
        }
    }
    let head = env.create_string_latin1(&head)?;
    let Some(body) = made.body else { return Ok(Either3::A(head)) };
    let mut both = env.create_array(2)?;
    both.set(0, head)?;
    both.set(1, env.create_string_latin1(&body)?)?;
    Ok(Either3::B(both))
}

fn is_empty(made: &forge_x402::Verdict) -> bool {
    made.action == Action::Pass
        && made.edits.is_empty()
        && made.target.is_none()
        && made.body.is_none()
        && made.feedback_id.is_none()
}
