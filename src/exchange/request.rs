//! The request phase: most requests are none of our business and must cost next to nothing.

use super::caller::Caller;
use super::request_line::RequestLine;
use super::{Exchange, Phase, Purpose, RequestHead, ResponseHead, answer, context, documents, proof, rating};
use crate::dialect::open402::{self, Negotiated, Proof};
use crate::dialect::{self, Found, Payment, x402_v1, x402_v2};
use crate::engine::{Engine, Shared};
use crate::http::{Line, envelope, find};
use crate::options::ContextMode;
use crate::skip::Skip;
use crate::sys::clock::Now;
use crate::verdict::{Action, Verdict};

impl Engine {
    /// Looks at a request. `None`: nothing to do before the response, the ordinary case; if it is then
    /// answered 402, call [`Engine::on_response_late`]. Never blocks.
    pub fn on_request(&self, now: Now, request: &RequestHead<'_>) -> Option<(Exchange, Verdict)> {
        self.on_request_with(|| now, request)
    }

    /// As [`Engine::on_request`], with clocks that are read only if there is something to do: reading them costs
    /// more than an ordinary request does.
    pub fn on_request_with(&self, now: impl Fn() -> Now, request: &RequestHead<'_>) -> Option<(Exchange, Verdict)> {
        self.begin(&now, request)
    }

    /// Neither generic nor inlined: it would be built with a binding, for size, and not with the engine, for speed.
    #[inline(never)]
    fn begin(&self, now: &dyn Fn() -> Now, request: &RequestHead<'_>) -> Option<(Exchange, Verdict)> {
        // The ordinary request ends here, in a small frame: what begins an exchange has a large one.
        if !self.shared.enabled || self.shared.guarded(|| true, || is_ordinary(&self.shared, request)) {
            return None;
        }
        self.shared.guarded(|| None, || begin(self, now, request))
    }

    /// For a request that got nothing from [`Engine::on_request`] and is answered 402: decides from both heads.
    /// `None`: let the response pass.
    pub fn on_response_late(
        &self,
        now: Now,
        request: &RequestHead<'_>,
        response: &ResponseHead<'_>,
    ) -> Option<(Exchange, Verdict)> {
        if !self.shared.enabled || response.status != 402 {
            return None;
        }
        let late = || {
            if glance(request) == Glance::TooLarge {
                return None;
            }
            let mut exchange = Exchange::new(self, now, request, Purpose::Traffic);
            let verdict = answer::judge(&mut exchange, now, response);
            let begun =
                exchange.challenged.is_some() || verdict.action == Action::WantBody || !verdict.edits.is_empty();
            begun.then_some((exchange, verdict))
        };
        self.shared.guarded(|| None, late)
    }
}

/// Whether there is surely nothing to do before the response. May say no to an ordinary request; never yes to another.
fn is_ordinary(shared: &Shared, request: &RequestHead<'_>) -> bool {
    let options = &*shared.options;
    if options.visits || glance(request) != Glance::Ordinary {
        return false;
    }
    let (path, query) = match memchr::memchr(b'?', request.target) {
        Some(mark) => (&request.target[..mark], &request.target[mark + 1..]),
        None => (request.target, &b""[..]),
    };
    let answered = options.feedback && path.starts_with(options.base_path.as_bytes());
    let is_document =
        options.openapi.as_ref().is_some_and(|openapi| openapi.paths.iter().any(|known| known.as_bytes() == path))
            || (options.discovery && path.starts_with(b"/.well-known/"));
    // Every context parameter has an underscore, as it is or behind a percent sign.
    let may_have_context =
        !query.is_empty() && options.agent_context != ContextMode::Off && memchr::memchr2(b'%', b'_', query).is_some();
    !(answered || is_document || may_have_context)
}

#[inline(never)]
fn begin(engine: &Engine, now: &dyn Fn() -> Now, request: &RequestHead<'_>) -> Option<(Exchange, Verdict)> {
    let shared = &engine.shared;
    let paid = match glance(request) {
        Glance::TooLarge => {
            shared.skip(Skip::TooLarge);
            return None;
        }
        Glance::Payment => true,
        Glance::Ordinary => false,
    };
    if let Some(route) = shared.rating_paths.as_ref().and_then(|paths| paths.recognise(request.method, request.target))
    {
        let now = now();
        let mut exchange = Exchange::new(engine, now, request, Purpose::Traffic);
        let verdict = rating::begin(&mut exchange, now, request, route);
        return Some((exchange, verdict));
    }
    let purpose = documents::purpose(&shared.options, request);
    let cut = match shared.options.agent_context {
        ContextMode::Off => None,
        _ => context::cut_target(shared, request),
    };
    let visit = shared.options.visits && !paid && shared.reports() && is_program(request);
    if !paid && cut.is_none() && purpose == Purpose::Traffic && !visit {
        return None;
    }
    let now = now();
    let mut exchange = Exchange::new(engine, now, request, purpose);
    exchange.is_visit = visit && exchange.purpose == Purpose::Traffic && shared.state().admits_visit(now);
    let mut verdict = Verdict::pass();
    if let Some((target, raw)) = cut {
        verdict.target = Some(target);
        exchange.context_raw = Some(Box::new(raw));
    }
    if exchange.payment.is_none() {
        exchange.settle_context();
        let something = verdict.target.is_some() || exchange.purpose != Purpose::Traffic || exchange.is_visit;
        // A header that holds no payment may be refused with a 4xx, which only an exchange can explain.
        let explained = exchange.undecodable && shared.options.diagnostics.is_some();
        return (something || explained).then_some((exchange, verdict));
    }
    if let Some(refused) = proof::refuse(&mut exchange, now, request) {
        return Some((exchange, refused));
    }
    let verdict = context::of_payment(&mut exchange, request, verdict);
    Some((exchange, verdict))
}

