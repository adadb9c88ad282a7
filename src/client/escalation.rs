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
    out.json("diagnostic", &diagnostic.to_json());
    out.text("timestamp", &rfc3339(call.now_ms / 1000));
    out.close()
}
