//! Every text that a diagnostic shows: short, ASCII, nothing about the client but its own count.

use super::code::{Code, Diagnostic, Reason};

/// What happened.
pub(crate) fn message(diagnostic: &Diagnostic) -> String {
    if diagnostic.code == Code::PaymentAttemptsExceeded {
        let lasted = diagnostic.now_ms.saturating_sub(diagnostic.first_attempt_ms);
        let days = lasted.div_ceil(DAY_MS).max(1);
        let requests = if diagnostic.attempts == 1 { "request" } else { "requests" };
        let unit = if days == 1 { "day" } else { "days" };
        let (attempts, days) = (grouped(diagnostic.attempts), grouped(days));
        return format!("{attempts} {requests} received with no valid payment in {days} {unit}.");
    }
    match diagnostic.reason {
        Reason::NoPayment => "Payment is required.",
        Reason::AuthorizationExpired => "The payment expired before it was settled.",
        Reason::AuthorizationWindowTooShort => "The payment is valid for too short a time to be settled.",
        Reason::AuthorizationNotYetValid => "The payment is not valid yet.",
        Reason::PrepaidExhausted => "The prepaid calls are used up.",
        Reason::InsufficientBalance => "The wallet balance is too low for this payment.",
        Reason::AllowanceRequired => "The token allowance for this payment is missing.",
        Reason::SignatureInvalid => "The signature of the payment did not verify.",
        Reason::MalformedPayment => "The payment could not be read.",
        Reason::RequirementsMismatch => "The payment does not match what was asked for.",
        Reason::TokenDomainMismatch => "The token name or version that was signed is not the one asked for.",
        Reason::UndeployedSmartWallet => "The smart wallet is not deployed on this network.",
        Reason::PaymentAlreadyUsed => "This payment was used before. The earlier use may have succeeded.",
        Reason::SettlementPending => "The payment is not confirmed yet. It may still settle.",
        Reason::SettlementUnknown => "It is not known whether the payment was settled.",
        Reason::TransactionReverted => "The payment transaction failed on the chain.",
        Reason::SimulationFailed => "The payment transaction would fail on the chain.",
        Reason::FacilitatorUnavailable => "The payment could not be checked right now. Nothing was charged.",
        Reason::FacilitatorRefusedPayload => "The payment service did not accept the form of the payment.",
        Reason::ServerMisconfigured => "This service cannot take payments right now. Nothing was charged.",
        Reason::PaymentRefused => "The payment was refused.",
        Reason::StaleRequestTimestamp => "The request timestamp is too far from the server's time.",
        Reason::RequestNonceReused => "The request nonce was used before.",
        Reason::ReplayHeadersMissing => "The request timestamp or nonce is missing.",
        Reason::ReplayHeadersInvalid => "The request timestamp or nonce is not valid.",
        Reason::Unclassified => "The payment was not accepted.",
    }
    .to_owned()
}

/// What to do about it.
pub(crate) fn suggestion(diagnostic: &Diagnostic) -> &'static str {
    if diagnostic.code == Code::PaymentAttemptsExceeded {
        return "Stop retrying. Check the payment handler and the wallet balance.";
    }
    match diagnostic.reason {
        Reason::NoPayment => "Pay as described in the challenge.",
        Reason::AuthorizationExpired => "Sign one new payment. If it expires too, check the clock.",
        Reason::AuthorizationWindowTooShort => "Sign one new payment that is valid for longer. Check the clock.",
        Reason::AuthorizationNotYetValid => "Wait, then send it again. Check the clock.",
        Reason::PrepaidExhausted => "Buy a new package once.",
        Reason::InsufficientBalance => "Top up the wallet, then try again.",
        Reason::AllowanceRequired => "Approve the token allowance, then try again.",
        Reason::SignatureInvalid => "Do not retry. Check key, network and token domain of the signer.",
        Reason::MalformedPayment => "Fix the payment header, then try again.",
        Reason::RequirementsMismatch => "Copy network, amount, recipient and extensions from the challenge unchanged.",
        Reason::TokenDomainMismatch => "Sign with extra.name and extra.version of the challenge.",
        Reason::UndeployedSmartWallet => "Deploy the smart wallet, then try again.",
        Reason::PaymentAlreadyUsed => "Do not pay again. Look for the earlier response first.",
        Reason::SettlementPending => "Send the same payment again later. Do not sign a new one.",
        Reason::SettlementUnknown => "Send the same payment again. Do not sign a new one.",
        Reason::TransactionReverted => "Do not retry. Look at the transaction first.",
        Reason::SimulationFailed => "Wait, then try again. Check balance and network.",
        Reason::FacilitatorUnavailable => "Wait, then try again.",
        Reason::FacilitatorRefusedPayload => "Check the form of the payment header against the challenge.",
        Reason::ServerMisconfigured => "Wait, then try again. The merchant has been told.",
        Reason::PaymentRefused => "Stop. A person has to look at this.",
        Reason::StaleRequestTimestamp => "Send the same payment again with a fresh timestamp and nonce.",
        Reason::RequestNonceReused => "Send the same payment again with a fresh nonce.",
        Reason::ReplayHeadersMissing => "Send X-x402-Timestamp and X-x402-Nonce with the same payment.",
        Reason::ReplayHeadersInvalid => "Send a timestamp in unix seconds and a nonce of at most 128 characters.",
        Reason::Unclassified => "Do not retry. Check the payment handler.",
    }
}

/// Digits in groups of three: `8,432`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

const DAY_MS: u64 = 86_400_000;
