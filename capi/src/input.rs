//! Messages in: the caller's structs, checked, as the engine's.

use forge_x402::{Body, Outcome, RequestHead, ResponseHead};

use crate::abi::messages::{
    FX402_IN_BODY_NONE, FX402_IN_BODY_WHOLE, FX402_IN_HEAD_FIRST, fx402_request_in, fx402_response_in,
};
use crate::abi::outcome::{FX402_ABORTED, FX402_DELIVERED, FX402_FAILED, fx402_outcome};
use crate::abi::status::FX402_E_ARG;
use crate::abi::values::fx402_span;
use crate::guard::Fault;
use crate::headers::Lines;
use crate::sized;

/// # Safety
/// `from` is NULL or as rules R2 and the struct's doc say.
#[inline(always)]
pub(crate) unsafe fn request<'a>(
    from: *const fx402_request_in,
    lines: &'a mut Lines<'a>,
) -> Result<RequestHead<'a>, Fault> {
    // SAFETY: the caller's promise, for the struct and for every span in it.
    unsafe {
        let from = sized::read::<fx402_request_in>(from)?;
        Ok(RequestHead {
            method: from.method.bytes()?,
            target: from.target.bytes()?,
            scheme: from.scheme.bytes()?,
            authority: from.authority.bytes()?,
            route: from.route.bytes()?,
            client_ip: from.client_ip.bytes()?,
            headers: lines.fill(&from.headers)?,
            body: body(from.flags, from.body)?,
        })
    }
}

/// # Safety
/// As [`request`].
#[inline(always)]
pub(crate) unsafe fn response<'a>(
    from: *const fx402_response_in,
    lines: &'a mut Lines<'a>,
) -> Result<ResponseHead<'a>, Fault> {
    // SAFETY: the caller's promise, for the struct and for every span in it.
    unsafe {
        let from = sized::read::<fx402_response_in>(from)?;
        let status = u16::try_from(from.http_status).ok().filter(|status| (100..=999).contains(status));
        Ok(ResponseHead {
            status: status.ok_or_else(|| Fault::new(FX402_E_ARG, "http_status is not 100 to 999"))?,
            route: from.route.bytes()?,
            headers: lines.fill(&from.headers)?,
            body: body(from.flags, from.body)?,
            head_first: from.flags & FX402_IN_HEAD_FIRST != 0,
        })
    }
}

#[inline(always)]
unsafe fn body<'a>(flags: u32, body: fx402_span) -> Result<Body<'a>, Fault> {
    const KNOWN: u32 = FX402_IN_BODY_WHOLE | FX402_IN_BODY_NONE | FX402_IN_HEAD_FIRST;
    if flags & !KNOWN != 0 {
        return Err(Fault::new(FX402_E_ARG, "flags: a bit that this version does not know"));
    }
    match (flags & FX402_IN_BODY_WHOLE != 0, flags & FX402_IN_BODY_NONE != 0) {
        (false, false) => Ok(Body::Unread),
        (false, true) => Ok(Body::None),
        // SAFETY: the caller's promise.
        (true, false) => Ok(Body::Whole(unsafe { body.bytes()? })),
        (true, true) => Err(Fault::new(FX402_E_ARG, "flags: a body cannot be whole and absent")),
    }
}

/// How an answer ended; NULL: nobody knows.
///
/// # Safety
/// `from` is NULL or as [`sized::read`] says.
pub(crate) unsafe fn outcome(from: *const fx402_outcome) -> Result<Option<Outcome>, Fault> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let from = unsafe { sized::read::<fx402_outcome>(from)? };
    let body_bytes = from.body_bytes;
    let status = u16::try_from(from.http_status).map_err(|_| Fault::new(FX402_E_ARG, "http_status is over 65535"))?;
    match from.kind {
        FX402_DELIVERED => Ok(Some(Outcome::Delivered { status, body_bytes })),
        FX402_ABORTED => Ok(Some(Outcome::Aborted { status, body_bytes })),
        FX402_FAILED => Ok(Some(Outcome::Failed { status, body_bytes })),
        _ => Err(Fault::new(FX402_E_ARG, "outcome.kind is none of FX402_DELIVERED, FX402_ABORTED, FX402_FAILED")),
    }
}
