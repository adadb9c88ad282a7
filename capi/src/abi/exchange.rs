//! One exchange, one call per phase.

use forge_x402::Now;

use super::handles::{fx402_engine, fx402_exchange};
use super::messages::{fx402_request_in, fx402_response_in};
use super::outcome::fx402_outcome;
use super::status::*;
use super::values::{fx402_buf, fx402_error, fx402_span};
use super::verdict::fx402_verdict;
use crate::guard::{Fault, guard};
use crate::headers::Lines;
use crate::{input, lend, out, sized};

/// Looks at a request. *ex stays NULL when there is nothing to do before the response: an ordinary request costs this
/// one call, and *out says pass. If it is then answered 402, call fx402_on_response_late with both heads. Else *ex is
/// yours until fx402_exchange_end.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_on_request(
    e: *const fx402_engine,
    r#in: *const fx402_request_in,
    ex: *mut *mut fx402_exchange,
    out: *mut fx402_verdict,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 to R5.
    unsafe {
        out::clear(ex, std::ptr::null_mut());
        lend::clear(out);
        guard(err, || {
            let (engine, room, ex) = (out::engine(e)?, sized::room(out)?, out::slot(ex)?);
            let mut lines = Lines::new();
            let request = input::request(r#in, &mut lines)?;
            if let Some((exchange, verdict)) = engine.on_request_with(Now::read, &request) {
                let mut made = Box::new(fx402_exchange::new(exchange));
                made.lend(verdict, request.body.bytes(), &room);
                *ex = Box::into_raw(made);
            }
            Ok(())
        })
    }
}

/// The whole body of the request, after FX402_WANT_BODY from fx402_on_request. Of a body larger than body_limit give the
/// first body_limit + 1 bytes, and let what came pass unless the verdict is FX402_REPLY.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_on_request_body(
    ex: *mut fx402_exchange,
    whole_body: fx402_span,
    out: *mut fx402_verdict,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 to R5.
    unsafe {
        lend::clear(out);
        guard(err, || {
            let (held, room) = (out::exchange(ex)?, sized::room(out)?);
            let body = whole_body.bytes()?;
            let verdict = held.exchange.on_request_body(Now::read(), body);
            held.lend(verdict, body, &room);
            Ok(())
        })
    }
}

/// The response, about to be sent: its head, or the same head again with the body after FX402_WANT_BODY. A response
/// shown twice without being asked for passes and is counted.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_on_response(
    ex: *mut fx402_exchange,
    r#in: *const fx402_response_in,
    out: *mut fx402_verdict,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 to R5.
    unsafe {
        lend::clear(out);
        guard(err, || {
            let (held, room) = (out::exchange(ex)?, sized::room(out)?);
            let mut lines = Lines::new();
            let response = input::response(r#in, &mut lines)?;
            let verdict = held.exchange.on_response(Now::read(), &response);
            held.lend(verdict, response.body.bytes(), &room);
            Ok(())
        })
    }
}

/// For a request that got no exchange from fx402_on_request and is answered 402: decides from both heads. *ex stays
/// NULL when the response is to pass. After FX402_WANT_BODY go on with fx402_on_response.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_on_response_late(
    e: *const fx402_engine,
    req: *const fx402_request_in,
    res: *const fx402_response_in,
    ex: *mut *mut fx402_exchange,
    out: *mut fx402_verdict,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 to R5.
    unsafe {
        out::clear(ex, std::ptr::null_mut());
        lend::clear(out);
        guard(err, || {
            let (engine, room, ex) = (out::engine(e)?, sized::room(out)?, out::slot(ex)?);
            let (mut asked, mut answered) = (Lines::new(), Lines::new());
            let request = input::request(req, &mut asked)?;
            let response = input::response(res, &mut answered)?;
            if let Some((exchange, verdict)) = engine.on_response_late(Now::read(), &request, &response) {
                let mut made = Box::new(fx402_exchange::new(exchange));
                made.lend(verdict, response.body.bytes(), &room);
                *ex = Box::into_raw(made);
            }
            Ok(())
        })
    }
}

/// BLOCKING <= timeout_ms, never longer than 3 s. Only after FX402_WAIT: the rating and summary routes ask the collector.
/// The verdict is the answer (FX402_REPLY), also when the time was not enough: then a 503.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_exchange_wait(
    ex: *mut fx402_exchange,
    timeout_ms: u32,
    out: *mut fx402_verdict,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 to R5.
    unsafe {
        lend::clear(out);
        guard(err, || {
            let (held, room) = (out::exchange(ex)?, sized::room(out)?);
            let verdict = held.exchange.wait(std::time::Duration::from_millis(timeout_ms.into()));
            held.lend(verdict, b"", &room);
            Ok(())
        })
    }
}

/// Takes the replacement body of the last verdict without a copy, for hosts that write after the exchange is gone.
/// *out is yours until fx402_buf_free; the verdict's body span shows the same memory. FX402_E_ARG: the last verdict
/// replaced no body, or it was taken before.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_exchange_take_body(ex: *mut fx402_exchange, out: *mut fx402_buf) -> fx402_status {
    // SAFETY: rules R4 and R5.
    unsafe {
        out::clear(out, fx402_buf::EMPTY);
        guard(std::ptr::null_mut(), || {
            let (held, out) = (out::exchange(ex)?, out::slot(out)?);
            let body = held.body.take();
            *out = fx402_buf::of(body.ok_or_else(|| Fault::new(FX402_E_ARG, "there is no replacement body"))?);
            Ok(())
        })
    }
}

/// Records the events and frees. outcome NULL: unknown. Always frees, whatever it returns; ex NULL does nothing.
/// FX402_E_ARG or FX402_E_ABI: outcome makes no sense and counts as unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_exchange_end(ex: *mut fx402_exchange, outcome: *const fx402_outcome) -> fx402_status {
    // SAFETY: rules R2, R4 and R5; ex was made by Box::into_raw above.
    unsafe {
        guard(std::ptr::null_mut(), || {
            if ex.is_null() {
                return Ok(());
            }
            let held = Box::from_raw(ex);
            let outcome = input::outcome(outcome);
            held.exchange.end(Now::read(), outcome.as_ref().ok().copied().flatten());
            outcome.map(|_| ())
        })
    }
}
