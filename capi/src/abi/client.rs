//! The agent's half: JSON out, and JSON in where a value is more than bytes. No network, no clock, no wallet.

use std::sync::{Mutex, PoisonError};

use forge_x402::client::{self, Amount, Budget};

use super::handles::fx402_budget;
use super::status::*;
use super::values::{fx402_buf, fx402_error, fx402_headers, fx402_span};
use crate::guard::{Fault, guard, silence_panics};
use crate::headers::Lines;
use crate::out;

/// What a response with this status asks to be paid, from its PAYMENT-REQUIRED header, JSON body or WWW-Authenticate
/// header, as JSON: {"protocol":"x402/2"|"x402/1"|"open402","error"?,"resource"?,"description"?,"offers":[{"scheme",
/// "network","asset","amount","unit":"atomic"|"token","payTo","maxTimeoutSeconds"?}],"extensions"?}. headers may be NULL:
/// none. FX402_E_INPUT: no challenge, or one that two readers could take for two prices; pay nothing, err says why.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_parse_challenge(
    http_status: u32,
    headers: *const fx402_headers,
    body: fx402_span,
    json: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe {
        made(json, err, || {
            let mut lines = Lines::new();
            let status = u16::try_from(http_status).unwrap_or(0);
            let challenge = client::parse_challenge(status, given(headers, &mut lines)?, body.bytes()?);
            Ok(challenge.map_err(unfit)?.to_json())
        })
    }
}

/// What a response says about why payments fail, as JSON with the names of the wire: {"code","reason"?,"retry_policy"?,
/// "retry_after"?,"attempts"?,"firstAttempt"?,"message"?,"suggestion"?,"escalate","correlation_id"?,...}. Texts are cut at 512
/// characters and hold no control characters. *json stays empty where there is none.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_parse_diagnostic(
    headers: *const fx402_headers,
    body: fx402_span,
    json: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe {
        out::clear(json, fx402_buf::EMPTY);
        guard(err, || {
            silence_panics();
            let json = out::slot(json)?;
            let mut lines = Lines::new();
            if let Some(found) = client::parse_diagnostic(given(headers, &mut lines)?, body.bytes()?) {
                *json = fx402_buf::of(found.to_json());
            }
            Ok(())
        })
    }
}

/// What to do after a refused call: {"action":"pay"|"wait"|"fix"|"stop"|"escalate","wait_s","send":"nothing"|"new_payment"|
/// "same_payment","block_endpoint","tell_operator"}. diagnostic: as fx402_client_parse_diagnostic writes it, empty for none.
/// state: {"payments_sent","last_payment_expired","waits","within_budget","retry_after_s"}, each optional; left out is 0,
/// false or unknown, so that without "within_budget":true nothing is paid. A diagnostic can make a client stop or wait,
/// never pay more. FX402_E_INPUT: one of the two is not what it should be; stop.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_decide(
    diagnostic: fx402_span,
    state: fx402_span,
    json: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe { made(json, err, || client::decide_json(diagnostic.bytes()?, state.bytes()?).map_err(unfit)) }
}

/// The event for the agent's operator, JSON of type "x402_escalation". call: {"endpoint","now_ms","amount"?,"currency"?,
/// "balance"?,"request_id"?}; an amount is a text such as "0.05". FX402_E_INPUT: one of the two is not what it should be.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_escalation_event(
    diagnostic: fx402_span,
    call: fx402_span,
    json: *mut fx402_buf,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe { made(json, err, || client::escalation_event_json(diagnostic.bytes()?, call.bytes()?).map_err(unfit)) }
}

/// Makes a budget of {"per_call","per_minute","per_day"}, each optional (1, 2, 10), texts such as "0.05"; empty: all of
/// them. FX402_E_INPUT: no such object, or a per_day above 1000. On success *out is yours until fx402_client_budget_free.
/// Any threads may use it at once.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_budget_new(
    limits: fx402_span,
    out: *mut *mut fx402_budget,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe {
        out::clear(out, std::ptr::null_mut());
        guard(err, || {
            silence_panics();
            let out = out::slot(out)?;
            let budget = Budget::from_json(limits.bytes()?).map_err(unfit)?;
            *out = Box::into_raw(Box::new(fx402_budget { budget: Mutex::new(budget) }));
            Ok(())
        })
    }
}

