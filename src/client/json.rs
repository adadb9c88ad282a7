//! The client's answers as JSON, for languages that take them as text. Compact ASCII; absent values are left out.

use crate::diagnostic::writer::Object;

use super::{Decision, Offer, PaymentChallenge, Protocol, ReceivedDiagnostic, Send, Unit};

impl PaymentChallenge {
    /// `{"protocol","error"?,"resource"?,"description"?,"offers":[{"scheme","network","asset","amount","unit","payTo",
    /// "maxTimeoutSeconds"?}],"extensions"?}`; protocol is `x402/2`, `x402/1` or `open402`, unit `atomic` or `token`.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Object::default();
        out.text("protocol", self.protocol.as_str());
        out.optional("error", &self.error);
        out.optional("resource", &self.resource);
        out.optional("description", &self.description);
        let offers: Vec<Vec<u8>> = self.offers.iter().map(Offer::to_json).collect();
        out.json("offers", &[b"[".as_slice(), &offers.join(&b','), b"]"].concat());
        if let Some(extensions) = &self.extensions {
            out.json("extensions", extensions.as_bytes());
        }
        out.close()
    }
}

impl Protocol {
    /// The name events and bindings use.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::X402V2 => "x402/2",
            Protocol::X402V1 => "x402/1",
            Protocol::Open402 => "open402",
        }
    }
}

impl Offer {
    fn to_json(&self) -> Vec<u8> {
        let mut out = Object::default();
        out.text("scheme", &self.scheme);
        out.text("network", &self.network);
        out.text("asset", &self.asset);
        out.text("amount", &self.amount);
        out.text("unit", if self.unit == Unit::Atomic { "atomic" } else { "token" });
        out.text("payTo", &self.pay_to);
        if let Some(seconds) = self.max_timeout_s {
            out.raw("maxTimeoutSeconds", seconds);
        }
        out.close()
    }
}

impl ReceivedDiagnostic {
    /// The members of a diagnostic under their names on the wire, as far as they were there and made sense.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Object::default();
        out.text("code", &self.code);
        out.optional("reason", &self.reason);
        if let Some(policy) = self.retry_policy {
            out.text("retry_policy", policy.as_str());
        }
        for (name, number) in [("retry_after", self.retry_after_s), ("attempts", self.attempts)] {
            if let Some(number) = number {
                out.raw(name, number);
            }
        }
        out.optional("firstAttempt", &self.first_attempt);
        out.optional("message", &self.message);
        out.optional("suggestion", &self.suggestion);
        out.raw("escalate", self.escalate);
        out.optional("correlation_id", &self.correlation_id);
        out.optional("facilitator_error_code", &self.facilitator_error_code);
        out.optional("client_error_code", &self.client_error_code);
        if let Some(seconds) = self.expires_at {
            out.raw("expires_at", seconds);
        }
        out.close()
    }
}

impl Decision {
    /// `{"action","wait_s","send","block_endpoint","tell_operator"}`; send is `nothing`, `new_payment` or `same_payment`.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Object::default();
        out.text("action", self.action.as_str());
        out.raw("wait_s", self.wait_s);
        out.text(
            "send",
            match self.send {
                Send::Nothing => "nothing",
                Send::NewPayment => "new_payment",
                Send::SamePayment => "same_payment",
            },
        );
        out.raw("block_endpoint", self.block_endpoint);
        out.raw("tell_operator", self.tell_operator);
        out.close()
    }
}
