//! The vocabulary of a diagnostic: codes, reasons, what to do about each, and the JSON that says so.
//!
//! Member names and order are those of the diagnostic proposal (x402 issue 1860) as extended in its thread; `since` and
//! `firstAttempt` are one time under both of its names.

use super::texts;
use super::writer::{Object, rfc3339};

/// What a client that reads nothing else acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    PaymentRequired,
    InvoiceExpired,
    PaymentUnverified,
    PaymentAttemptsExceeded,
    WalletInsufficientFunds,
    OperatorAlert,
}

impl Code {
    pub const ALL: [Code; 6] = [
        Code::PaymentRequired,
        Code::InvoiceExpired,
        Code::PaymentUnverified,
        Code::PaymentAttemptsExceeded,
        Code::WalletInsufficientFunds,
        Code::OperatorAlert,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::PaymentRequired => "PAYMENT_REQUIRED",
            Code::InvoiceExpired => "INVOICE_EXPIRED",
            Code::PaymentUnverified => "PAYMENT_UNVERIFIED",
            Code::PaymentAttemptsExceeded => "PAYMENT_ATTEMPTS_EXCEEDED",
            Code::WalletInsufficientFunds => "WALLET_INSUFFICIENT_FUNDS",
            Code::OperatorAlert => "OPERATOR_ALERT",
        }
    }

    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.as_str() == name)
    }
}

/// What may be done next, kept apart from why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryPolicy {
    /// First contact: the normal payment flow.
    Pay,
    /// One fresh payment, at most once.
    RetryNewPayment,
    /// The same credential again: money may have moved, a new one could pay twice.
    RetrySamePayment,
    /// Nothing reached the chain: wait, then repeat.
    RetryWithBackoff,
    /// The request or the payload has to change first.
    FixAndRetry,
    /// Stop; an operator has to look.
    DoNotRetry,
}

impl RetryPolicy {
    pub const ALL: [RetryPolicy; 6] = [
        RetryPolicy::Pay,
        RetryPolicy::RetryNewPayment,
        RetryPolicy::RetrySamePayment,
        RetryPolicy::RetryWithBackoff,
        RetryPolicy::FixAndRetry,
        RetryPolicy::DoNotRetry,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            RetryPolicy::Pay => "pay",
            RetryPolicy::RetryNewPayment => "retry_new_payment",
            RetryPolicy::RetrySamePayment => "retry_same_payment",
            RetryPolicy::RetryWithBackoff => "retry_with_backoff",
            RetryPolicy::FixAndRetry => "fix_and_retry",
            RetryPolicy::DoNotRetry => "do_not_retry",
        }
    }

    pub fn from_name(name: &str) -> Option<RetryPolicy> {
        RetryPolicy::ALL.into_iter().find(|policy| policy.as_str() == name)
    }
}

/// Whose fault a failure is, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Client,
    /// Merchant, facilitator or chain: never counted against the client.
    Server,
    Either,
    /// A compliance rule; the reason is not told.
    Policy,
    Unknown,
}

/// From which occurrence in a row a person is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escalate {
    Never,
    Always,
    /// From the nth failure in a row for the same reason.
    From(u16),
}

/// Why a payment did not go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reason {
    NoPayment,
    AuthorizationExpired,
    AuthorizationWindowTooShort,
    AuthorizationNotYetValid,
    PrepaidExhausted,
    InsufficientBalance,
    AllowanceRequired,
    SignatureInvalid,
    MalformedPayment,
    RequirementsMismatch,
    TokenDomainMismatch,
    UndeployedSmartWallet,
    PaymentAlreadyUsed,
    SettlementPending,
    SettlementUnknown,
    TransactionReverted,
    SimulationFailed,
    FacilitatorUnavailable,
    FacilitatorRefusedPayload,
    ServerMisconfigured,
    PaymentRefused,
    StaleRequestTimestamp,
    RequestNonceReused,
    ReplayHeadersMissing,
    ReplayHeadersInvalid,
    Unclassified,
}

