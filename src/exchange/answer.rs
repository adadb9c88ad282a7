//! The response phase: which of its two halves a response belongs to, and what every edit of a response has in common.

use super::head_edits::HeadEdits;
use super::{Body, Exchange, Phase, Purpose, ResponseHead, challenge, diagnosis, documents, paid};
use crate::diagnostic::placement;
use crate::dialect::Settlement;
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted};
use crate::skip::Skip;
use crate::sys::clock::Now;
use crate::verdict::{Action, NewBody, Verdict};

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
        exchange.line.set_route(response.route);
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
    let mut head = HeadEdits::new(response.headers);
    let text = match reading(response.body) {
        Reading::Ask => {
            if response.head_first {
                head.set("Cache-Control", placement::CACHE_CONTROL.as_bytes());
                without_body(&mut head);
            }
            let edits = head.into_edits();
            return Verdict { action: Action::WantBody, body_limit: BODY_LIMIT, edits, ..Verdict::default() };
        }
        Reading::Nothing => return Verdict::pass(),
        Reading::Text(text) => text,
    };
    diagnosis::diagnose(exchange, now, response, Some(text));
    let mut verdict = Verdict::pass();
    if let Some(json) = exchange.diagnosis.as_ref().and_then(|diagnosis| diagnosis.json.clone()) {
        let made = placement::into_body(text, &json).map_err(|_| Skip::NotJson);
        head.set("Cache-Control", placement::CACHE_CONTROL.as_bytes());
        match made.and_then(|made| with_body(&mut head, response.head_first, length, text.len(), made.into())) {
            Ok(body) => verdict = Verdict { edits: head.into_edits(), body: Some(body), ..Verdict::default() },
            Err(skip) => exchange.skip(skip),
        }
    }
    verdict
}

/// Gives the head what the edited body `made` needs, and returns it: validators and ranges of the old bytes go, the stated
/// length is set if it was right.
///
/// # Errors
/// The head stays as it was: the length was wrong, or there is no room.
pub(super) fn with_body(
    head: &mut HeadEdits<'_>,
    head_first: bool,
    stated: Option<usize>,
    old: usize,
    made: NewBody,
) -> Result<NewBody, Skip> {
    if stated.is_some_and(|length| length != old) {
        return Err(Skip::Ambiguous);
    }
    let mark = head.mark();
    validators_go(head);
    if stated.is_some() {
        head.set("Content-Length", made.len().to_string().into_bytes());
    }
    if !head_first && !head.fits() {
        head.back_to(mark);
        return Err(Skip::NoRoom);
    }
    Ok(made)
}

/// The header edits for a head that goes without its edited body: it leaves first, or it answers a HEAD.
pub(super) fn without_body(head: &mut HeadEdits<'_>) {
    validators_go(head);
    head.remove("Content-Length");
}

fn validators_go(head: &mut HeadEdits<'_>) {
    head.remove("ETag");
    head.remove("Last-Modified");
    head.set("Accept-Ranges", &b"none"[..]);
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
