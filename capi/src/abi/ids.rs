//! Feedback ids outside HTTP, and the way back for buffers.

use std::ffi::c_char;

use forge_x402::{Now, Verification};

use super::handles::fx402_engine;
use super::status::*;
use super::values::{fx402_buf, fx402_span};
use crate::guard::{Fault, guard};
use crate::out;

/// Characters of an id, without the NUL.
pub const FX402_ID_LEN: usize = 22;
/// Ours and alive. (These are what *reason says, with status FX402_OK.)
pub const FX402_ID_VALID: u32 = 0;
/// Not 22 characters of canonical base64url.
pub const FX402_ID_MALFORMED: u32 = 1;
/// Not made with one of our keys.
pub const FX402_ID_BAD_SIGNATURE: u32 = 2;
/// Issued more than 300 s in the future, or longer ago than ttl_ms.
pub const FX402_ID_EXPIRED: u32 = 3;

/// Writes a fresh id and a NUL: FX402_ID_LEN + 1 bytes. On failure out[0] is NUL.
///
/// cbindgen:ptrs-as-arrays=[[out;FX402_ID_LEN + 1]]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_mint_id(e: *const fx402_engine, out: *mut c_char) -> fx402_status {
    // SAFETY: rules R2 and R4; out has room for FX402_ID_LEN + 1 bytes.
    unsafe {
        out::clear(out, 0);
        guard(std::ptr::null_mut(), || {
            let (engine, out) = (out::engine(e)?, out::slot(out)? as *mut c_char);
            let id = engine.mint_id(Now::read());
            let text = id.as_str().as_bytes();
            if text.len() != FX402_ID_LEN {
                return Err(Fault::new(FX402_E_INTERNAL, "an id of another length"));
            }
            std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast::<u8>(), FX402_ID_LEN);
            out.add(FX402_ID_LEN).write(0);
            Ok(())
        })
    }
}

/// Whether id is one of ours and alive at now_ms (milliseconds since 1970; 0: the clock, or the newest moment this
/// process made an id at, if the clock fell behind it). The answer is *reason, FX402_ID_*; the status is FX402_OK also
/// for an id that is not valid. On failure *reason is FX402_ID_MALFORMED.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_verify_id(
    e: *const fx402_engine,
    id: fx402_span,
    now_ms: u64,
    reason: *mut u32,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe {
        out::clear(reason, FX402_ID_MALFORMED);
        guard(std::ptr::null_mut(), || {
            let (engine, reason, id) = (out::engine(e)?, out::slot(reason)?, id.bytes()?);
            let found = match now_ms {
                0 => engine.verify_id(id, Now::read()),
                moment => engine.verify_id_at(id, moment),
            };
            *reason = match found {
                Verification::Valid { .. } => FX402_ID_VALID,
                Verification::Malformed => FX402_ID_MALFORMED,
                Verification::BadSignature => FX402_ID_BAD_SIGNATURE,
                Verification::Expired => FX402_ID_EXPIRED,
            };
            Ok(())
        })
    }
}

/// Gives the bytes back and leaves *b empty, so twice is fine. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_buf_free(b: *mut fx402_buf) {
    // SAFETY: *b is empty or as fx402_buf::of made it, by rule R4.
    unsafe {
        _ = guard(std::ptr::null_mut(), || {
            if let Some(buf) = b.as_mut() {
                let fx402_buf { ptr, len, cap } = std::mem::replace(buf, fx402_buf::EMPTY);
                if !ptr.is_null() {
                    drop(Vec::from_raw_parts(ptr, len, cap));
                }
            }
            Ok(())
        });
    }
}