/// What holds for a reason, whatever text it was told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub name: &'static str,
    pub code: Code,
    pub retry_policy: RetryPolicy,
    pub escalate: Escalate,
    pub origin: Origin,
}

impl Reason {
    pub const ALL: [Reason; 26] = [
        Reason::NoPayment,
        Reason::AuthorizationExpired,
        Reason::AuthorizationWindowTooShort,
        Reason::AuthorizationNotYetValid,
        Reason::PrepaidExhausted,
        Reason::InsufficientBalance,
        Reason::AllowanceRequired,
        Reason::SignatureInvalid,
        Reason::MalformedPayment,
        Reason::RequirementsMismatch,
        Reason::TokenDomainMismatch,
        Reason::UndeployedSmartWallet,
        Reason::PaymentAlreadyUsed,
        Reason::SettlementPending,
        Reason::SettlementUnknown,
        Reason::TransactionReverted,
        Reason::SimulationFailed,
        Reason::FacilitatorUnavailable,
        Reason::FacilitatorRefusedPayload,
        Reason::ServerMisconfigured,
        Reason::PaymentRefused,
        Reason::StaleRequestTimestamp,
        Reason::RequestNonceReused,
        Reason::ReplayHeadersMissing,
        Reason::ReplayHeadersInvalid,
        Reason::Unclassified,
    ];

    #[rustfmt::skip]
    pub fn facts(self) -> Facts {
        use {Code::*, Escalate::*, Origin::*, RetryPolicy::*};
        let (name, code, retry_policy, escalate, origin) = match self {
            Reason::NoPayment => ("no_payment", PaymentRequired, Pay, Never, Client),
            Reason::AuthorizationExpired => ("authorization_expired", InvoiceExpired, RetryNewPayment, From(2), Client),
            Reason::AuthorizationWindowTooShort => ("authorization_window_too_short", InvoiceExpired, RetryNewPayment, From(2), Client),
            Reason::AuthorizationNotYetValid => ("authorization_not_yet_valid", InvoiceExpired, RetryWithBackoff, From(2), Client),
            Reason::PrepaidExhausted => ("prepaid_exhausted", InvoiceExpired, RetryNewPayment, Never, Client),
            Reason::InsufficientBalance => ("insufficient_balance", WalletInsufficientFunds, DoNotRetry, Always, Client),
            Reason::AllowanceRequired => ("allowance_required", PaymentUnverified, FixAndRetry, Never, Client),
            Reason::SignatureInvalid => ("signature_invalid", PaymentUnverified, DoNotRetry, From(3), Client),
            Reason::MalformedPayment => ("malformed_payment", PaymentUnverified, FixAndRetry, From(10), Client),
            Reason::RequirementsMismatch => ("requirements_mismatch", PaymentUnverified, FixAndRetry, From(10), Client),
            Reason::TokenDomainMismatch => ("token_domain_mismatch", PaymentUnverified, FixAndRetry, From(3), Either),
            Reason::UndeployedSmartWallet => ("undeployed_smart_wallet", PaymentUnverified, FixAndRetry, From(3), Client),
            Reason::PaymentAlreadyUsed => ("payment_already_used", PaymentUnverified, DoNotRetry, Never, Client),
            // Not PAYMENT_REQUIRED or INVOICE_EXPIRED: a client that reads only the code would pay twice.
            Reason::SettlementPending => ("settlement_pending", PaymentUnverified, RetrySamePayment, Never, Server),
            Reason::SettlementUnknown => ("settlement_unknown", PaymentUnverified, RetrySamePayment, From(3), Server),
            Reason::TransactionReverted => ("transaction_reverted", PaymentUnverified, DoNotRetry, From(3), Client),
            Reason::SimulationFailed => ("simulation_failed", PaymentUnverified, RetryWithBackoff, From(3), Either),
            Reason::FacilitatorUnavailable => ("facilitator_unavailable", PaymentRequired, RetryWithBackoff, Never, Server),
            Reason::FacilitatorRefusedPayload => ("facilitator_refused_payload", PaymentUnverified, FixAndRetry, From(10), Either),
            Reason::ServerMisconfigured => ("server_misconfigured", PaymentRequired, RetryWithBackoff, Never, Server),
            Reason::PaymentRefused => ("payment_refused", OperatorAlert, DoNotRetry, Always, Policy),
            Reason::StaleRequestTimestamp => ("stale_request_timestamp", PaymentUnverified, RetrySamePayment, From(3), Client),
            Reason::RequestNonceReused => ("request_nonce_reused", PaymentUnverified, RetrySamePayment, From(3), Client),
            Reason::ReplayHeadersMissing => ("replay_headers_missing", PaymentUnverified, FixAndRetry, From(3), Client),
            Reason::ReplayHeadersInvalid => ("replay_headers_invalid", PaymentUnverified, FixAndRetry, From(3), Client),
            Reason::Unclassified => ("unclassified", PaymentUnverified, DoNotRetry, From(3), Unknown),
        };
        Facts { name, code, retry_policy, escalate, origin }
    }

