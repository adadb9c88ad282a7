//! A 402: the challenge gains the ask. Both halves may be there, a v2 header and a JSON body; each is handled by its own
//! version, nothing is converted, moved or created.

use super::answer::{self, Reading};
use super::diagnosis::{self, Known};
use super::kept::Kept;
use super::{Body, Exchange, ResponseHead, proof};
use crate::diagnostic::placement;
use crate::dialect::{self, Challenge, Dialect, Settlement, x402_v2};
use crate::feedback::challenge::Extra;
use crate::feedback::challenge_memo::{ChallengeMemo, Given};
use crate::feedback::ladder;
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted};
use crate::http::head;
use crate::http::{Line, envelope, find};
use crate::sys::clock::Now;
use crate::verdict::{Action, Edit, Skip, Verdict};

pub(super) fn judge(
    exchange: &mut Exchange,
    now: Now,
    response: &ResponseHead<'_>,
    kept: Option<Box<Kept>>,
) -> Verdict {
    let open402 = proof::challenge(response);
    if let Some(found) = &open402 {
        proof::challenged(exchange, found);
    }
    let body = match response.body {
        Body::Whole(text) => Some(text),
        // No body will come: what the head does not say stays unknown.
        Body::None => Some(&b""[..]),
        Body::Unread if exchange.is_head() => Some(&b""[..]),
        Body::Unread => None,
    };
    let remembered = match find(response.headers, x402_v2::CHALLENGE_HEADER) {
        Line::One(value) if kept.is_none() && exchange.link.is_some() => {
            let state = exchange.engine.shared.state();
            state.remembered_challenge(&exchange.method, &exchange.path).map(|memo| (memo.is_of(value), memo))
        }
        _ => None,
    };
    let mut header = HeaderChallenge::Unread;
    if matches!(remembered, Some((true, _))) {
        recognised(exchange, Dialect::X402V2);
    }
    if exchange.engine.shared.options.diagnostics.is_some() && exchange.challenged.is_none() {
        // An escalation says in which dialect, so this comes first.
        header = HeaderChallenge::read(response);
        recognise(exchange, &header, body);
    }
    let known = diagnosis::diagnose(exchange, now, response, body);
    let mut verdict = Verdict::pass();
    if open402.is_some() {
        verdict.edits.extend(proof::service_hash_edit(exchange, response, &[]));
    }
    let mut extras = exchange.engine.shared.asked_extras();
    extras.extend(diagnosis::header_extra(exchange));
    let memo = match (&kept, remembered) {
        (None, Some((true, memo))) => {
            let holds = given(exchange, response, &verdict.edits, &extras).is_some_and(|given| memo.holds_for(&given));
            Some((holds, memo))
        }
        (_, other) => other.map(|(_, memo)| (false, memo)),
    };
    let edit = match (kept.filter(|kept| kept.extras == extras), &memo) {
        (Some(kept), _) => kept.edits.into_iter().next(),
        (None, Some((true, memo))) => Some(Edit::set(x402_v2::CHALLENGE_HEADER, memo.edited.clone())),
        (None, other) => {
            if matches!(header, HeaderChallenge::Unread) {
                header = HeaderChallenge::read(response);
            }
            let edit = decorated_header(exchange, response, &verdict.edits, header, &extras);
            if let Ok(Some(edit)) = &edit
                && other.as_ref().map_or(exchange.challenges_often, |(_, memo)| memo.is_outdated())
            {
                remember(exchange, response, given(exchange, response, &verdict.edits, &extras), edit);
            }
            edit.unwrap_or_else(|skip| {
                exchange.skip(skip);
                None
            })
        }
    };
    if edit.is_some() {
        described(exchange);
    }
    verdict.edits.extend(edit);
    let told = exchange.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.json.is_some());
    let wants_reason = matches!(known, Known::InBody);
    add_to_body(exchange, response, open402.is_some(), told || wants_reason, &mut verdict);
    if verdict.action == Action::WantBody && !response.head_first {
        let of_header = verdict.edits.iter().filter(|edit| edit.name == x402_v2::CHALLENGE_HEADER).cloned().collect();
        exchange.kept = Some(Box::new(Kept::new(response, of_header, extras)));
    }
    verdict
}

