//! The end of an exchange: what became of the answer, told to the backend as events.

use std::borrow::Cow;

use super::{Exchange, Phase, Purpose, diagnosis, paid};
use crate::backend::{self, Event, Happened, Interaction, InteractionId, Text};
use crate::dialect::Settlement;
use crate::feedback::payment_facts::{PaymentFacts, payment_facts};
use crate::json::scan::{self, Slot};
use crate::openapi;
use crate::sys::clock::Now;

/// How the answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it was handed to the network.
    Delivered { status: u16, body_bytes: u64 },
    /// The client went away first.
    Aborted { status: u16, body_bytes: u64 },
    /// The handler threw.
    Failed { status: u16, body_bytes: u64 },
}

impl Exchange {
    /// The path template of the merchant's document, where the host knows no route pattern.
    fn template<'d>(&self, rules: &'d openapi::Rules) -> Option<&'d str> {
        if self.line.route() != self.line.path() {
            return None;
        }
        let (method, path) = self.line.as_str()?;
        rules.template(method, path)
    }

    /// Ends the exchange and writes its events. `None`: nobody knows how it ended. Never blocks.
    pub fn end(mut self, now: Now, outcome: Option<Outcome>) {
        self.finish(now, outcome);
    }

    fn finish(&mut self, now: Now, outcome: Option<Outcome>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let unread = std::mem::replace(&mut self.phase, Phase::Done) == Phase::ResponseBody;
        let engine = self.engine.clone();
        let end = || {
            if unread {
                diagnosis::unread(self, now);
            }
            self.write_events(now, outcome);
        };
        engine.shared.guarded(|| {}, end);
    }

    fn write_events(&mut self, now: Now, outcome: Option<Outcome>) {
        let engine = self.engine.clone();
        let state = engine.shared.state();
        self.stop_waiting(now);
        let (word, told) = match outcome {
            Some(Outcome::Delivered { status, .. }) => ("delivered", status),
            Some(Outcome::Aborted { status, .. }) => ("aborted", status),
            Some(Outcome::Failed { status, .. }) => ("failed", status),
            None => ("unknown", 0),
        };
        let status = if told == 0 { self.status } else { told };
        if let (Some(guard), Some(reservation)) = (&state.replay, self.reservation.take()) {
            guard.finish(now.unix_ms, *reservation, status);
        }
        if !engine.shared.reports() || (self.replied && self.purpose == Purpose::Traffic) {
            return;
        }
        let latency_ms = self.answered.unwrap_or(now).monotonic_ms.saturating_sub(self.started.monotonic_ms);
        with_happened(self, |happened| {
            if let Some(dialect) = self.challenged {
                state.backend.push(Event::challenge(happened, dialect.name()));
            }
            if self.payment.is_some() && !self.replied {
                state.backend.push(self.interaction(happened, word, status, latency_ms));
            }
            match self.purpose {
                Purpose::Traffic if self.is_visit && self.payment.is_none() && self.challenged.is_none() => {
                    state.backend.push(Event::visit(happened, status, latency_ms));
                }
                Purpose::Traffic => {}
                Purpose::OpenApi | Purpose::X402Document | Purpose::Discovered => {
                    state.backend.push(Event::discovery(happened))
                }
            }
        });
    }

    fn interaction(&self, happened: &Happened<'_>, outcome: &str, status: u16, latency_ms: u64) -> Event {
        let facts = facts(self);
        fn told<'f>(fact: &'f Option<Cow<'_, str>>) -> Option<Text<'f>> {
            fact.as_deref().map(Text::from)
        }
        let reason = self.receipt.as_deref().and_then(paid::Told::error_reason);
        Event::interaction(
            happened,
            &Interaction {
                id: match &self.id {
                    Some(id) => InteractionId::Feedback(id.as_str()),
                    None => InteractionId::Random,
                },
                dialect: self.payment.as_ref().map_or("", |payment| payment.dialect.name()),
                facts: backend::PaymentFacts {
                    payer: told(&facts.payer),
                    network: told(&facts.network),
                    amount: told(&facts.amount),
                    scheme: told(&facts.scheme),
                    asset: told(&facts.asset),
                    transaction: told(&facts.transaction),
                },
                settled: self.settlement.map(|settlement| settlement == Settlement::Succeeded),
                outcome,
                error_reason: reason.as_deref().map(Text::from),
                status,
                latency_ms,
            },
        )
    }
}

impl Drop for Exchange {
    /// A host that forgets the end loses nothing but how it ended.
    fn drop(&mut self) {
        if !self.ended {
            self.finish(Now::read(), None);
        }
    }
}

/// What is known of the payment: the payer's claim, corrected by a successful receipt.
pub(super) fn facts(exchange: &Exchange) -> PaymentFacts<'_> {
    let Some(payment) = &exchange.payment else { return PaymentFacts::default() };
    if let Some(proof) = &payment.proof {
        let price =
            exchange.engine.shared.state().route_challenges(exchange.line.method(), exchange.line.path()).flatten();
        return PaymentFacts {
            payer: proof.payer_address.as_deref().map(Cow::Borrowed),
            network: proof.chain.as_deref().map(Cow::Borrowed),
            amount: price.as_ref().map(|price| Cow::Owned(price.amount.clone())),
            asset: price.map(|price| Cow::Owned(price.token)),
            transaction: Some(Cow::Borrowed(&proof.tx_hash)),
            scheme: None,
        };
    }
    let claimed = payment_facts(&payment.text, &payment.facts);
    match &exchange.receipt {
        Some(told) if exchange.settlement == Some(Settlement::Succeeded) => {
            claimed.settled_by(&told.text, &told.receipt)
        }
        _ => claimed,
    }
}

/// `payload.authorization.validBefore` in unix seconds, spelled as a text or a number.
pub(super) fn valid_before(payment: &[u8]) -> Option<u64> {
    let inside = |at: usize, name: &str| match scan::object(payment, at, [name]).ok()?.slots {
        [Slot::One(range)] => Some(range),
        _ => None,
    };
    let payload = inside(scan::skip_space(payment, 0), "payload")?;
    let authorization = inside(payload.start, "authorization")?;
    let value = inside(authorization.start, "validBefore")?;
    std::str::from_utf8(&payment[value]).ok()?.trim_matches('"').parse().ok()
}

/// Calls `tell` with what every event of this request has.
pub(super) fn with_happened(exchange: &Exchange, tell: impl FnOnce(&Happened<'_>)) {
    let document = exchange.engine.shared.document();
    let template = document.as_deref().and_then(|document| exchange.template(&document.rules));
    let templated = template.map(|template| [exchange.line.method(), b" ", template.as_bytes()].concat());
    let context: Vec<(&str, Text<'_>)> =
        exchange.context.iter().flat_map(|told| told.fields()).map(|(name, value)| (name, Text::from(value))).collect();
    tell(&Happened {
        route: Text::Plain(templated.as_deref().unwrap_or(exchange.line.shown())),
        unix_ms: exchange.started.unix_ms,
        request_headers: exchange.caller.captured(),
        user_agent: exchange.caller.captured_agent(),
        agent_context: &context,
    });
}
