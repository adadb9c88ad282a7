//! open402: its payments are proofs of what was paid before, its challenge stands in a header that is never edited.

use super::head_edits::HeadEdits;
use super::{Exchange, RequestHead, ResponseHead};
use crate::dialect::open402::{self, service_hash};
use crate::dialect::{Dialect, open402::Challenge};
use crate::feedback::answer::{Answer, Caching};
use crate::feedback::wording::{self, Sentence};
use crate::http::{Line, find};
use crate::replay::Refusal;
use crate::skip::Skip;
use crate::state::Price;
use crate::sys::clock::Now;
use crate::verdict::Verdict;

/// The refusal of a replayed or too frequent proof; else its nonce is in use until the exchange ends.
pub(super) fn refuse(exchange: &mut Exchange, now: Now, request: &RequestHead<'_>) -> Option<Verdict> {
    let engine = exchange.engine.clone();
    let state = engine.shared.state();
    let proof = exchange.payment.as_ref()?.proof.as_ref()?;
    if let (Some(limit), Some(payer)) = (&state.rate_limit, &proof.payer_address) {
        let ip = std::str::from_utf8(request.client_ip).unwrap_or_default();
        if let Err(refusal) = limit.admit(now.unix_ms, payer, ip) {
            return Some(exchange.reply(answer_of(refusal)));
        }
    }
    match state.replay.as_ref()?.reserve(now.unix_ms, request.headers) {
        Ok(reservation) => {
            exchange.reservation = Some(Box::new(reservation));
            None
        }
        Err(refusal) => Some(exchange.reply(answer_of(refusal))),
    }
}

/// The challenge of a 402, if it speaks this dialect.
pub(super) fn challenge(response: &ResponseHead<'_>) -> Option<Challenge> {
    Challenge::find(response.headers).ok()
}

/// Takes note of a challenge: its price is what a later proof on this route has paid.
pub(super) fn challenged(exchange: &mut Exchange, found: &Challenge) {
    exchange.challenged.get_or_insert(Dialect::Open402);
    let price = Price { amount: found.amount.clone(), token: found.token.clone() };
    exchange.engine.shared.state().route_challenged(exchange.line.method(), exchange.line.path(), Some(price));
}

/// The JSON body of a challenge with the ask, only for a client that asked for the version which has such members.
pub(super) fn decorate(exchange: &Exchange, body: &[u8]) -> Result<Vec<u8>, Skip> {
    let shared = &exchange.engine.shared;
    if !exchange.extends_open402 {
        return Err(Skip::NotRecognised);
    }
    let link = exchange.link.clone().unwrap_or_else(|| shared.path_link.clone());
    let options = &shared.options;
    let extension = wording::challenge_extension(&link, options.tone, options.extension_schema);
    open402::decorate(body, &Sentence::Full.text(&link), &extension).map_err(|why| match why {
        open402::Decoration::NotAChallenge => Skip::NotRecognised,
        open402::Decoration::Occupied => Skip::AlreadyOurs,
    })
}

/// `X-Service-Hash` of the merchant's description, where the merchant gives one and no such header stands there.
pub(super) fn add_service_hash(exchange: &Exchange, head: &mut HeadEdits<'_>) {
    let Some(description) = exchange.engine.shared.options.service_description.as_deref() else { return };
    if find(head.headers(), SERVICE_HASH) != Line::Absent {
        return;
    }
    let mark = head.mark();
    head.set(SERVICE_HASH, service_hash(description).into_bytes());
    if !head.fits() {
        head.back_to(mark);
    }
}

fn answer_of(refusal: Refusal) -> Answer {
    let answer = Answer::json(refusal.status, refusal.body, Caching::NoStore);
    match refusal.retry_after_s {
        Some(seconds) => answer.retry_after(u32::try_from(seconds).unwrap_or(u32::MAX)),
        None => answer,
    }
}

const SERVICE_HASH: &str = "X-Service-Hash";
