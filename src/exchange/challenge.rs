//! A 402: the challenge gains the ask. Both halves may be there, a v2 header and a JSON body; each is handled by its own
//! version, nothing is converted, moved or created.

use super::answer::{self, Reading};
use super::diagnosis::{self, Known};
use super::head_edits::HeadEdits;
use super::kept::Kept;
use super::{Body, Exchange, ResponseHead, proof};
use crate::diagnostic::placement;
use crate::dialect::{self, Challenge, Dialect, Settlement, x402_v2};
use crate::feedback::challenge::Extra;
use crate::feedback::challenge_memo::{ChallengeMemo, Given};
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted};
use crate::http::{Line, envelope, find};
use crate::skip::Skip;
use crate::sys::clock::Now;
use crate::verdict::{Action, Edit, Verdict};

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
            state
                .remembered_challenge(exchange.line.method(), exchange.line.path())
                .map(|memo| (memo.is_of(value), memo))
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
    let mut head = HeadEdits::new(response.headers);
    if open402.is_some() {
        proof::add_service_hash(exchange, &mut head);
    }
    let mut extras = exchange.engine.shared.asked_extras();
    extras.extend(diagnosis::header_extra(exchange));
    let memo = match (&kept, remembered) {
        (None, Some((true, memo))) => {
            let holds = given(exchange, &head, &extras).is_some_and(|given| memo.holds_for(&given));
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
            let edit = decorated_header(exchange, &head, header, &extras);
            if let Ok(Some(edit)) = &edit
                && other.as_ref().map_or(exchange.challenges_often, |(_, memo)| memo.is_outdated())
            {
                remember(exchange, response, given(exchange, &head, &extras), edit);
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
    head.extend(edit);
    let told = exchange.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.json.is_some());
    let wants_reason = matches!(known, Known::InBody);
    let verdict = add_to_body(exchange, response, open402.is_some(), told || wants_reason, &mut head);
    if verdict.action == Action::WantBody && !response.head_first {
        let of_header = head.as_slice().iter().filter(|edit| edit.name == x402_v2::CHALLENGE_HEADER).cloned().collect();
        exchange.kept = Some(Box::new(Kept::new(response, of_header, extras)));
    }
    Verdict { edits: head.into_edits(), ..verdict }
}

/// What besides its value decides what this challenge gains; `None` where it is not to be remembered.
fn given(exchange: &Exchange, head: &HeadEdits<'_>, extras: &[Extra]) -> Option<Given> {
    exchange.link.clone().map(|link| Given { link, extras: extras.to_vec(), sizes: head.sizes() })
}

/// For the next challenge of this route.
fn remember(exchange: &Exchange, response: &ResponseHead<'_>, given: Option<Given>, edit: &Edit) {
    let (Line::One(value), Some(given)) = (find(response.headers, x402_v2::CHALLENGE_HEADER), given) else { return };
    if let Some(memo) = ChallengeMemo::new(value, given, &edit.value) {
        exchange.engine.shared.state().remember_challenge(exchange.line.method(), exchange.line.path(), memo);
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
    head: &HeadEdits<'_>,
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
    let fits = |bytes: usize| head.fits_value(value.len(), envelope::encoded_len(bytes));
    let made = shared.describe(&text, &challenge, exchange.link.as_ref(), extras, &fits)?;
    Ok(Some(Edit::set(x402_v2::CHALLENGE_HEADER, envelope::encode(&made))))
}

/// The body may be a challenge of its own, and is where a diagnostic goes. `diagnoses`: there is one, or the reason for one may stand there.
/// What the head gains is added to `head`; the verdict has no edits.
fn add_to_body(
    exchange: &mut Exchange,
    response: &ResponseHead<'_>,
    open402: bool,
    diagnoses: bool,
    head: &mut HeadEdits<'_>,
) -> Verdict {
    let shared = exchange.engine.shared.clone();
    let asks = shared.options.feedback || !shared.asked_extras().is_empty();
    let changes = diagnoses || (asks && (!open402 || exchange.extends_open402));
    // Where nothing changes, recognising the challenge is still worth an event.
    let watches = shared.reports() && exchange.challenged.is_none() && !exchange.is_head() && !response.head_first;
    if !changes && !watches {
        return Verdict::pass();
    }
    let wanted = Wanted::Json(&shared.options.json_types);
    let Gate::Open { length } = body_gate::judge(response.headers, wanted, BODY_LIMIT) else { return Verdict::pass() };
    if !diagnoses && length.is_some_and(|length| length < SHORTEST_CHALLENGE) {
        return Verdict::pass();
    }
    let not_stored = |head: &mut HeadEdits<'_>| head.set("Cache-Control", placement::CACHE_CONTROL.as_bytes());
    if exchange.is_head() {
        // The GET's body cannot be seen from here; a length that may be wrong is better left unsaid.
        if diagnoses {
            not_stored(head);
        }
        if diagnoses || !find(response.headers, x402_v2::CHALLENGE_HEADER).is_present() {
            answer::without_body(head);
        }
        return Verdict::pass();
    }
    let text = match answer::reading(response.body) {
        Reading::Ask => {
            if response.head_first {
                if diagnoses {
                    not_stored(head);
                }
                answer::without_body(head);
            }
            return Verdict { action: Action::WantBody, body_limit: BODY_LIMIT, ..Verdict::default() };
        }
        Reading::Nothing => return Verdict::pass(),
        Reading::Text(text) => text,
    };
    let decorated = if text.len() > BODY_LIMIT { Err(Skip::TooLarge) } else { decorated_body(exchange, open402, text) };
    let is_described = decorated.is_ok();
    let diagnostic = exchange.diagnosis.as_ref().and_then(|diagnosis| diagnosis.json.clone());
    let with_diagnostic = diagnostic.and_then(|json| {
        let base = decorated.as_deref().unwrap_or(text);
        placement::into_body(base, &json).ok()
    });
    let mark = head.mark();
    if with_diagnostic.is_some() {
        not_stored(head);
    }
    let made = match (with_diagnostic, decorated) {
        (Some(made), _) | (None, Ok(made)) => Ok(made),
        (None, Err(skip)) => Err(skip),
    };
    match made.and_then(|made| answer::with_body(head, response.head_first, length, text.len(), made.into())) {
        Ok(body) => {
            if is_described {
                described(exchange);
            }
            Verdict { body: Some(body), ..Verdict::default() }
        }
        Err(skip) => {
            head.back_to(mark);
            exchange.skip(skip);
            Verdict::pass()
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
    shared.describe(text, &challenge, exchange.link.as_ref(), &extras, &|_| true)
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
        exchange.challenges_often = state.route_challenged(exchange.line.method(), exchange.line.path(), None);
    }
}

fn described(exchange: &mut Exchange) {
    if !std::mem::replace(&mut exchange.described, true) {
        exchange.engine.shared.state().count_described();
    }
}

/// `{"x402Version":1,"accepts":[{}]}`: a body with a shorter stated length holds no challenge.
const SHORTEST_CHALLENGE: usize = 32;
