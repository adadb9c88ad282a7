//! The cases of requests.json: what becomes of a request on its way to the merchant, and what it is answered instead.

use std::time::Duration;

use forge_x402::{Action, Body, Engine, Now, Outcome, RequestHead, Verdict};

use super::case::{Fill, Line, RequestCase};
use super::run::{self, apply, borrowed, listed};

#[test]
fn every_case_of_requests() {
    let cases = RequestCase::load();
    assert!(cases.len() > 60);
    let faults: Vec<String> = cases.iter().flat_map(|case| [check(case, false), check(case, true)]).flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `None`: as expected. `at_once`: the body is shown with the head.
fn check(case: &RequestCase, at_once: bool) -> Option<String> {
    let engine = run::opened(&case.name, &case.options, &case.before);
    let fill = Fill { own_id: Some(engine.mint_id(Now::read()).as_str().to_owned()), id: None };
    let sent = send(&engine, case, &fill, at_once);
    let expected = Sent {
        verdict: case.verdict.clone(),
        want_body: case.want_body && !at_once,
        waits: case.waits,
        target: case.target.as_deref().unwrap_or(&case.request.target(&fill)).as_bytes().to_vec(),
        head: apply(&case.request.head(&fill), &case.edits(&fill)).lines(),
        body: case.body(&fill).unwrap_or_else(|| case.request.body(&fill)),
        answer: case.answer.as_ref().map(|answer| {
            let mut head = answer.head(&fill);
            head.sort();
            (answer.status, head, answer.body(&fill))
        }),
    };
    (sent != expected).then(|| format!("{} (at once: {at_once})\n  expected {expected:#?}\n  got {sent:#?}", case.name))
}

/// What a host hands on, or answers.
#[derive(PartialEq, Eq)]
struct Sent {
    verdict: String,
    want_body: bool,
    waits: bool,
    target: Vec<u8>,
    head: Vec<Line>,
    body: Vec<u8>,
    answer: Option<(u16, Vec<Line>, Vec<u8>)>,
}

fn send(engine: &Engine, case: &RequestCase, fill: &Fill, at_once: bool) -> Sent {
    let (lines, body, target) = (case.request.head(fill), case.request.body(fill), case.request.target(fill));
    let head = borrowed(&lines);
    let shown = match (at_once, body.is_empty()) {
        (false, _) => Body::Unread,
        (true, true) => Body::None,
        (true, false) => Body::Whole(&body),
    };
    let request = RequestHead {
        method: case.request.method.as_bytes(),
        target: target.as_bytes(),
        headers: &head,
        body: shown,
        ..RequestHead::default()
    };
    let mut sent = Sent {
        verdict: "nothing".into(),
        want_body: false,
        waits: false,
        target: target.clone().into_bytes(),
        head: lines.clone(),
        body: body.clone(),
        answer: None,
    };
    let Some((mut exchange, mut verdict)) = engine.on_request(Now::read(), &request) else { return sent };
    sent.want_body = verdict.action == Action::WantBody;
    if sent.want_body {
        verdict = exchange.on_request_body(Now::read(), &body[..body.len().min(verdict.body_limit + 1)]);
    }
    sent.waits = verdict.action == Action::Wait;
    if sent.waits {
        verdict = exchange.wait(Duration::from_secs(3));
    }
    let Verdict { action, http_status, edits: _, ref target, ref body, .. } = verdict;
    match action {
        Action::Pass => {
            sent.verdict = "pass".into();
            sent.target = target.clone().unwrap_or(sent.target);
            sent.head = apply(&lines, &listed(&verdict)).lines();
            sent.body = body.clone().map_or_else(|| sent.body.clone(), |new| new.whole(&sent.body));
        }
        Action::Reply => {
            sent.verdict = "reply".into();
            let mut head = apply(&[], &listed(&verdict)).lines();
            head.sort();
            sent.answer = Some((http_status, head, body.clone().map(|new| new.whole(b"")).unwrap_or_default()));
        }
        Action::WantBody | Action::Wait => sent.verdict = format!("{action:?} again"),
    }
    exchange.end(Now::read(), Some(Outcome::Delivered { status: http_status, body_bytes: 0 }));
    sent
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).into_owned();
        let lines =
            |head: &[Line]| head.iter().map(|(name, value)| [short(name), short(value)].join(": ")).collect::<Vec<_>>();
        writeln!(out, "{} want_body {} waits {} {}", self.verdict, self.want_body, self.waits, short(&self.target))?;
        writeln!(out, "    {:?} {}", lines(&self.head), short(&self.body))?;
        match &self.answer {
            Some((status, head, body)) => write!(out, "    answer {status} {:?} {}", lines(head), short(body)),
            None => Ok(()),
        }
    }
}