    /// Whether a failure for this reason counts as an attempt of the client's.
    pub fn counts(self) -> bool {
        self != Reason::PaymentAlreadyUsed && self.facts().origin != Origin::Server
    }

    /// Whether the merchant has to hear of it, because only the merchant's side can mend it.
    pub fn concerns_merchant(self) -> bool {
        self.facts().origin == Origin::Server && self != Reason::SettlementPending
            || self == Reason::FacilitatorRefusedPayload
    }
}

/// One diagnostic, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub reason: Reason,
    pub retry_policy: RetryPolicy,
    /// Requests received with no valid payment in this sequence; 0 where the failures were never the client's fault.
    pub attempts: u64,
    /// Unix milliseconds.
    pub first_attempt_ms: u64,
    /// Unix milliseconds: how long the sequence lasts is told as of now.
    pub now_ms: u64,
    pub escalate: bool,
    pub correlation_id: CorrelationId,
    pub facilitator_error_code: Option<String>,
    pub client_error_code: Option<&'static str>,
    /// Unix seconds until which the payment could settle.
    pub expires_at: Option<u64>,
}

impl Diagnostic {
    /// The JSON object, compact, ASCII.
    pub fn to_json(&self) -> Vec<u8> {
        let time = rfc3339(self.first_attempt_ms / 1000);
        let mut out = Object::default();
        out.text("code", self.code.as_str());
        out.text("reason", self.reason.facts().name);
        out.text("retry_policy", self.retry_policy.as_str());
        out.raw("attempts", self.attempts);
        out.text("since", &time);
        out.text("firstAttempt", &time);
        out.text("message", &texts::message(self));
        out.text("suggestion", texts::suggestion(self));
        out.raw("escalate", self.escalate);
        out.text("correlation_id", &self.correlation_id.to_string());
        if let Some(code) = &self.facilitator_error_code {
            out.text("facilitator_error_code", code);
        }
        if let Some(code) = self.client_error_code {
            out.text("client_error_code", code);
        }
        if let Some(seconds) = self.expires_at {
            out.raw("expires_at", seconds);
        }
        out.close()
    }

    /// The value of a v2 extension named `diagnostic`: the object as `info`, and the schema the protocol asks for.
    pub fn to_extension(&self) -> Vec<u8> {
        let mut out = b"{\"info\":".to_vec();
        out.extend_from_slice(&self.to_json());
        out.extend_from_slice(b",\"schema\":{\"type\":\"object\"}}");
        out
    }
}

/// Ties everything said about one failure sequence together: 16 hex digits, random, nothing of the client in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CorrelationId(pub u64);

impl std::fmt::Display for CorrelationId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}
