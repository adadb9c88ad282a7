//! A 402: the challenge gains the ask. Both halves may be there, a v2 header and a JSON body; each is handled by its own
//! version, nothing is converted, moved or created.

use super::answer::{self, Reading};
use super::{Exchange, ResponseHead};
use crate::dialect::{self, Challenge, Settlement, x402_v2};
use crate::feedback::ladder;
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted};
use crate::http::head;
use crate::http::{Line, envelope, find};
use crate::verdict::{Action, Edit, Skip, Verdict};

pub(super) fn judge(exchange: &mut Exchange, response: &ResponseHead<'_>) -> Verdict {
    exchange.settlement = super::paid::settlement(response);
    let mut verdict = Verdict::pass();
    let header = match find(response.headers, x402_v2::CHALLENGE_HEADER) {
        Line::Absent => None,
        Line::Many(_) => Some(Err(Skip::Ambiguous)),
        Line::One(value) => Some(decorated_header(exchange, response, value)),
    };
    match header {
        None => {}
        Some(Ok(edit)) => {
            verdict.edits.push(edit);
            described(exchange);
        }
        Some(Err(skip)) => exchange.skip(skip),
    }
    // A failed settlement is no invitation to rate, whatever its body looks like.
    if exchange.settlement != Some(Settlement::Failed) {
        body(exchange, response, &mut verdict);
    }
    verdict
}

fn decorated_header(exchange: &mut Exchange, response: &ResponseHead<'_>, value: &[u8]) -> Result<Edit, Skip> {
    let text = envelope::decode(value).ok_or(Skip::NotBase64)?;
    let shared = exchange.engine.shared.clone();
    let before = head::size(response.headers);
    let fits = |bytes: usize| {
        let length = envelope::encoded_len(bytes);
        ladder::may_grow(&ladder::VALUE, value.len(), length)
            && ladder::may_grow(&ladder::HEAD, before, before - value.len() + length)
    };
    let challenge = Challenge::V2(x402_v2::challenge(&text)?);
    // Recognising it is worth an event even where nothing is added.
    exchange.challenged = true;
    if !shared.options.feedback {
        return Err(Skip::NotRecognised);
    }
    let made = shared.describe(&text, &challenge, exchange.link.as_ref(), fits)?;
    Ok(Edit::set(x402_v2::CHALLENGE_HEADER, envelope::encode(&made)))
}

fn body(exchange: &mut Exchange, response: &ResponseHead<'_>, verdict: &mut Verdict) {
    let shared = exchange.engine.shared.clone();
    if !shared.options.feedback {
        return;
    }
    let length = match body_gate::judge(response.headers, Wanted::Json(&shared.options.json_types)) {
        Gate::Open { length } => length,
        Gate::Closed(_) => return,
    };
    if length.is_some_and(|length| length < SHORTEST_CHALLENGE) {
        return;
    }
    if exchange.is_head() {
        // The GET's body cannot be seen from here; a length that may be wrong is better left unsaid.
        if !find(response.headers, x402_v2::CHALLENGE_HEADER).is_present() {
            verdict.edits.extend(answer::bodiless_edits(response));
        }
        return;
    }
    let text = match answer::reading(response.body) {
        Reading::Ask => {
            verdict.action = Action::WantBody;
            verdict.body_limit = BODY_LIMIT;
            if response.head_first {
                verdict.edits.extend(answer::bodiless_edits(response));
            }
            return;
        }
        Reading::Nothing => return,
        Reading::Text(text) => text,
    };
    let made =
        if text.len() > BODY_LIMIT { Err(Skip::TooLarge) } else { edited(exchange, response, length, text, verdict) };
    match made {
        Ok((body, edits)) => {
            verdict.edits.extend(edits);
            verdict.body = Some(body);
            described(exchange);
        }
        Err(skip) => exchange.skip(skip),
    }
}

fn edited(
    exchange: &mut Exchange,
    response: &ResponseHead<'_>,
    length: Option<usize>,
    text: &[u8],
    verdict: &Verdict,
) -> Result<(Vec<u8>, Vec<Edit>), Skip> {
    let challenge = dialect::challenge(text)?;
    exchange.challenged = true;
    let made = exchange.engine.shared.describe(text, &challenge, exchange.link.as_ref(), |_| true)?;
    answer::with_body_edits(response, &verdict.edits, length, text.len(), made)
}

fn described(exchange: &mut Exchange) {
    if !std::mem::replace(&mut exchange.described, true) {
        exchange.engine.shared.count_described();
    }
}

/// `{"x402Version":1,"accepts":[{}]}`: a body with a shorter stated length holds no challenge.
const SHORTEST_CHALLENGE: usize = 32;
