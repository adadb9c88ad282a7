//! Runs one case through the engine the way a host does, and says what reached the wire.

use forge_x402::{Action, Body, EditOp, Engine, Exchange, Now, Outcome, RequestHead, ResponseHead, Verdict};

use super::case::{Case, Fill, Line, Op, Request, Response};

/// How the host shows a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The head first, the body when it is asked for.
    Asked,
    /// Both in the first call.
    AtOnce,
    /// The head leaves before the body is known.
    HeadFirst,
}

/// What a host sends.
pub struct Sent {
    pub head: Head,
    pub body: Vec<u8>,
    /// A new body came with the verdict.
    pub body_replaced: bool,
    /// The verdict on the head alone, where it asked for the body.
    pub first: Option<Verdict>,
    pub asked: bool,
    pub id: Option<String>,
    /// The engine was never shown the response.
    pub nothing: bool,
}

/// Lines that kept their place, and lines at the end in any order.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    pub kept: Vec<Line>,
    pub appended: Vec<Line>,
}

impl Head {
    pub fn lines(&self) -> Vec<Line> {
        self.kept.iter().chain(&self.appended).cloned().collect()
    }
}

/// An engine as the case wants it, with the exchanges before it behind it.
pub fn engine(case: &Case) -> Engine {
    opened(&case.name(), &case.options, &case.before)
}

pub fn opened(name: &str, options: &[u8], before: &[(Request, Response)]) -> Engine {
    let engine = Engine::open(options).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    for (request, response) in before {
        let fill = Fill::default();
        send(&engine, request, response.status, &response.head(&fill), &response.body(&fill), &fill, Host::Asked);
    }
    engine
}

pub fn fill(case: &Case, engine: &Engine) -> Fill {
    let own_id = case.has_own_id.then(|| engine.mint_id(Now::read()).as_str().to_owned());
    Fill { own_id, id: None }
}

pub fn whole(engine: &Engine, case: &Case, fill: &Fill, host: Host) -> Sent {
    let Response { status, .. } = case.response;
    send(engine, &case.request, status, &case.response.head(fill), &case.response.body(fill), fill, host)
}

/// One exchange, steps 2 to 6 of README.md.
pub fn send(
    engine: &Engine,
    request: &Request,
    status: u16,
    head: &[Line],
    body: &[u8],
    fill: &Fill,
    host: Host,
) -> Sent {
    let request_lines = request.head(fill);
    let request_head = borrowed(&request_lines);
    let request = RequestHead {
        method: request.method.as_bytes(),
        target: request.target.as_bytes(),
        headers: &request_head,
        ..RequestHead::default()
    };
    let response_head = borrowed(head);
    let mut response = ResponseHead {
        status,
        headers: &response_head,
        head_first: host == Host::HeadFirst,
        ..ResponseHead::default()
    };
    if host == Host::AtOnce {
        response.body = Body::Whole(body);
    }
    let answered: Option<(Exchange, Verdict)> = match engine.on_request(Now::read(), &request) {
        Some((mut exchange, verdict)) => {
            assert_eq!(verdict, Verdict::pass(), "requests of these cases come out as they went in");
            let verdict = exchange.on_response(Now::read(), &response);
            Some((exchange, verdict))
        }
        None if status == 402 => engine.on_response_late(Now::read(), &request, &response),
        None => None,
    };
    let Some((mut exchange, mut verdict)) = answered else {
        let kept = head.to_vec();
        let head = Head { kept, appended: Vec::new() };
        return Sent {
            head,
            body: body.to_vec(),
            body_replaced: false,
            first: None,
            asked: false,
            id: None,
            nothing: true,
        };
    };
    let asked = verdict.action == Action::WantBody;
    let mut first = None;
    if asked && body.len() <= verdict.body_limit {
        response.body = Body::Whole(body);
        let second = exchange.on_response(Now::read(), &response);
        assert_eq!(second.action, Action::Pass, "the body was shown, there is nothing more to ask for");
        first = Some(std::mem::replace(&mut verdict, second));
    } else if asked {
        first = Some(Verdict { action: Action::Pass, ..verdict.clone() });
    }
    let edits = match (&first, host) {
        // That head has left with the first verdict.
        (Some(first), Host::HeadFirst) if verdict.action == Action::Pass => &first.edits,
        _ => &verdict.edits,
    };
    let listed: Vec<(Op, String, Vec<u8>)> =
        edits.iter().map(|edit| (op(edit.op), edit.name.to_owned(), edit.value.to_vec())).collect();
    let head = apply(head, &listed);
    exchange.end(Now::read(), Some(Outcome::Delivered { status, body_bytes: body.len() as u64 }));
    Sent {
        head,
        body_replaced: verdict.body.is_some(),
        body: verdict.body.map_or_else(|| body.to_vec(), |new| new.whole(body)),
        first,
        asked,
        id: verdict.feedback_id.map(|id| id.as_str().to_owned()),
        nothing: false,
    }
}

pub fn listed(verdict: &Verdict) -> Vec<(Op, String, Vec<u8>)> {
    verdict.edits.iter().map(|edit| (op(edit.op), edit.name.to_owned(), edit.value.to_vec())).collect()
}

fn op(op: EditOp) -> Op {
    match op {
        EditOp::Set => Op::Set,
        EditOp::Add => Op::Add,
        EditOp::Remove => Op::Remove,
    }
}

/// Step 5 of README.md.
pub fn apply(head: &[Line], edits: &[(Op, String, Vec<u8>)]) -> Head {
    // Each line with whether it stood there before.
    let mut lines: Vec<(bool, Line)> = head.iter().map(|line| (true, line.clone())).collect();
    for (op, name, value) in edits {
        let named = |line: &Line| line.0.eq_ignore_ascii_case(name.as_bytes());
        let first = lines.iter().position(|(_, line)| named(line));
        match (op, first) {
            (Op::Set, Some(first)) => {
                lines[first].1.1.clone_from(value);
                let rest = lines.split_off(first + 1);
                lines.extend(rest.into_iter().filter(|(_, line)| !named(line)));
            }
            (Op::Set | Op::Add, _) => lines.push((false, (name.clone().into_bytes(), value.clone()))),
            (Op::Remove, _) => lines.retain(|(_, line)| !named(line)),
        }
    }
    let (kept, appended): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(before, _)| *before);
    let mut head = Head { kept: kept.into_iter().map(|(_, line)| line).collect(), appended: Vec::new() };
    head.appended = appended.into_iter().map(|(_, line)| line).collect();
    head.appended.sort();
    head
}

pub fn borrowed(lines: &[Line]) -> Vec<(&[u8], &[u8])> {
    lines.iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect()
}