/// Whether a payment would fit at now_ms (milliseconds since 1970). amount: a plain decimal such as "0.05" with decimals -1,
/// or a whole number of the asset's smallest units with its decimals, 0 to 18. FX402_E_BUDGET: it would not; err says
/// which limit. FX402_E_INPUT: no amount.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_budget_check(
    b: *const fx402_budget,
    now_ms: u64,
    amount: fx402_span,
    decimals: i32,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rule R2.
    unsafe { with(b, err, |budget| budget.check(now_ms, amount_of(amount, decimals)?).map_err(over)) }
}

/// As fx402_client_budget_check, and books the payment if it fits: call it before you sign, and go on only with FX402_OK.
/// A payment whose outcome is unknown stays booked, for it may have settled.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_budget_spend(
    b: *mut fx402_budget,
    now_ms: u64,
    amount: fx402_span,
    decimals: i32,
    err: *mut fx402_error,
) -> fx402_status {
    // SAFETY: rule R2.
    unsafe { with(b, err, |budget| budget.spend(now_ms, amount_of(amount, decimals)?).map_err(over)) }
}

/// What may still be spent in the 24 hours that end at now_ms: a plain decimal, yours until fx402_buf_free.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_budget_left(
    b: *const fx402_budget,
    now_ms: u64,
    amount: *mut fx402_buf,
) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe {
        out::clear(amount, fx402_buf::EMPTY);
        with(b, std::ptr::null_mut(), |budget| {
            *out::slot(amount)? = fx402_buf::of(budget.left_today(now_ms).to_string().into_bytes());
            Ok(())
        })
    }
}

/// Gives a budget back. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_client_budget_free(b: *mut fx402_budget) {
    // SAFETY: made by fx402_client_budget_new and not freed yet, by rule R4.
    unsafe {
        _ = guard(std::ptr::null_mut(), || {
            if !b.is_null() {
                drop(Box::from_raw(b));
            }
            Ok(())
        });
    }
}

/// Runs `work`; its text becomes *json.
unsafe fn made(
    json: *mut fx402_buf,
    err: *mut fx402_error,
    work: impl FnOnce() -> Result<Vec<u8>, Fault>,
) -> fx402_status {
    // SAFETY: the caller's promise.
    unsafe {
        out::clear(json, fx402_buf::EMPTY);
        guard(err, || {
            silence_panics();
            let json = out::slot(json)?;
            *json = fx402_buf::of(work()?);
            Ok(())
        })
    }
}

unsafe fn with(
    b: *const fx402_budget,
    err: *mut fx402_error,
    work: impl FnOnce(&mut Budget) -> Result<(), Fault>,
) -> fx402_status {
    // SAFETY: the caller's promise.
    unsafe {
        guard(err, || {
            let handle = b.as_ref().ok_or_else(|| Fault::new(FX402_E_ARG, "the budget is NULL"))?;
            // A booking is two additions: a panic in between cannot be told from one before.
            work(&mut handle.budget.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

unsafe fn given<'a>(
    headers: *const fx402_headers,
    lines: &'a mut Lines<'a>,
) -> Result<&'a [forge_x402::HeaderLine<'a>], Fault> {
    // SAFETY: the caller's promise.
    match unsafe { headers.as_ref() } {
        None => Ok(&[]),
        // SAFETY: the caller's promise.
        Some(headers) => unsafe { lines.fill(headers) },
    }
}

unsafe fn amount_of(amount: fx402_span, decimals: i32) -> Result<Amount, Fault> {
    let decimals = if decimals == -1 { None } else { Some(u8::try_from(decimals).unwrap_or(u8::MAX)) };
    // SAFETY: the caller's promise.
    Amount::from_text(unsafe { amount.bytes()? }, decimals).map_err(unfit)
}

fn unfit(why: impl std::fmt::Display) -> Fault {
    Fault::new(FX402_E_INPUT, why.to_string())
}

fn over(limit: client::OverBudget) -> Fault {
    Fault::new(FX402_E_BUDGET, limit.to_string())
}