/// What besides its value decides what this challenge gains; `None` where it is not to be remembered.
fn given(exchange: &Exchange, response: &ResponseHead<'_>, so_far: &[Edit], extras: &[Extra]) -> Option<Given> {
    let sizes = (head::size(response.headers), answer::size_after(response.headers, so_far));
    exchange.link.clone().map(|link| Given { link, extras: extras.to_vec(), sizes })
}

/// For the next challenge of this route.
fn remember(exchange: &Exchange, response: &ResponseHead<'_>, given: Option<Given>, edit: &Edit) {
    let (Line::One(value), Some(given)) = (find(response.headers, x402_v2::CHALLENGE_HEADER), given) else { return };
    if let Some(memo) = ChallengeMemo::new(value, given, &edit.value) {
        exchange.engine.shared.state().remember_challenge(&exchange.method, &exchange.path, memo);
    }
}

/// What stands in the header of a v2 challenge, read once.
#[expect(clippy::large_enum_variant, reason = "one lives on the stack of one call")]
enum HeaderChallenge<'a> {
    Unread,
    Absent,
    /// It is no challenge of ours.
    Foreign(Skip),
    Found {
        value: &'a [u8],
        text: Vec<u8>,
        challenge: x402_v2::Challenge,
    },
}

impl<'a> HeaderChallenge<'a> {
    fn read(response: &ResponseHead<'a>) -> Self {
        let value = match find(response.headers, x402_v2::CHALLENGE_HEADER) {
            Line::Absent => return HeaderChallenge::Absent,
            Line::Many(_) => return HeaderChallenge::Foreign(Skip::Ambiguous),
            Line::One(value) => value,
        };
        let Some(text) = envelope::decode(value) else { return HeaderChallenge::Foreign(Skip::NotBase64) };
        match x402_v2::challenge(&text) {
            Ok(challenge) => HeaderChallenge::Found { value, text, challenge },
            Err(skip) => HeaderChallenge::Foreign(skip),
        }
    }
}

/// The edit of a v2 challenge's header; `None` where there is none.
fn decorated_header(
    exchange: &mut Exchange,
    response: &ResponseHead<'_>,
    so_far: &[Edit],
    header: HeaderChallenge<'_>,
    extras: &[Extra],
) -> Result<Option<Edit>, Skip> {
    let (value, text, challenge) = match header {
        HeaderChallenge::Unread | HeaderChallenge::Absent => return Ok(None),
        HeaderChallenge::Foreign(skip) => return Err(skip),
        HeaderChallenge::Found { value, text, challenge } => (value, text, Challenge::V2(challenge)),
    };
    // Recognising it is worth an event even where nothing is added.
    recognised(exchange, Dialect::X402V2);
    let shared = exchange.engine.shared.clone();
    if !shared.options.feedback && extras.is_empty() {
        return Err(Skip::NotRecognised);
    }
    let (before, with_edits) = (head::size(response.headers), answer::size_after(response.headers, so_far));
    let fits = |bytes: usize| {
        let length = envelope::encoded_len(bytes);
        ladder::may_grow(&ladder::VALUE, value.len(), length)
            && ladder::may_grow(&ladder::HEAD, before, with_edits - value.len() + length)
    };
    let made = shared.describe(&text, &challenge, exchange.link.as_ref(), extras, fits)?;
    Ok(Some(Edit::set(x402_v2::CHALLENGE_HEADER, envelope::encode(&made))))
}

