//! A host in the smallest form: hands requests and answers through an engine and does what the verdicts say.
#![allow(dead_code, reason = "every test program uses its own part")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use forge_x402::{
    Action, Body, Edit, EditOp, Engine, Exchange, HeaderLine, Now, Outcome, RequestHead, ResponseHead, Verdict,
};
use serde_json::Value;
use std::time::Duration;

pub const KEY: &str = "ffk_fake";
pub const ORIGIN: &str = "https://api.example.com";

/// An engine with `api_key` and whatever JSON members are given.
pub fn engine(more: &str) -> Engine {
    let comma = if more.is_empty() { "" } else { "," };
    Engine::open(format!(r#"{{"api_key":"{KEY}","strict":true{comma}{more}}}"#).as_bytes()).unwrap()
}

/// The same with a backend.
pub fn reporting(url: &str, more: &str) -> Engine {
    let comma = if more.is_empty() { "" } else { "," };
    engine(&format!(r#""public_url":"{ORIGIN}","flush_interval_ms":100,"backend_url":"{url}"{comma}{more}"#))
}

pub type Lines = Vec<(String, Vec<u8>)>;

#[derive(Clone, Default)]
pub struct Request {
    pub method: String,
    pub target: Vec<u8>,
    pub headers: Lines,
    pub body: Vec<u8>,
    pub client_ip: String,
    pub route: String,
    pub now: Option<Now>,
}

pub fn get(target: &str) -> Request {
    request("GET", target)
}

pub fn request(method: &str, target: &str) -> Request {
    Request { method: method.into(), target: target.into(), ..Request::default() }
}

pub fn post(target: &str, body: impl AsRef<[u8]>) -> Request {
    let body = body.as_ref().to_vec();
    request("POST", target)
        .with("Content-Type", "application/json")
        .with("Content-Length", body.len().to_string())
        .body(body)
}

impl Request {
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Request {
        self.headers.push((name.into(), value.as_ref().to_vec()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    pub fn from(mut self, client_ip: &str) -> Request {
        self.client_ip = client_ip.into();
        self
    }

    pub fn route(mut self, route: &str) -> Request {
        self.route = route.into();
        self
    }

    pub fn at(mut self, now: Now) -> Request {
        self.now = Some(now);
        self
    }

    /// A v2 payment of the fixed fake payer.
    pub fn paying(self) -> Request {
        let payment = v2_payment("0x00000000000000000000000000000000000000aa");
        self.with("PAYMENT-SIGNATURE", payment)
    }

    pub fn lines(&self) -> Vec<HeaderLine<'_>> {
        lines(&self.headers)
    }

    pub fn head<'a>(&'a self, headers: &'a [HeaderLine<'a>]) -> RequestHead<'a> {
        RequestHead {
            method: self.method.as_bytes(),
            target: &self.target,
            headers,
            client_ip: self.client_ip.as_bytes(),
            route: self.route.as_bytes(),
            body: Body::Unread,
            ..RequestHead::default()
        }
    }
}

#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Lines,
    pub body: Vec<u8>,
    pub route: String,
}

pub fn response(status: u16) -> Response {
    Response { status, ..Response::default() }
}

/// A JSON answer with its length.
pub fn json(status: u16, body: impl AsRef<[u8]>) -> Response {
    let body = body.as_ref().to_vec();
    let mut response =
        response(status).with("Content-Type", "application/json").with("Content-Length", body.len().to_string());
    response.body = body;
    response
}

impl Response {
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Response {
        self.headers.push((name.into(), value.as_ref().to_vec()));
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(line, _)| line.eq_ignore_ascii_case(name));
        found.map(|(_, value)| std::str::from_utf8(value).unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|fault| panic!("{fault}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The decoded JSON of a base64 header.
    pub fn envelope(&self, name: &str) -> Value {
        serde_json::from_slice(&STANDARD.decode(self.header(name).unwrap()).unwrap()).unwrap()
    }
}

/// What came of one request.
#[derive(Debug)]
pub struct Served {
    /// What the client gets.
    pub sent: Response,
    /// What the handler got; `None` where it never ran.
    pub handed: Option<Handed>,
    pub waited: bool,
    /// The body of the request was asked for.
    pub held_request: bool,
    pub held_response: bool,
    /// There was an exchange before the response.
    pub looked_at: bool,
    pub id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    pub target: Vec<u8>,
    pub headers: Lines,
    pub body: Vec<u8>,
}

/// How the host deals with what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    #[default]
    Holds,
    /// nginx: the head leaves before the body is known.
    HeadFirst,
    /// A stream that cannot be held.
    CannotHold,
}

pub fn serve(engine: &Engine, request: &Request, answer: Response) -> Served {
    serve_by(engine, request, answer, Host::Holds)
}

pub fn serve_by(engine: &Engine, request: &Request, answer: Response, host: Host) -> Served {
    serve_until(engine, request, answer, host, |status, bytes| Outcome::Delivered { status, body_bytes: bytes })
}

/// Serves one request; `outcome` says how it ended.
pub fn serve_until(
    engine: &Engine,
    request: &Request,
    answer: Response,
    host: Host,
    outcome: impl FnOnce(u16, u64) -> Outcome,
) -> Served {
    let now = request.now.unwrap_or_else(Now::read);
    let lines = request.lines();
    let head = request.head(&lines);
    let mut handed =
        Handed { target: request.target.clone(), headers: request.headers.clone(), body: request.body.clone() };
    let mut served = Served {
        sent: answer.clone(),
        handed: None,
        waited: false,
        held_request: false,
        held_response: false,
        looked_at: false,
        id: None,
    };
    let mut exchange = None;
    if let Some((begun, mut verdict)) = engine.on_request(now, &head) {
        served.looked_at = true;
        let mut begun = begun;
        if verdict.action == Action::WantBody {
            served.held_request = true;
            handed.take(&verdict);
            let held = &request.body[..request.body.len().min(verdict.body_limit + 1)];
            verdict = begun.on_request_body(now, held);
        }
        if verdict.action == Action::Wait {
            served.waited = true;
            verdict = begun.wait(Duration::from_secs(10));
        }
        if verdict.action == Action::Reply {
            served.sent = reply(&verdict);
            begun.end(now, Some(outcome(served.sent.status, served.sent.body.len() as u64)));
            return served;
        }
        assert_eq!(verdict.action, Action::Pass);
        handed.take(&verdict);
        exchange = Some(begun);
    }
    served.handed = Some(handed);
    answer_through(engine, request, exchange, answer, host, &mut served, outcome);
    served
}

fn answer_through(
    engine: &Engine,
    request: &Request,
    exchange: Option<Exchange>,
    answer: Response,
    host: Host,
    served: &mut Served,
    outcome: impl FnOnce(u16, u64) -> Outcome,
) {
    let now = request.now.unwrap_or_else(Now::read);
    let (lines, answer_lines) = (request.lines(), lines(&answer.headers));
    let mut head = ResponseHead {
        status: answer.status,
        headers: &answer_lines,
        route: answer.route.as_bytes(),
        head_first: host == Host::HeadFirst,
        body: if request.method == "HEAD" { Body::None } else { Body::Unread },
    };
    let (exchange, verdict) = match exchange {
        Some(mut exchange) => {
            let verdict = exchange.on_response(now, &head);
            (Some(exchange), verdict)
        }
        None if answer.status == 402 => match engine.on_response_late(now, &request.head(&lines), &head) {
            Some((exchange, verdict)) => (Some(exchange), verdict),
            None => (None, Verdict::pass()),
        },
        None => (None, Verdict::pass()),
    };
    let Some(mut exchange) = exchange else { return };
    let first = verdict;
    served.id = first.feedback_id.map(|id| id.as_str().to_owned());
    served.held_response = first.action == Action::WantBody;
    served.sent.headers = edited(&answer.headers, &first.edits);
    match (first.action, host) {
        (Action::WantBody, Host::CannotHold) => {}
        (Action::WantBody, _) if answer.body.len() <= first.body_limit => {
            head.body = Body::Whole(&answer.body);
            let second = exchange.on_response(now, &head);
            served.id = second.feedback_id.map(|id| id.as_str().to_owned()).or(served.id.take());
            if host == Host::HeadFirst {
                assert!(second.edits.is_empty(), "the head has left: {:?}", second.edits);
            } else {
                served.sent.headers = edited(&answer.headers, &second.edits);
            }
            if let Some(body) = second.body {
                served.sent.body = body.whole(&answer.body);
            }
        }
        _ => {
            if let Some(body) = first.body {
                served.sent.body = body.whole(&answer.body);
            }
        }
    }
    exchange.end(now, Some(outcome(answer.status, served.sent.body.len() as u64)));
}

impl Handed {
    fn take(&mut self, verdict: &Verdict) {
        self.headers = edited(&self.headers, &verdict.edits);
        if let Some(target) = &verdict.target {
            self.target.clone_from(target);
        }
        if let Some(body) = &verdict.body {
            self.body = body.clone().whole(&self.body);
        }
    }

    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(line, _)| line.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
    }
}

pub fn reply(verdict: &Verdict) -> Response {
    assert_eq!(verdict.action, Action::Reply);
    Response {
        status: verdict.http_status,
        headers: edited(&Lines::new(), &verdict.edits),
        body: verdict.body.clone().map(|body| body.whole(b"")).unwrap_or_default(),
        ..Response::default()
    }
}

/// The header lines with the edits applied, as verdict.rs says.
pub fn edited(before: &Lines, edits: &[Edit]) -> Lines {
    let mut after = before.clone();
    for edit in edits {
        let is = |(name, _): &(String, Vec<u8>)| name.eq_ignore_ascii_case(edit.name);
        let first = after.iter().position(is);
        match (edit.op, first) {
            (EditOp::Set, Some(first)) => {
                after[first].1 = edit.value.to_vec();
                let mut at = 0;
                after.retain(|line| {
                    at += 1;
                    at - 1 <= first || !is(line)
                });
            }
            (EditOp::Set | EditOp::Add, _) => after.push((edit.name.into(), edit.value.to_vec())),
            (EditOp::Remove, _) => after.retain(|line| !is(line)),
        }
    }
    after
}

pub fn lines(headers: &Lines) -> Vec<HeaderLine<'_>> {
    headers.iter().map(|(name, value)| (name.as_bytes(), &value[..])).collect()
}

pub fn envelope(json: impl AsRef<[u8]>) -> Vec<u8> {
    STANDARD.encode(json).into_bytes()
}

pub fn v2_payment(payer: &str) -> Vec<u8> {
    envelope(format!(
        r#"{{"x402Version":2,"payload":{{"signature":"0xfake","authorization":{{"from":"{payer}","to":"0xbb","value":"1000","validBefore":"1796000600"}}}},"accepted":{{"scheme":"exact","network":"eip155:84532","amount":"1000","asset":"0xcc","payTo":"0xbb"}}}}"#
    ))
}

pub fn v1_payment(payer: &str) -> Vec<u8> {
    envelope(format!(
        r#"{{"x402Version":1,"scheme":"exact","network":"base-sepolia","payload":{{"signature":"0xfake","authorization":{{"from":"{payer}","to":"0xbb","value":"1000"}}}}}}"#
    ))
}

pub fn receipt(success: bool) -> Vec<u8> {
    if success {
        return envelope(
            r#"{"success":true,"transaction":"0xfeed","network":"eip155:84532","payer":"0x00000000000000000000000000000000000000dd"}"#,
        );
    }
    envelope(r#"{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:84532"}"#)
}

pub const V2_CHALLENGE: &str = r#"{"x402Version":2,"error":"Payment required","resource":{"url":"https://shop.example/weather","description":"Weather."},"accepts":[{"scheme":"exact","network":"eip155:84532","amount":"1000","asset":"0xcc","payTo":"0xbb","maxTimeoutSeconds":60}]}"#;
pub const V1_CHALLENGE: &str = r#"{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[{"scheme":"exact","network":"base-sepolia","maxAmountRequired":"1000","resource":"https://shop.example/weather","description":"Weather."}]}"#;

/// A v2 402 with the body most servers give.
pub fn v2_challenge() -> Response {
    json(402, "{}").with("PAYMENT-REQUIRED", envelope(V2_CHALLENGE))
}

/// The same with the reason why a payment was refused.
pub fn v2_refused(error: &str) -> Response {
    json(402, "{}").with("PAYMENT-REQUIRED", envelope(V2_CHALLENGE.replace("Payment required", error)))
}

pub fn v1_challenge() -> Response {
    json(402, V1_CHALLENGE)
}

pub fn later(now: Now, ms: u64) -> Now {
    Now { unix_ms: now.unix_ms + ms, monotonic_ms: now.monotonic_ms + ms }
}

pub fn delivered(status: u16) -> Option<Outcome> {
    Some(Outcome::Delivered { status, body_bytes: 0 })
}
