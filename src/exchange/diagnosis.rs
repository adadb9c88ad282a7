//! The diagnostic of a failed payment: found once per exchange, put into the answer where there is a place for it.

use super::{Exchange, ResponseHead, paid};
use crate::backend::{Escalation, Event};
use crate::diagnostic::classify::{self, Brought};
use crate::diagnostic::{Failure, Observed, Payer, Reason, Request, placement};
use crate::dialect::{Dialect, Settlement, x402_v2};
use crate::feedback::challenge::Extra;
use crate::http::head;
use crate::http::{Line, envelope, find};
use crate::sys::clock::Now;

/// What is known of why this request's payment failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Diagnosis {
    /// The JSON of the diagnostic, if there is one to tell.
    pub json: Option<Vec<u8>>,
    pub header_allowed: bool,
}

/// What a body says may be needed to know why a payment failed.
pub(super) enum Known {
    /// The head says all there is, or the diagnosis is made already.
    Yes,
    /// The reason stands in the body.
    InBody,
}

/// Diagnoses from the head and, if it is in hand, the body. Observes the client exactly once per exchange.
pub(super) fn diagnose(exchange: &mut Exchange, now: Now, response: &ResponseHead<'_>, body: Option<&[u8]>) -> Known {
    let engine = exchange.engine.clone();
    if engine.shared.state().diagnostics.is_none() || exchange.diagnosis.is_some() {
        return Known::Yes;
    }
    let brought = brought(exchange);
    if brought == Brought::Nothing {
        if response.status == 402 {
            observe(exchange, now, crate::diagnostic::Exchange::Unpaid);
        }
        return Known::Yes;
    }
    let failure = match of_head(response, brought) {
        Some(failure) => Some(failure),
        None => match body {
            Some(text) => of_body(response, text, brought),
            None => return Known::InBody,
        },
    };
    match failure {
        // A 4xx of the merchant's own is no failed payment unless its text says so in words that are known.
        Some(failure) if response.status != 402 && failure.reason == Reason::Unclassified => Known::Yes,
        Some(failure) => {
            observe(exchange, now, crate::diagnostic::Exchange::Failed(&failure));
            Known::Yes
        }
        None => Known::Yes,
    }
}

/// The body that may have said why was never in hand (too large, streamed): a refused payment counts all the same.
pub(super) fn unread(exchange: &mut Exchange, now: Now) {
    let response = ResponseHead { status: exchange.status, ..ResponseHead::default() };
    diagnose(exchange, now, &response, Some(b""));
}

/// A paid 2xx: whoever this client is, its failures are over.
pub(super) fn settled(exchange: &mut Exchange, now: Now) {
    if exchange.engine.shared.state().diagnostics.is_some() && exchange.diagnosis.is_none() {
        observe(exchange, now, crate::diagnostic::Exchange::Settled);
    }
}

