//! What to do with a refused call.
//!
//! Whether a payment may be signed follows from the client's own state alone; a diagnostic is then asked whether to hold back.
//! A server that lies can stop a client or make it wait, and cannot make it pay once more.

use crate::diagnostic::{Code, RetryPolicy};

use super::ReceivedDiagnostic;

/// What the client knows of this call itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallState {
    /// Payments signed and sent for this call so far.
    pub payments_sent: u32,
    /// The last of them can no longer settle, by the client's own clock and what it signed (`validBefore`, block height).
    pub last_payment_expired: bool,
    /// How often this call has waited already.
    pub waits: u32,
    /// The next payment fits the budget.
    pub within_budget: bool,
    /// `Retry-After` of the response, in seconds.
    pub retry_after_s: Option<u64>,
}

/// In order of caution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Pay,
    Wait,
    Fix,
    Stop,
    Escalate,
}

impl Action {
    /// The name bindings use.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Pay => "pay",
            Action::Wait => "wait",
            Action::Fix => "fix",
            Action::Stop => "stop",
            Action::Escalate => "escalate",
        }
    }
}

/// What the next request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Send {
    /// No request, or one without a payment.
    Nothing,
    NewPayment,
    /// The credential that was sent last, byte for byte.
    SamePayment,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub action: Action,
    /// With [`Action::Wait`]: seconds until the next request.
    pub wait_s: u64,
    pub send: Send,
    /// No further request to this endpoint until a person has looked.
    pub block_endpoint: bool,
    /// An operator should hear of it.
    pub tell_operator: bool,
}

/// Decides from the diagnostic of a refused call, if there was one, and from the call's own state.
///
/// `escalate` first, then the code where it says halt, then the retry policy, then the code; a code and a policy nobody knows leave
/// the client's own rule: pay once, once more only if the first payment can no longer settle, else stop.
pub fn decide(diagnostic: Option<&ReceivedDiagnostic>, state: &CallState) -> Decision {
    let Some(diagnostic) = diagnostic else { return own_rule(state) };
    let halts = matches!(
        diagnostic.known_code,
        Some(Code::PaymentAttemptsExceeded | Code::WalletInsufficientFunds | Code::OperatorAlert)
    );
    if diagnostic.escalate || halts {
        return Decision { block_endpoint: true, tell_operator: true, ..Decision::of(Action::Escalate) };
    }
    let wait_s = wait(diagnostic, state);
    match diagnostic.retry_policy.or_else(|| policy_of(diagnostic.known_code)) {
        None | Some(RetryPolicy::Pay) => own_rule(state),
        Some(RetryPolicy::RetryNewPayment) if state.payments_sent == 0 || state.last_payment_expired => own_rule(state),
        // The server says expired, the client's own clock does not: a new payment could be a second one.
        Some(RetryPolicy::RetryNewPayment) => waiting(state, wait_s, Send::Nothing),
        Some(RetryPolicy::RetrySamePayment) if state.payments_sent == 0 => Decision::of(Action::Stop),
        Some(RetryPolicy::RetrySamePayment) => waiting(state, wait_s, Send::SamePayment),
        Some(RetryPolicy::RetryWithBackoff) => {
            waiting(state, wait_s, if state.payments_sent == 0 { Send::Nothing } else { Send::SamePayment })
        }
        Some(RetryPolicy::FixAndRetry) => Decision { tell_operator: true, ..Decision::of(Action::Fix) },
        Some(RetryPolicy::DoNotRetry) => Decision { tell_operator: true, ..Decision::of(Action::Stop) },
    }
}

impl Decision {
    fn of(action: Action) -> Decision {
        Decision { action, wait_s: 0, send: Send::Nothing, block_endpoint: false, tell_operator: false }
    }
}

/// What a client does that has nobody to ask.
fn own_rule(state: &CallState) -> Decision {
    let may_pay = match state.payments_sent {
        0 => true,
        1 => state.last_payment_expired,
        _ => false,
    };
    if may_pay && state.within_budget {
        Decision { send: Send::NewPayment, ..Decision::of(Action::Pay) }
    } else {
        Decision { tell_operator: state.payments_sent > 0, ..Decision::of(Action::Stop) }
    }
}

/// A wait, as long as there is patience left.
fn waiting(state: &CallState, wait_s: u64, send: Send) -> Decision {
    if state.waits >= MAX_WAITS {
        return Decision { tell_operator: true, ..Decision::of(Action::Stop) };
    }
    Decision { wait_s, send, ..Decision::of(Action::Wait) }
}

/// What a code means to a client where no policy is told.
fn policy_of(code: Option<Code>) -> Option<RetryPolicy> {
    Some(match code? {
        Code::PaymentRequired => RetryPolicy::Pay,
        Code::InvoiceExpired => RetryPolicy::RetryNewPayment,
        _ => RetryPolicy::DoNotRetry,
    })
}

/// What the server asks for, else 2 s doubled with each wait; at most ten minutes.
fn wait(diagnostic: &ReceivedDiagnostic, state: &CallState) -> u64 {
    let asked = state.retry_after_s.or(diagnostic.retry_after_s);
    asked.unwrap_or(2 << state.waits.min(5)).clamp(1, MAX_WAIT_S)
}

const MAX_WAITS: u32 = 6;
const MAX_WAIT_S: u64 = 600;
