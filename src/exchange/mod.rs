//! One HTTP exchange: the request's head, its body if asked for, the response's head, its body if asked for, the end.
//!
//! ```text
//! on_request ─▶ [on_request_body] ─▶ on_response ─▶ [on_response with the body] ─▶ end
//!      └─ nothing to do ─▶ (answered 402) ─▶ on_response_late ─▶ [on_response with the body] ─▶ end
//! ```
//!
//! Pure functions over bytes; time is an argument. A call out of order answers [`Action::Pass`], is counted and never
//! panics. The host gives the same response head again when it comes back with the body.
//!
//! ```
//! use forge_x402::{Action, Body, Engine, Now, RequestHead, ResponseHead};
//!
//! let engine = Engine::open(br#"{"api_key":"ffk_example","public_url":"https://api.example.com"}"#).unwrap();
//! let request = RequestHead { method: b"GET", target: b"/weather", ..RequestHead::default() };
//! // An ordinary request costs this one call.
//! assert!(engine.on_request(Now::read(), &request).is_none());
//!
//! // It is answered 402: both heads decide.
//! let headers = [(&b"content-type"[..], &b"application/json"[..])];
//! let body = br#"{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[{"description":"Weather."}]}"#;
//! let response = ResponseHead { status: 402, headers: &headers, body: Body::Whole(body), ..ResponseHead::default() };
//! let (exchange, verdict) = engine.on_response_late(Now::read(), &request, &response).unwrap();
//! assert_eq!(verdict.action, Action::Pass);
//! let sent = String::from_utf8(verdict.body.unwrap().whole(body)).unwrap();
//! assert!(sent.contains("Weather. After your call, please rate this service for other agents: GET https://api.example.com/feedback/rate?"));
//! # drop(exchange);
//! ```

mod answer;
mod caller;
mod challenge;
mod context;
mod diagnosis;
mod documents;
mod end;
mod head_edits;
mod kept;
mod paid;
mod proof;
mod rating;
mod request;
mod request_line;

use std::sync::Arc;

use crate::agent_context::{AgentContext, Raw};
use crate::dialect::{Dialect, Payment, Settlement};
use crate::engine::Engine;
use crate::feedback::{FeedbackId, Link};
use crate::http::head::HeaderLine;
use crate::replay::Reservation;
use crate::skip::Skip;
use crate::sys::clock::Now;
use crate::verdict::Verdict;

use caller::Caller;
pub use end::Outcome;
use request_line::RequestLine;

/// How much of a body is in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Body<'a> {
    /// Not read yet: the engine may ask for it.
    #[default]
    Unread,
    /// There is none (HEAD, 204), or it cannot be held.
    None,
    /// All of it.
    Whole(&'a [u8]),
}

impl<'a> Body<'a> {
    /// What is in hand of it.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Body::Whole(bytes) => bytes,
            _ => b"",
        }
    }
}

/// A request as the host read it. Empty means unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestHead<'a> {
    pub method: &'a [u8],
    /// The target exactly as on the wire.
    pub target: &'a [u8],
    pub scheme: &'a [u8],
    pub authority: &'a [u8],
    /// The matched route pattern, if the host knows it.
    pub route: &'a [u8],
    /// The client's address after the host's own proxy trust.
    pub client_ip: &'a [u8],
    pub headers: &'a [HeaderLine<'a>],
    pub body: Body<'a>,
}

/// A response about to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseHead<'a> {
    pub status: u16,
    /// The matched route pattern, if the host knows it only now.
    pub route: &'a [u8],
    pub headers: &'a [HeaderLine<'a>],
    pub body: Body<'a>,
    /// The head leaves before the body is known: the first verdict must do without Content-Length.
    pub head_first: bool,
}

/// One exchange and what is remembered of it. One thread at a time, any thread.
pub struct Exchange {
    engine: Engine,
    phase: Phase,
    purpose: Purpose,
    line: RequestLine,
    caller: Caller,
    request_has_origin: bool,
    /// The request asked for the open402 version that has extension members.
    extends_open402: bool,
    /// The target without context parameters, told again with the request's body.
    target: Option<Vec<u8>>,
    /// As it was sent; most requests bring none.
    context_raw: Option<Box<Raw>>,
    /// As it is reported.
    context: Option<Box<AgentContext>>,
    /// The request's one valid Content-Length.
    stated_length: Option<usize>,
    payment: Option<Box<Payment>>,
    /// There is a payment header, and it holds no payment.
    undecodable: bool,
    /// The link that does not depend on what is exchanged, fixed when the request came. `None`: a challenge goes by its own
    /// resource, a paid answer by the resource that its payment echoes.
    link: Option<Arc<Link>>,
    id: Option<FeedbackId>,
    settlement: Option<Settlement>,
    /// The decoded receipt that said so.
    receipt: Option<Box<paid::Told>>,
    reservation: Option<Box<Reservation>>,
    /// What the response's head came to, while its body is awaited.
    kept: Option<Box<kept::Kept>>,
    /// The dialect that recognised the answer as a challenge.
    challenged: Option<Dialect>,
    /// The route had challenged before.
    challenges_often: bool,
    described: bool,
    diagnosis: Option<diagnosis::Diagnosis>,
    awaited: Option<rating::Awaited>,
    /// We answered ourselves.
    replied: bool,
    is_visit: bool,
    status: u16,
    started: Now,
    answered: Option<Now>,
    ended: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// The merchant's own business.
    Traffic,
    /// The merchant's OpenAPI document.
    OpenApi,
    /// The merchant's `/.well-known/x402`.
    X402Document,
    /// A discovery document that we answer ourselves.
    Discovered,
}

/// Which call comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The body of a paid request was asked for.
    RequestBody,
    /// The body of a rating was asked for.
    RatingBody,
    /// The backend is to be asked.
    Waiting,
    Response,
    /// The response's head was judged; its body was asked for.
    ResponseBody,
    Done,
}

impl Exchange {
    /// The whole body of a request, after [`Action::WantBody`](crate::Action::WantBody) of [`Engine::on_request`]. Of a body larger than
    /// `body_limit`, give the first `body_limit + 1` bytes, and let what came pass unless the verdict is a reply.
    pub fn on_request_body(&mut self, now: Now, body: &[u8]) -> Verdict {
        let engine = self.engine.clone();
        engine.shared.guarded(Verdict::pass, || match self.phase {
            Phase::RequestBody => {
                let verdict = Verdict { target: self.target.take(), ..Verdict::default() };
                context::of_body(self, body, verdict)
            }
            Phase::RatingBody => rating::of_body(self, now, body),
            _ => {
                self.skip(Skip::OutOfOrder);
                Verdict::pass()
            }
        })
    }

    /// The response's head, or the same head again with the body that was asked for.
    pub fn on_response(&mut self, now: Now, response: &ResponseHead<'_>) -> Verdict {
        let engine = self.engine.clone();
        engine.shared.guarded(Verdict::pass, || answer::judge(self, now, response))
    }

    fn skip(&self, skip: Skip) {
        self.engine.shared.skip(skip);
    }

    fn is_head(&self) -> bool {
        self.line.method() == b"HEAD"
    }
}

#[cfg(test)]
mod tests;