/// The extension for a v2 challenge header, where the option allows one.
pub(super) fn header_extra(exchange: &Exchange) -> Option<Extra> {
    let diagnosis = exchange.diagnosis.as_ref()?;
    let allowed = exchange.engine.shared.options.diagnostics.is_some_and(|options| options.header);
    let json = diagnosis.json.as_ref().filter(|_| allowed && diagnosis.header_allowed)?;
    let value = [br#"{"info":"#, &json[..], br#","schema":{"type":"object"}}"#].concat();
    Some(Extra { name: placement::NAME, value })
}

fn observe(exchange: &mut Exchange, now: Now, happened: crate::diagnostic::Exchange<'_>) {
    let engine = exchange.engine.clone();
    let Some(diagnostics) = &engine.shared.state().diagnostics else { return };
    let facts = super::end::facts(exchange);
    let is_settled = matches!(happened, crate::diagnostic::Exchange::Settled);
    let payer = match &facts.payer {
        Some(payer) if is_settled && exchange.settlement == Some(Settlement::Succeeded) => Payer::Proven(payer),
        Some(payer) => Payer::Claimed(payer),
        None => Payer::Unknown,
    };
    let request = Request {
        client_ip: std::str::from_utf8(exchange.caller.ip()).unwrap_or_default(),
        user_agent: exchange.caller.user_agent().unwrap_or_default(),
        credential: exchange.caller.credential(),
        payer,
        valid_before: exchange.payment.as_ref().and_then(|payment| super::end::valid_before(&payment.text)),
        agent_id: exchange.caller.agent_id(),
        operator_contact: exchange.caller.operator_contact(),
    };
    let observed = diagnostics.observe(now.unix_ms, &request, happened);
    report(exchange, &observed);
    exchange.diagnosis = Some(Diagnosis {
        json: observed.diagnostic.as_ref().map(|diagnostic| diagnostic.to_json()),
        header_allowed: observed.header_allowed,
    });
}

/// Tells the backend of an escalation, and the merchant of faults on its own side.
fn report(exchange: &Exchange, observed: &Observed) {
    let shared = &exchange.engine.shared;
    if let Some(notice) = &observed.merchant_notice {
        shared.say("payments", || match &notice.facilitator_error_code {
            Some(code) => format!("payments fail on this side: {} ({code})", notice.reason),
            None => format!("payments fail on this side: {}", notice.reason),
        });
    }
    let Some(escalation) = &observed.escalation else {
        if let Some(late) = &observed.operator_contact {
            shared.say("operator", || {
                format!("operator contact of sequence {}: {} (unverified)", late.correlation_id, late.contact)
            });
        }
        return;
    };
    if shared.reports() {
        let correlation_id = escalation.correlation_id.to_string();
        let event = Escalation {
            code: escalation.code.as_str(),
            attempts: escalation.attempts,
            correlation_id: &correlation_id,
            operator_contact: observed.operator_contact.as_ref().map(|told| told.contact.as_str().into()),
            agent_id: escalation.agent_id.as_deref().map(Into::into),
            dialect: exchange
                .payment
                .as_ref()
                .map(|payment| payment.dialect)
                .or(exchange.challenged)
                .map(Dialect::name),
        };
        super::end::with_happened(exchange, |happened| {
            shared.state().backend.push(Event::escalation(happened, &event))
        });
    }
}

fn brought(exchange: &Exchange) -> Brought {
    match &exchange.payment {
        Some(payment) if payment.dialect == Dialect::Open402 => Brought::Proof,
        Some(_) => Brought::Payment,
        None if exchange.undecodable => Brought::Undecodable,
        None => Brought::Nothing,
    }
}

fn of_head(response: &ResponseHead<'_>, brought: Brought) -> Option<Failure> {
    for name in paid::RECEIPT_HEADERS {
        for value in head::all(response.headers, name) {
            if let Some(failure) = envelope::decode(value).and_then(|text| classify::from_receipt(&text, brought)) {
                return Some(failure);
            }
        }
    }
    let Line::One(value) = find(response.headers, x402_v2::CHALLENGE_HEADER) else { return None };
    let text = envelope::decode(value)?;
    x402_v2::challenge(&text).ok()?;
    classify::from_v2_challenge(&text, brought)
}

fn of_body(response: &ResponseHead<'_>, text: &[u8], brought: Brought) -> Option<Failure> {
    use crate::dialect::{Challenge, challenge};
    match (challenge(text), brought) {
        (Ok(Challenge::V1(_)), _) => classify::from_v1_body(text, brought),
        (Ok(Challenge::V2(_)), _) => classify::from_v2_challenge(text, brought),
        (Err(_), Brought::Proof) if response.status == 402 => classify::from_open402_body(text, brought),
        (Err(_), _) if response.status == 402 => classify::from_v1_body(text, brought),
        // A merchant's own 4xx is no failed payment: only words that are known count.
        (Err(_), _) => classify::from_refusal(text, brought),
    }
}
