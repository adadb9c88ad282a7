//! The response phase: which of its two halves a response belongs to, and what every edit of a response has in common.

use super::{Body, Exchange, Phase, Purpose, ResponseHead, challenge, diagnosis, documents, paid};
use crate::diagnostic::placement;
use crate::dialect::Settlement;
use crate::feedback::ladder;
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted};
use crate::http::head::{self, HeaderLine};
use crate::http::{Line, find};
use crate::sys::clock::Now;
use crate::verdict::{Action, Edit, EditOp, Skip, Verdict};

/// Judges a head, or the same head again with its body.
pub(super) fn judge(exchange: &mut Exchange, now: Now, response: &ResponseHead<'_>) -> Verdict {
    let again = match exchange.phase {
        // A request whose body was asked for and could not be held goes on without.
        Phase::Response | Phase::RequestBody => false,
        Phase::ResponseBody => true,
        Phase::RatingBody | Phase::Waiting | Phase::Done => {
            exchange.skip(Skip::OutOfOrder);
            return Verdict::pass();
        }
    };
    if (100..200).contains(&response.status) && response.status != 101 {
        // Interim answers are the host's to forward; the final one is still to come.
        return Verdict::pass();
    }
    exchange.status = response.status;
    exchange.answered.get_or_insert(now);
    if !response.route.is_empty() {
        exchange.route = response.route[..response.route.len().min(ROUTE)].to_vec();
    }
    let kept = exchange.kept.take().filter(|kept| kept.is_of(response));
    if kept.is_none() && (exchange.payment.is_some() || response.status == 402) {
        (exchange.settlement, exchange.receipt) = paid::settlement(response);
    }
    // Anybody can send a payment along; only a receipt makes a paid answer of a document that all may read.
    let is_document = matches!(exchange.purpose, Purpose::OpenApi | Purpose::X402Document)
        && exchange.settlement != Some(Settlement::Succeeded);
    let mut verdict = match response.status {
        402 => challenge::judge(exchange, now, response, kept),
        200 if is_document => documents::judge(exchange, response),
        200..300 if exchange.payment.is_some() => paid::judge(exchange, now, response, kept),
        400 | 403 | 409 | 422 => refused(exchange, now, response),
        _ => Verdict::pass(),
    };
    if again && response.head_first {
        // The head has left with the first verdict.
        verdict.edits.clear();
    }
    exchange.phase = if verdict.action == Action::WantBody { Phase::ResponseBody } else { Phase::Done };
    verdict
}

/// A 4xx that is no challenge: where it refuses a payment, its body may say why in terms an agent can act on.
fn refused(exchange: &mut Exchange, now: Now, response: &ResponseHead<'_>) -> Verdict {
    let shared = exchange.engine.shared.clone();
    if shared.options.diagnostics.is_none()
        || (exchange.payment.is_none() && !exchange.undecodable)
        || exchange.is_head()
    {
        return Verdict::pass();
    }
    let wanted = Wanted::Json(&shared.options.json_types);
    let Gate::Open { length } = body_gate::judge(response.headers, wanted, BODY_LIMIT) else { return Verdict::pass() };
    let text = match reading(response.body) {
        Reading::Ask => {
            let mut edits = Vec::new();
            if response.head_first {
                edits.push(Edit::set("Cache-Control", placement::CACHE_CONTROL.as_bytes()));
                edits.extend(bodiless_edits(response));
            }
            return Verdict { action: Action::WantBody, body_limit: BODY_LIMIT, edits, ..Verdict::default() };
        }
        Reading::Nothing => return Verdict::pass(),
        Reading::Text(text) => text,
    };
    diagnosis::diagnose(exchange, now, response, Some(text));
    let mut verdict = Verdict::pass();
    if let Some(json) = exchange.diagnosis.as_ref().and_then(|diagnosis| diagnosis.json.clone()) {
        let made = placement::into_body(text, &json).map_err(|_| Skip::NotJson);
        let edit = Edit::set("Cache-Control", placement::CACHE_CONTROL.as_bytes());
        match made.and_then(|made| with_body_edits(response, std::slice::from_ref(&edit), length, text.len(), made)) {
            Ok((body, edits)) => {
                verdict = Verdict { edits: [vec![edit], edits].concat(), body: Some(body), ..Verdict::default() }
            }
            Err(skip) => exchange.skip(skip),
        }
    }
    verdict
}

/// An edited body with the header edits it needs: validators and ranges of the old bytes go, the stated length is set
/// if it was right. `so_far` are the edits the head gets anyway, so that the whole head is weighed once.
pub(super) fn with_body_edits(
    response: &ResponseHead<'_>,
    so_far: &[Edit],
    stated: Option<usize>,
    old: usize,
    made: Vec<u8>,
) -> Result<(Vec<u8>, Vec<Edit>), Skip> {
    let mut edits = validators_go(response.headers);
    edits.push(Edit::set("Accept-Ranges", &b"none"[..]));
    match stated {
        Some(length) if length == old => edits.push(Edit::set("Content-Length", made.len().to_string().into_bytes())),
        Some(_) => return Err(Skip::Ambiguous),
        None => {}
    }
    let all: Vec<Edit> = so_far.iter().chain(&edits).cloned().collect();
    if response.head_first || head_fits(response.headers, &all) { Ok((made, edits)) } else { Err(Skip::NoRoom) }
}

/// The header edits for a head that goes without its edited body: it leaves first, or it answers a HEAD.
pub(super) fn bodiless_edits(response: &ResponseHead<'_>) -> Vec<Edit> {
    let mut edits = validators_go(response.headers);
    edits.push(Edit::set("Accept-Ranges", &b"none"[..]));
    remove_present(response.headers, "Content-Length", &mut edits);
    edits
}

pub(super) fn remove_present(headers: &[HeaderLine<'_>], name: &'static str, edits: &mut Vec<Edit>) {
    if find(headers, name) != Line::Absent {
        edits.push(Edit::remove(name));
    }
}

/// Whether the whole head may become what `edits` make of it.
pub(super) fn head_fits(headers: &[HeaderLine<'_>], edits: &[Edit]) -> bool {
    ladder::may_grow(&ladder::HEAD, head::size(headers), size_after(headers, edits))
}

/// Bytes of the head with `edits` applied.
pub(super) fn size_after(headers: &[HeaderLine<'_>], edits: &[Edit]) -> usize {
    let mut size = head::size(headers);
    for edit in edits {
        let lines = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(edit.name.as_bytes()));
        if edit.op != EditOp::Add {
            size -= lines.map(|(name, value)| head::line_size(name, value)).sum::<usize>();
        }
        if edit.op != EditOp::Remove {
            size += head::line_size(edit.name.as_bytes(), &edit.value);
        }
    }
    size
}

fn validators_go(headers: &[HeaderLine<'_>]) -> Vec<Edit> {
    let mut edits = Vec::with_capacity(4);
    remove_present(headers, "ETag", &mut edits);
    remove_present(headers, "Last-Modified", &mut edits);
    edits
}

/// What a body in hand, or its absence, means for an edit.
pub(super) enum Reading<'a> {
    /// Ask for it.
    Ask,
    /// There is none to edit.
    Nothing,
    Text(&'a [u8]),
}

pub(super) fn reading<'a>(body: Body<'a>) -> Reading<'a> {
    match body {
        Body::Unread => Reading::Ask,
        Body::None | Body::Whole(b"") => Reading::Nothing,
        Body::Whole(text) => Reading::Text(text),
    }
}

/// Most bytes kept of a route pattern.
const ROUTE: usize = 2_048;