/// The body may be a challenge of its own, and is where a diagnostic goes. `diagnoses`: there is one, or the reason for one may stand there.
fn add_to_body(
    exchange: &mut Exchange,
    response: &ResponseHead<'_>,
    open402: bool,
    diagnoses: bool,
    verdict: &mut Verdict,
) {
    let shared = exchange.engine.shared.clone();
    let asks = shared.options.feedback || !shared.asked_extras().is_empty();
    let changes = diagnoses || (asks && (!open402 || exchange.extends_open402));
    // Where nothing changes, recognising the challenge is still worth an event.
    let watches = shared.reports() && exchange.challenged.is_none() && !exchange.is_head() && !response.head_first;
    if !changes && !watches {
        return;
    }
    let wanted = Wanted::Json(&shared.options.json_types);
    let Gate::Open { length } = body_gate::judge(response.headers, wanted, BODY_LIMIT) else { return };
    if !diagnoses && length.is_some_and(|length| length < SHORTEST_CHALLENGE) {
        return;
    }
    if exchange.is_head() {
        // The GET's body cannot be seen from here; a length that may be wrong is better left unsaid.
        if diagnoses {
            verdict.edits.push(Edit::set("Cache-Control", placement::CACHE_CONTROL.as_bytes()));
        }
        if diagnoses || !find(response.headers, x402_v2::CHALLENGE_HEADER).is_present() {
            verdict.edits.extend(answer::bodiless_edits(response));
        }
        return;
    }
    let text = match answer::reading(response.body) {
        Reading::Ask => {
            verdict.action = Action::WantBody;
            verdict.body_limit = BODY_LIMIT;
            if response.head_first {
                if diagnoses {
                    verdict.edits.push(Edit::set("Cache-Control", placement::CACHE_CONTROL.as_bytes()));
                }
                verdict.edits.extend(answer::bodiless_edits(response));
            }
            return;
        }
        Reading::Nothing => return,
        Reading::Text(text) => text,
    };
    let decorated = if text.len() > BODY_LIMIT { Err(Skip::TooLarge) } else { decorated_body(exchange, open402, text) };
    let is_described = decorated.is_ok();
    let diagnostic = exchange.diagnosis.as_ref().and_then(|diagnosis| diagnosis.json.clone());
    let with_diagnostic = diagnostic.and_then(|json| {
        let base = decorated.as_deref().unwrap_or(text);
        placement::into_body(base, &json).ok()
    });
    let no_store = with_diagnostic.is_some().then(|| Edit::set("Cache-Control", placement::CACHE_CONTROL.as_bytes()));
    let made = match (with_diagnostic, decorated) {
        (Some(made), _) | (None, Ok(made)) => Ok(made),
        (None, Err(skip)) => Err(skip),
    };
    verdict.edits.extend(no_store.clone());
    match made.and_then(|made| answer::with_body_edits(response, &verdict.edits, length, text.len(), made)) {
        Ok((body, edits)) => {
            verdict.edits.extend(edits);
            verdict.body = Some(body);
            if is_described {
                described(exchange);
            }
        }
        Err(skip) => {
            if no_store.is_some() {
                verdict.edits.pop();
            }
            exchange.skip(skip);
        }
    }
}

fn decorated_body(exchange: &mut Exchange, open402: bool, text: &[u8]) -> Result<Vec<u8>, Skip> {
    let shared = exchange.engine.shared.clone();
    // A failed settlement is no invitation to rate, whatever its body looks like.
    let invites = exchange.settlement != Some(Settlement::Failed);
    let feedback = shared.options.feedback;
    if open402 {
        return if invites && feedback { proof::decorate(exchange, text) } else { Err(Skip::NotSettled) };
    }
    let challenge = dialect::challenge(text)?;
    recognised(exchange, dialect_of(&challenge));
    if !invites {
        return Err(Skip::NotSettled);
    }
    let extras = shared.asked_extras();
    let takes = feedback || (matches!(challenge, Challenge::V2(_)) && !extras.is_empty());
    if !takes {
        return Err(Skip::NotRecognised);
    }
    shared.describe(text, &challenge, exchange.link.as_ref(), &extras, |_| true)
}

/// The dialect of the challenge, from what is in hand.
fn recognise(exchange: &mut Exchange, header: &HeaderChallenge<'_>, body: Option<&[u8]>) {
    if matches!(header, HeaderChallenge::Found { .. }) {
        recognised(exchange, Dialect::X402V2);
    } else if let Some(Ok(found)) = body.map(dialect::challenge) {
        recognised(exchange, dialect_of(&found));
    }
}

fn dialect_of(challenge: &Challenge) -> Dialect {
    match challenge {
        Challenge::V1(_) => Dialect::X402V1,
        Challenge::V2(_) => Dialect::X402V2,
    }
}

fn recognised(exchange: &mut Exchange, dialect: Dialect) {
    if exchange.challenged.replace(exchange.challenged.unwrap_or(dialect)).is_none() {
        let state = exchange.engine.shared.state();
        exchange.challenges_often = state.route_challenged(&exchange.method, &exchange.path, None);
    }
}

fn described(exchange: &mut Exchange) {
    if !std::mem::replace(&mut exchange.described, true) {
        exchange.engine.shared.state().count_described();
    }
}

/// `{"x402Version":1,"accepts":[{}]}`: a body with a shorter stated length holds no challenge.
const SHORTEST_CHALLENGE: usize = 32;
