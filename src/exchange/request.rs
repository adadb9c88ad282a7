//! The request phase: most requests are none of our business and must cost next to nothing.

use super::{Exchange, Phase, RequestHead, ResponseHead, answer};
use crate::dialect::{self, Found, Payment, x402_v1, x402_v2};
use crate::engine::Engine;
use crate::http::{Line, envelope, find};
use crate::sys::clock::Now;
use crate::verdict::{Action, Skip, Verdict};

impl Engine {
    /// Looks at a request. `None`: nothing to do before the response, the ordinary case; if it is then
    /// answered 402, call [`Engine::on_response_late`]. Never blocks.
    pub fn on_request(&self, now: Now, request: &RequestHead<'_>) -> Option<(Exchange, Verdict)> {
        let shared = &self.shared;
        if !shared.enabled {
            return None;
        }
        shared.guarded(
            || None,
            || match glance(request) {
                Glance::Ordinary => None,
                Glance::TooLarge => {
                    shared.skip(Skip::TooLarge);
                    None
                }
                Glance::Payment => {
                    let exchange = Exchange::new(self, now, request);
                    exchange.payment.is_some().then_some((exchange, Verdict::pass()))
                }
            },
        )
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
        self.shared.guarded(
            || None,
            || {
                if glance(request) == Glance::TooLarge {
                    return None;
                }
                let mut exchange = Exchange::new(self, now, request);
                let verdict = answer::judge(&mut exchange, now, response);
                (exchange.challenged || verdict.action == Action::WantBody).then_some((exchange, verdict))
            },
        )
    }
}

impl Exchange {
    fn new(engine: &Engine, now: Now, request: &RequestHead<'_>) -> Exchange {
        let payment = match payment(request) {
            Ok(payment) => payment,
            Err(skip) => {
                engine.shared.skip(skip);
                None
            }
        };
        let path = request.target.split(|&byte| byte == b'?').next().unwrap_or_default();
        Exchange {
            engine: engine.clone(),
            phase: Phase::Response,
            method: capped(request.method, METHOD),
            route: capped(if request.route.is_empty() { path } else { request.route }, ROUTE),
            request_has_origin: find(request.headers, "origin").is_present(),
            payment,
            link: engine.shared.fixed_link(),
            id: None,
            settlement: None,
            challenged: false,
            described: false,
            started: now,
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
            _ => false,
        };
        if paid && !value.is_empty() {
            seen = Glance::Payment;
        }
    }
    if bytes > HEADER_BYTES { Glance::TooLarge } else { seen }
}

/// The payment a request carries: what decodes as one, by its own version, in either header.
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
    found
}

fn capped(bytes: &[u8], most: usize) -> Vec<u8> {
    bytes[..bytes.len().min(most)].to_vec()
}

/// Most header lines and bytes of a request that are read; a larger one passes.
const HEADERS: usize = 512;
const HEADER_BYTES: usize = 256 * 1024;
/// Most bytes kept of a method and a route.
const METHOD: usize = 32;
const ROUTE: usize = 2_048;
