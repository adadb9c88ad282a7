//! Pure functions for hosts with no exchange.

use forge_x402::backend::EventRefused;
use forge_x402::{ChallengeForm, Engine};

use super::handles::fx402_engine;
use super::status::*;
use super::values::{fx402_buf, fx402_error, fx402_span};
use crate::guard::{Fault, guard};
use crate::out;

/// A PAYMENT-REQUIRED value.
pub const FX402_FORM_HEADER: u32 = 1;
/// A JSON body.
pub const FX402_FORM_BODY: u32 = 2;

/// A challenge with the ask. form: FX402_FORM_*.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_transform_challenge(
    e: *const fx402_engine,
    form: u32,
    r#in: fx402_span,
    changed: *mut u32,
    out: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe {
        change(e, changed, out, err, |engine| {
            let form = match form {
                FX402_FORM_HEADER => ChallengeForm::Header,
                FX402_FORM_BODY => ChallengeForm::Body,
                _ => return Err(Fault::new(FX402_E_ARG, "form is neither FX402_FORM_HEADER nor FX402_FORM_BODY")),
            };
            Ok(engine.transform_challenge(form, r#in.bytes()?))
        })
    }
}

/// A successful v2 receipt (the value of PAYMENT-RESPONSE) with the id and where to rate.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_enrich_receipt(
    e: *const fx402_engine,
    value: fx402_span,
    id: fx402_span,
    changed: *mut u32,
    out: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe { change(e, changed, out, err, |engine| Ok(engine.enrich_receipt(value.bytes()?, id.bytes()?))) }
}

/// A JSON object body with the id and where to rate.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_enrich_body(
    e: *const fx402_engine,
    body: fx402_span,
    id: fx402_span,
    changed: *mut u32,
    out: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe { change(e, changed, out, err, |engine| Ok(engine.enrich_body(body.bytes()?, id.bytes()?))) }
}

/// An OpenAPI document, JSON, with what agents should know about ratings.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_enrich_openapi(
    e: *const fx402_engine,
    document: fx402_span,
    changed: *mut u32,
    out: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe { change(e, changed, out, err, |engine| Ok(engine.enrich_openapi(document.bytes()?))) }
}

/// Queues one event of your own: a JSON object with a text "type", at most 16384 bytes. Never blocks: in a full queue the
/// oldest event goes and is counted. With telemetry off it is ignored. FX402_E_ARG: not an event. FX402_E_LIMIT: too
/// large. FX402_E_CLOSED: after fx402_engine_shutdown; it is counted as dropped.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_enqueue_event(
    e: *const fx402_engine,
    json: fx402_span,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rule R2.
    unsafe {
        guard(err, || {
            let engine = out::engine(e)?;
            engine.enqueue_event(json.bytes()?).map_err(|refused| {
                let status = if refused == EventRefused::TooLarge { FX402_E_LIMIT } else { FX402_E_ARG };
                Fault::new(status, refused.to_string())
            })?;
            if out::is_closed(e) {
                return Err(Fault::new(FX402_E_CLOSED, "the engine was shut down; the event is counted as dropped"));
            }
            Ok(())
        })
    }
}

/// Runs `work`; its result becomes *changed and *out.
unsafe fn change(
    e: *const fx402_engine,
    changed: *mut u32,
    out: *mut fx402_buf,
    err: *mut fx402_error,
    work: impl FnOnce(&Engine) -> Result<Option<Vec<u8>>, Fault>,
) -> fx402_status {
    // SAFETY: the caller's promise.
    unsafe {
        out::clear(changed, 0);
        out::clear(out, fx402_buf::EMPTY);
        guard(err, || {
            let (engine, changed, out) = (out::engine(e)?, out::slot(changed)?, out::slot(out)?);
            if let Some(made) = work(engine)? {
                *out = fx402_buf::of(made);
                *changed = 1;
            }
            Ok(())
        })
    }
}
