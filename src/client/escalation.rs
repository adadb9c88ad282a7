//! The event an agent hands to its operator when a server says that a person is needed.
//!
//! The shape is that of the diagnostic proposal: `x402_escalation` with endpoint, amount, currency, correlation_id, diagnostic, timestamp;
//! `balance` is added where known, because an empty wallet is the first thing an operator asks about.

use crate::diagnostic::writer::{Object, rfc3339};

use super::{Amount, ReceivedDiagnostic};

/// The call that was refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call<'a> {
    /// The URL asked for.
    pub endpoint: &'a str,
    pub amount: Option<Amount>,
    pub currency: Option<&'a str>,
    /// The wallet's balance in `currency`.
    pub balance: Option<Amount>,
    /// The client's own id of the call, used where the server gives no correlation id.
    pub request_id: Option<&'a str>,
    /// Unix milliseconds.
    pub now_ms: u64,
}

/// The event as compact ASCII JSON.
pub fn escalation_event(diagnostic: &ReceivedDiagnostic, call: &Call<'_>) -> Vec<u8> {
    let mut out = Object::default();
    out.text("type", "x402_escalation");
    out.text("endpoint", call.endpoint);
    if let Some(amount) = call.amount {
        out.raw("amount", amount);
    }
    if let Some(currency) = call.currency {
        out.text("currency", currency);
    }
    if let Some(balance) = call.balance {
        out.raw("balance", balance);
    }
    if let Some(id) = diagnostic.correlation_id.as_deref().or(call.request_id) {
        out.text("correlation_id", id);
    }
    out.json("diagnostic", &as_received(diagnostic));
    out.text("timestamp", &rfc3339(call.now_ms / 1000));
    out.close()
}

fn as_received(diagnostic: &ReceivedDiagnostic) -> Vec<u8> {
    let mut out = Object::default();
    out.text("code", &diagnostic.code);
    let texts = [("reason", &diagnostic.reason), ("firstAttempt", &diagnostic.first_attempt)];
    for (name, value) in texts {
        if let Some(value) = value {
            out.text(name, value);
        }
    }
    if let Some(policy) = diagnostic.retry_policy {
        out.text("retry_policy", policy.as_str());
    }
    if let Some(attempts) = diagnostic.attempts {
        out.raw("attempts", attempts);
    }
    let texts = [
        ("message", &diagnostic.message),
        ("suggestion", &diagnostic.suggestion),
        ("facilitator_error_code", &diagnostic.facilitator_error_code),
        ("client_error_code", &diagnostic.client_error_code),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            out.text(name, value);
        }
    }
    out.raw("escalate", diagnostic.escalate);
    out.close()
}
