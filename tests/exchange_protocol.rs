//! Whatever a host calls in whatever order, and whatever bytes come: no panic, no stack, no byte of ours where it does not belong.

mod exchange_support;
mod support;

use exchange_support::*;
use forge_x402::{Action, Body, Engine, Exchange, HeaderLine, Now, Outcome, RequestHead, ResponseHead, Verdict};
use std::time::Duration;
use support::{FaultBackend, LONG, Mode};

const NOW: Now = Now { unix_ms: 1_796_000_000_000, monotonic_ms: 50_000 };

/// Everything on.
const ALL: &str = r#""public_url":"https://api.example.com","discovery":true,"diagnostics":{"attempts":2,"min_age_ms":0,"header":true},"agent_context":"ask","replay_guard":true,"rate_limit_per_minute":5,"visits":true,"inject_text":true,"extension_schema":true,"service_description":"x""#;

struct Kind {
    name: &'static str,
    request: Request,
    answers: Vec<Response>,
}

/// A request of each purpose, with answers of each kind.
fn kinds() -> Vec<Kind> {
    let answers = || {
        vec![
            json(200, r#"{"a":1}"#).with("PAYMENT-RESPONSE", receipt(true)),
            v2_challenge(),
            v1_challenge(),
            json(403, r#"{"error":"Replay rejected","detail":"Request too old"}"#),
            response(204),
            response(103),
        ]
    };
    let kind = |name, request: Request| Kind {
        name,
        request: request.at(NOW).with("User-Agent", "curl/8").from("198.51.100.7"),
        answers: answers(),
    };
    let id = engine("").mint_id(NOW).as_str().to_owned();
    vec![
        kind("paid", get("/w?agent_type=x").paying()),
        kind("paid upload", post("/w", r#"{"agent_context":{},"a":1}"#).paying()),
        kind("head", request("HEAD", "/w").paying()),
        kind(
            "open402",
            get("/w").with("Authorization", "x402 0xfeed").with("X-x402-Timestamp", "1").with("X-x402-Nonce", "n"),
        ),
        kind("rating", post("/feedback", format!(r#"{{"feedback_id":"{id}","outcome":"no"}}"#))),
        kind("rate", get(&format!("/feedback/rate?feedback_id={id}&outcome=fully"))),
        kind("summary", get("/feedback/summary")),
        kind("form", get("/feedback")),
        kind("document", get("/openapi.json")),
        kind("x402 document", get("/.well-known/x402")),
        kind("own document", get("/.well-known/forge-feedback.json")),
        kind("visit", get("/about")),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Call {
    RequestBody,
    Response(usize),
    ResponseWithBody(usize),
    ResponseWithout(usize),
    HeadFirst(usize),
    Wait,
}

const CALLS: [Call; 8] = [
    Call::RequestBody,
    Call::Response(0),
    Call::ResponseWithBody(0),
    Call::ResponseWithBody(1),
    Call::HeadFirst(2),
    Call::ResponseWithout(3),
    Call::Response(5),
    Call::Wait,
];

fn make(exchange: &mut Exchange, kind: &Kind, call: Call) -> Verdict {
    let respond = |exchange: &mut Exchange, index: usize, head_first: bool, body: Option<bool>| {
        let answer = &kind.answers[index];
        let headers = lines(&answer.headers);
        let body = match body {
            Some(true) => Body::Whole(&answer.body),
            Some(false) => Body::None,
            None => Body::Unread,
        };
        exchange.on_response(
            NOW,
            &ResponseHead { status: answer.status, headers: &headers, head_first, body, ..ResponseHead::default() },
        )
    };
    match call {
        Call::RequestBody => exchange.on_request_body(NOW, &kind.request.body),
        Call::Response(index) => respond(exchange, index, false, None),
        Call::ResponseWithBody(index) => respond(exchange, index, false, Some(true)),
        Call::ResponseWithout(index) => respond(exchange, index, false, Some(false)),
        Call::HeadFirst(index) => respond(exchange, index, true, None),
        Call::Wait => exchange.wait(Duration::from_millis(1)),
    }
}

#[test]
fn every_order_of_three_calls_is_answered() {
    let engine = engine(ALL);
    let mut made = 0;
    for kind in kinds() {
        for first in CALLS {
            for second in CALLS {
                for third in CALLS {
                    let lines = kind.request.lines();
                    let Some((mut exchange, verdict)) = engine.on_request(NOW, &kind.request.head(&lines)) else {
                        assert_eq!(kind.name, "visit", "nobody to tell it to");
                        continue;
                    };
                    let mut is_over = verdict.action == Action::Reply;
                    for call in [first, second, third] {
                        let verdict = make(&mut exchange, &kind, call);
                        let calls = (kind.name, first, second, third);
                        assert!(!is_over || verdict == Verdict::pass(), "{calls:?}: {verdict:?}");
                        assert_eq!(verdict.action == Action::Reply, verdict.http_status != 0, "{calls:?}");
                        is_over |= verdict.action == Action::Reply;
                        made += 1;
                    }
                    match made % 4 {
                        0 => exchange.end(NOW, None),
                        1 => exchange.end(NOW, delivered(200)),
                        2 => exchange.end(NOW, Some(Outcome::Aborted { status: 0, body_bytes: 0 })),
                        _ => drop(exchange),
                    }
                }
            }
        }
    }
    assert!(made > 15_000, "{made}");
    let stats = engine.stats();
    assert_eq!(stats.internal_errors, 0);
    assert!(stats.skips.iter().any(|(name, count)| *name == "out_of_order" && *count > 1_000), "and misuse is counted");
}

#[test]
fn an_exchange_may_be_dropped_or_ended_in_every_phase() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), &ALL[ALL.find(',').unwrap() + 1..]);
    for kind in kinds() {
        for calls in 0..=CALLS.len() {
            for is_dropped in [true, false] {
                let lines = kind.request.lines();
                let (mut exchange, _) = engine.on_request(NOW, &kind.request.head(&lines)).unwrap();
                for call in &CALLS[..calls] {
                    make(&mut exchange, &kind, *call);
                }
                if !is_dropped {
                    exchange.end(NOW, delivered(0));
                }
            }
        }
    }
    assert!(engine.flush(LONG).is_ok());
    let stats = engine.stats();
    assert_eq!((stats.internal_errors, stats.queued, stats.dropped), (0, 0, 0));
    assert!(stats.sent > 50);
}

#[test]
fn an_exchange_outlives_the_engine_that_made_it() {
    let engine = engine(ALL);
    let request = get("/w").paying().at(NOW);
    let lines = request.lines();
    let (mut exchange, _) = engine.on_request(NOW, &request.head(&lines)).unwrap();
    drop(engine);
    let answer = json(200, "{}");
    let headers = exchange_support::lines(&answer.headers);
    let verdict =
        exchange.on_response(NOW, &ResponseHead { status: 200, headers: &headers, ..ResponseHead::default() });
    assert!(verdict.feedback_id.is_some());
    exchange.end(NOW, delivered(200));
}

#[test]
fn after_shutdown_traffic_is_transformed_as_before() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), "");
    let served = |engine: &Engine| serve(engine, &get("/w").paying(), json(200, "{}")).sent.text().len();
    let before = served(&engine);
    engine.shutdown(LONG).unwrap();
    engine.shutdown(LONG).unwrap();
    assert_eq!(served(&engine), before);
    assert!(serve(&engine, &get("/w"), v2_challenge()).sent.header("PAYMENT-REQUIRED").unwrap().len() > 1_000);
    let stats = engine.stats();
    assert_eq!((stats.sent, stats.dropped, stats.queued), (1, 2, 0), "later events are dropped and counted");
}

#[test]
fn an_exchange_may_move_to_another_thread_in_every_phase() {
    let engine = engine(ALL);
    let request = post("/w", r#"{"agent_context":{"agent_type":"x"}}"#).paying().at(NOW);
    let lines = request.lines();
    let (exchange, _) = engine.on_request(NOW, &request.head(&lines)).unwrap();
    let mut exchange = std::thread::spawn(move || {
        let mut exchange = exchange;
        assert!(exchange.on_request_body(NOW, br#"{"agent_context":{"agent_type":"x"}}"#).body.is_some());
        exchange
    })
    .join()
    .unwrap();
    std::thread::spawn(move || {
        let answer = json(200, "{}");
        let headers = exchange_support::lines(&answer.headers);
        assert!(
            exchange
                .on_response(NOW, &ResponseHead { status: 200, headers: &headers, ..ResponseHead::default() })
                .feedback_id
                .is_some()
        );
        exchange.end(NOW, delivered(200));
    })
    .join()
    .unwrap();
}

/// Deterministic, so that a failure can be had again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }

    /// A few bytes cut, doubled, flipped, or put in from a list of what hurts.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const HURTS: [&[u8]; 16] = [
            b"\"",
            b"\\",
            b"{",
            b"[[[[[[[[[[",
            b"}",
            b"\\u",
            b"\\ud800",
            b"\xff\xfe",
            b"\0",
            b"1e400",
            b"null",
            b"\xef\xbb\xbf",
            b",",
            b":",
            b"=",
            b"%zz",
        ];
        for _ in 0..=self.roll(3) {
            let at = self.roll(bytes.len() + 1);
            match self.roll(5) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.roll(8),
                1 => {
                    let end = (at + self.roll(20)).min(bytes.len());
                    bytes.drain(at..end);
                }
                2 => {
                    let end = (at + self.roll(200)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                _ => {
                    let part = HURTS[self.roll(HURTS.len())];
                    bytes.splice(at..at, part.iter().copied());
                }
            }
        }
    }

    fn mutate_lines(&mut self, headers: &mut Lines) {
        if headers.is_empty() {
            return;
        }
        let at = self.roll(headers.len());
        match self.roll(6) {
            0 => {
                let line = headers[at].clone();
                headers.push(line);
            }
            1 => {
                headers.remove(at);
            }
            2 => {
                // Mutated inside the base64, which is where it matters.
                use base64::Engine as _;
                let code = &base64::engine::general_purpose::STANDARD;
                if let Ok(mut inner) = code.decode(&headers[at].1) {
                    self.mutate(&mut inner);
                    headers[at].1 = code.encode(inner).into_bytes();
                }
            }
            _ => self.mutate(&mut headers[at].1),
        }
    }
}

/// The recorded messages of real packages: whole answers, and the documents of headers and bodies.
fn recordings() -> Vec<Response> {
    let directory = format!("{}/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for path in names {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".raw.txt") {
            let split = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
            let head = String::from_utf8(bytes[..split].to_vec()).unwrap();
            let mut lines = head.split("\r\n");
            let mut answer = response(lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap());
            for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
                answer = answer.with(name, value);
            }
            answer.body = bytes[split + 4..].to_vec();
            found.push(answer);
        } else if name.ends_with("payment-required.json") {
            found.push(json(402, "{}").with("PAYMENT-REQUIRED", envelope(&bytes)));
        } else if name.ends_with("payment-response.json") {
            found.push(json(200, r#"{"a":1}"#).with("PAYMENT-RESPONSE", envelope(&bytes)));
        } else if name.ends_with(".json") && bytes.len() < 200_000 {
            found.push(json(200, &bytes));
            found.push(json(402, &bytes));
        }
    }
    assert!(found.len() > 40);
    found
}

/// Bounded: each round is one request of each kind with one recorded answer, both mutated.
fn hostile(rounds: usize, seed: u64) {
    let engine = engine(ALL);
    let recordings = recordings();
    let mut dice = Dice(seed);
    let challenge = json(402, r#"{"chain":"solana","token":"USDC","amount":"0.02","address":"G"}"#)
        .with("WWW-Authenticate", r#"x402 chain="solana" token="USDC" amount="0.02" address="G""#);
    for round in 0..rounds {
        for kind in kinds() {
            let mut request = kind.request;
            let mut answer = match dice.roll(8) {
                0 => challenge.clone(),
                _ => recordings[dice.roll(recordings.len())].clone(),
            };
            for _ in 0..dice.roll(3) {
                dice.mutate_lines(&mut request.headers);
                dice.mutate_lines(&mut answer.headers);
            }
            if dice.roll(3) == 0 {
                dice.mutate(&mut request.target);
            }
            if dice.roll(2) == 0 {
                dice.mutate(&mut request.body);
                dice.mutate(&mut answer.body);
            }
            if dice.roll(4) == 0 {
                answer.status =
                    [100, 101, 200, 204, 206, 304, 400, 402, 403, 409, 422, 500, 599, 0, 65_535][dice.roll(15)];
            }
            drive(&engine, &request, &answer, &mut dice);
        }
        assert_eq!(engine.stats().internal_errors, 0, "round {round} of {seed}");
    }
}

/// As `serve`, but believes nothing and checks what the verdicts promise.
fn drive(engine: &Engine, request: &Request, answer: &Response, dice: &mut Dice) {
    let request_lines = request.lines();
    let head = request.head(&request_lines);
    let answer_lines = lines(&answer.headers);
    let mut response = ResponseHead {
        status: answer.status,
        headers: &answer_lines,
        head_first: dice.roll(4) == 0,
        body: if dice.roll(5) == 0 { Body::None } else { Body::Unread },
        ..ResponseHead::default()
    };
    let exchange = match engine.on_request(NOW, &head) {
        None => match engine.on_response_late(NOW, &head, &response) {
            None => return,
            Some((exchange, verdict)) => {
                sound(&verdict, &answer.headers);
                if verdict.action != Action::WantBody {
                    return;
                }
                exchange
            }
        },
        Some((mut exchange, mut verdict)) => {
            sound(&verdict, &request.headers);
            if verdict.action == Action::WantBody {
                verdict = exchange.on_request_body(NOW, &request.body);
                sound(&verdict, &request.headers);
            }
            if verdict.action == Action::Wait {
                sound(&exchange.wait(Duration::ZERO), &Lines::new());
            }
            if verdict.action != Action::Pass {
                return;
            }
            let verdict = exchange.on_response(NOW, &response);
            sound(&verdict, &answer.headers);
            if verdict.action != Action::WantBody {
                return;
            }
            exchange
        }
    };
    let mut exchange = exchange;
    response.body = Body::Whole(&answer.body);
    let verdict = exchange.on_response(NOW, &response);
    sound(&verdict, &answer.headers);
    assert_ne!(verdict.action, Action::WantBody, "asked twice");
    if let Some(new) = &verdict.body {
        let body = &new.clone().whole(&answer.body);
        assert_eq!(new.len(), body.len());
        assert!(body.len() >= answer.body.len(), "an answer only grows");
        let json_type = answer.header_is("content-type", "application/json");
        if json_type && serde_json::from_slice::<serde::de::IgnoredAny>(&answer.body).is_ok() {
            assert!(serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok(), "valid JSON stays valid");
        }
        if !response.head_first && answer.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            let length = verdict.edits.iter().find(|edit| edit.name == "Content-Length").expect("the length follows");
            assert_eq!(&length.value[..], body.len().to_string().as_bytes());
        }
    }
    exchange.end(NOW, delivered(answer.status));
}

/// No control character of ours stands in a header: one that does was in the merchant's own line of that name.
fn sound(verdict: &Verdict, before: &Lines) {
    let is_control = |value: &[u8]| value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'));
    for edit in &verdict.edits {
        let mut own = before.iter().filter(|(name, _)| name.eq_ignore_ascii_case(edit.name));
        assert!(!is_control(&edit.value) || own.any(|(_, value)| is_control(value)), "{edit:?}");
    }
    assert!(verdict.action != Action::WantBody || verdict.body_limit > 0);
}

impl Response {
    fn header_is(&self, name: &str, start: &str) -> bool {
        self.headers.iter().any(|(line, value)| line.eq_ignore_ascii_case(name) && value.starts_with(start.as_bytes()))
    }
}

#[test]
fn r10_hostile_bytes_through_the_whole_exchange_on_a_small_stack() {
    let threads: Vec<_> = [7, 11]
        .into_iter()
        .map(|seed| std::thread::Builder::new().stack_size(64 * 1024).spawn(move || hostile(400, seed)).unwrap())
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn r10_depth_costs_no_stack_in_any_phase() {
    let deep = |open: &str, close: &str| format!("{}{}{}", open.repeat(20_000), 1, close.repeat(20_000));
    let work = move || {
        let engine = engine(ALL);
        let bodies = [
            format!(r#"{{"a":{}}}"#, deep("[", "]")),
            format!(r#"{{"a":{}}}"#, deep("{\"a\":", "}")),
            format!(r#"{{"x402Version":1,"accepts":[{}]}}"#, deep("[", "]")),
            format!(r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1"}},"paths":{}}}"#, deep("{\"a\":", "}")),
            format!(
                r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1"}},"paths":{{"/a":{{"get":{{"responses":{{"402":{{}},"200":{{"content":{{"application/json":{{"schema":{}}}}}}}}}}}}}}}}}"#,
                deep("{\"allOf\":[", "]}")
            ),
            "[".repeat(100_000),
        ];
        for body in &bodies {
            let payment =
                envelope(format!(r#"{{"x402Version":2,"payload":{{}},"accepted":{{"x":{}}}}}"#, deep("[", "]")));
            for request in [
                get("/w").paying(),
                get("/w").with("PAYMENT-SIGNATURE", &payment[..payment.len().min(200_000)]),
                post("/w", format!(r#"{{"agent_context":{},"a":{body}}}"#, deep("[", "]"))).paying(),
                post("/feedback", body),
                get("/openapi.json"),
                get("/.well-known/x402"),
            ] {
                for status in [200, 402, 403] {
                    serve(
                        &engine,
                        &request,
                        json(status, body)
                            .with("PAYMENT-REQUIRED", envelope(body))
                            .with("PAYMENT-RESPONSE", envelope(body)),
                    );
                }
            }
        }
        assert_eq!(engine.stats().internal_errors, 0);
    };
    // Parts of parts of a schema are followed 16 deep, in frames that are several times larger without optimisation.
    let stack = if cfg!(debug_assertions) { 128 } else { 64 } * 1024;
    std::thread::Builder::new().stack_size(stack).spawn(work).unwrap().join().unwrap();
}

#[test]
fn odd_heads_are_no_reason_to_fail() {
    let engine = engine(ALL);
    let payment = v2_payment("0x1");
    for method in [&b""[..], b"\xff", b"GET ", &[b'M'; 100_000]] {
        for target in [
            &b""[..],
            b"?",
            b"?agent_type",
            b"?agent_type=",
            b"\xff?agent_type=x",
            b"/\0",
            &[b'/'; 100_000],
            b"/feedback?",
            b"*",
        ] {
            let headers: [HeaderLine; 4] =
                [(b"PAYMENT-SIGNATURE", &payment), (b"", b""), (b"Content-Length", b""), (b"\xff", b"\xff")];
            for headers in [&headers[..], &[]] {
                let head = RequestHead {
                    method,
                    target,
                    headers,
                    route: b"\xff\0",
                    client_ip: b"\xff",
                    ..RequestHead::default()
                };
                let response = ResponseHead { status: 402, route: b"\xff", ..ResponseHead::default() };
                if let Some((mut exchange, _)) = engine.on_request(NOW, &head) {
                    exchange.on_response(NOW, &response);
                } else {
                    engine.on_response_late(NOW, &head, &response);
                }
            }
        }
    }
    assert_eq!(engine.stats().internal_errors, 0);
}

#[test]
fn many_threads_share_one_engine() {
    let server = FaultBackend::start(Mode::Ok);
    let engine = reporting(&server.url(), &ALL[ALL.find(',').unwrap() + 1..]);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let engine = &engine;
            scope.spawn(move || {
                for round in 0..60 {
                    let ip = format!("198.51.100.{thread}");
                    let paid = serve(
                        engine,
                        &get("/w").paying().from(&ip),
                        json(200, "{}").with("PAYMENT-RESPONSE", receipt(true)),
                    );
                    assert!(paid.id.is_some() && paid.sent.text().contains(paid.id.as_deref().unwrap()));
                    serve(engine, &get("/w").from(&ip), v2_challenge());
                    serve(
                        engine,
                        &post("/w", format!(r#"{{"agent_context":{{}},"n":{round}}}"#)).paying(),
                        v1_challenge(),
                    );
                    serve(
                        engine,
                        &get("/openapi.json"),
                        json(200, r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{}}"#),
                    );
                }
            });
        }
    });
    assert!(engine.flush(LONG).is_ok());
    let stats = engine.stats();
    assert_eq!((stats.internal_errors, stats.queued), (0, 0));
    assert_eq!(stats.minted, 480);
}