impl Exchange {
    pub(super) fn new(engine: &Engine, now: Now, request: &RequestHead<'_>, purpose: Purpose) -> Exchange {
        let (payment, undecodable) = match payment(request) {
            Ok(payment) => (payment, false),
            Err(skip) => {
                engine.shared.skip(skip);
                (None, true)
            }
        };
        let options = &engine.shared.options;
        Exchange {
            phase: Phase::Response,
            purpose,
            line: RequestLine::new(request.method, request.target, request.route),
            request_has_origin: find(request.headers, "origin").is_present(),
            extends_open402: Negotiated::of(request.headers).allows_extensions(),
            caller: Caller::new(options.diagnostics.is_some(), engine.shared.reports(), request),
            target: None,
            context_raw: None,
            context: None,
            stated_length: None,
            payment: payment.map(Box::new),
            undecodable,
            link: engine.shared.fixed_link(),
            id: None,
            settlement: None,
            receipt: None,
            reservation: None,
            kept: None,
            challenged: None,
            challenges_often: false,
            described: false,
            diagnosis: None,
            awaited: None,
            replied: false,
            is_visit: false,
            status: 0,
            started: now,
            answered: None,
            ended: false,
            engine: engine.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Glance {
    Ordinary,
    Payment,
    TooLarge,
}

/// One pass over the header lines, told apart by length and first byte before any name is compared.
fn glance(request: &RequestHead<'_>) -> Glance {
    if request.headers.len() > HEADERS {
        return Glance::TooLarge;
    }
    let mut bytes = 0;
    let mut seen = Glance::Ordinary;
    for (name, value) in request.headers {
        bytes += name.len() + value.len();
        let paid = match name.len() {
            17 => name.eq_ignore_ascii_case(x402_v2::PAYMENT_HEADER.as_bytes()),
            9 => name.eq_ignore_ascii_case(x402_v1::PAYMENT_HEADER.as_bytes()),
            13 => name.eq_ignore_ascii_case(b"authorization") && is_open402(value),
            _ => false,
        };
        if paid && !value.is_empty() {
            seen = Glance::Payment;
        }
    }
    if bytes > HEADER_BYTES { Glance::TooLarge } else { seen }
}

/// The payment a request carries: what decodes as one, by its own version, in whichever header.
fn payment(request: &RequestHead<'_>) -> Found<Option<Payment>> {
    let mut found = Ok(None);
    for name in [x402_v2::PAYMENT_HEADER, x402_v1::PAYMENT_HEADER] {
        let one = match find(request.headers, name) {
            Line::Absent | Line::One(b"") => continue,
            Line::Many(_) => Err(Skip::Ambiguous),
            Line::One(value) => envelope::decode(value).ok_or(Skip::NotBase64).and_then(dialect::payment),
        };
        match one {
            Ok(payment) => return Ok(Some(payment)),
            Err(skip) => found = Err(skip),
        }
    }
    match Proof::find(request.headers) {
        Ok(proof) => Ok(Some(Payment::of_proof(proof))),
        Err(open402::Fault::Absent) => found,
        Err(open402::Fault::Ambiguous) => Err(Skip::Ambiguous),
        Err(_) => Err(Skip::NotRecognised),
    }
}

fn is_open402(value: &[u8]) -> bool {
    value.len() > 5 && value[..4].eq_ignore_ascii_case(b"x402") && matches!(value[4], b' ' | b'\t')
}

/// Whether a request comes from a program rather than a browser.
fn is_program(request: &RequestHead<'_>) -> bool {
    match find(request.headers, "user-agent") {
        Line::One(agent) => !agent.starts_with(b"Mozilla/"),
        _ => false,
    }
}

/// Most header lines and bytes of a request that are read; a larger one passes.
const HEADERS: usize = 512;
const HEADER_BYTES: usize = 256 * 1024;
