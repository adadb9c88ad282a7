//! A paid 2xx: the answer gains an id, in a header, the receipt and the body, one and the same in all three.

use super::answer::{self, Reading};
use super::head_edits::HeadEdits;
use super::kept::Kept;
use super::{Exchange, Phase, ResponseHead, diagnosis, proof};
use crate::dialect::{Dialect, Found, Settlement, x402_v1, x402_v2};
use crate::feedback::body::{self, Standing};
use crate::feedback::wording::ID_HEADER;
use crate::feedback::{FeedbackId, Link, receipt};
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted};
use crate::http::head;
use crate::http::{Line, caching, envelope, find};
use crate::json::scan::{self, Slot};
use crate::skip::Skip;
use crate::sys::clock::Now;
use crate::verdict::{Action, Edit, NewBody, Verdict};

pub(super) fn judge(
    exchange: &mut Exchange,
    now: Now,
    response: &ResponseHead<'_>,
    kept: Option<Box<Kept>>,
) -> Verdict {
    let is_open402 = exchange.payment.as_ref().is_some_and(|payment| payment.dialect == Dialect::Open402);
    if exchange.settlement != Some(Settlement::Failed) {
        diagnosis::settled(exchange, now);
        if exchange.phase != Phase::ResponseBody {
            proof_settled(exchange, now);
        }
    }
    let mut head = HeadEdits::new(response.headers);
    let verdict = edited(exchange, now, response, kept, &mut head).unwrap_or_else(|skip| {
        exchange.skip(skip);
        Verdict::pass()
    });
    if is_open402 {
        proof::add_service_hash(exchange, &mut head);
    }
    Verdict { edits: head.into_edits(), ..verdict }
}

/// An open402 payer whose payment bought an answer counts under its own name from now on.
fn proof_settled(exchange: &Exchange, now: Now) {
    let proof = exchange.payment.as_ref().and_then(|payment| payment.proof.as_ref());
    let payer = proof.and_then(|proof| proof.payer_address.as_deref());
    if let (Some(limit), Some(payer)) = (&exchange.engine.shared.state().rate_limit, payer) {
        limit.settled(now.unix_ms, payer);
    }
}

/// A receipt header, read once for all that is made of it.
#[derive(Debug)]
pub(super) struct Told {
    /// The decoded value.
    pub text: Vec<u8>,
    pub receipt: x402_v2::Receipt,
}

impl Told {
    fn read(value: &[u8]) -> Option<Told> {
        let text = envelope::decode(value)?;
        let receipt = x402_v2::receipt(&text).ok()?;
        Some(Told { text, receipt })
    }

    /// Its `errorReason`, where it is text.
    pub fn error_reason(&self) -> Option<String> {
        let Slot::One(range) = self.receipt.error_reason() else { return None };
        String::from_utf8(scan::text_of(&self.text, range)?.into_owned()).ok()
    }
}

/// What the receipt headers of a response say: a failure on any line counts, a success must be alone.
/// With the receipt that said so.
pub(super) fn settlement(response: &ResponseHead<'_>) -> (Option<Settlement>, Option<Box<Told>>) {
    let mut lines = RECEIPT_HEADERS.iter().flat_map(|name| head::all(response.headers, name)).map(|value| {
        let told = Told::read(value)?;
        Some((told.receipt.settlement?, told))
    });
    let Some(first) = lines.next() else { return (None, None) };
    let mut said = first;
    for other in lines {
        let failed = |line: &Option<(Settlement, Told)>| matches!(line, Some((Settlement::Failed, _)));
        if !failed(&said) {
            said = other.filter(|(settlement, _)| *settlement == Settlement::Failed);
        }
    }
    match said {
        Some((settlement, told)) => (Some(settlement), Some(Box::new(told))),
        None => (None, None),
    }
}

pub(super) const RECEIPT_HEADERS: [&str; 2] = [x402_v2::RECEIPT_HEADER, x402_v1::RECEIPT_HEADER];

/// The verdict but for the edits, which are in `head`; in there is nothing after an error.
fn edited(
    exchange: &mut Exchange,
    now: Now,
    response: &ResponseHead<'_>,
    kept: Option<Box<Kept>>,
    head: &mut HeadEdits<'_>,
) -> Found<Verdict> {
    if !exchange.engine.shared.options.feedback {
        return Ok(Verdict::pass());
    }
    if find(response.headers, ID_HEADER).is_present() {
        return Err(Skip::AlreadyOurs);
    }
    may_have_id(exchange)?;
    let link = exchange.link.clone().unwrap_or_else(|| {
        let echoed = exchange.payment.as_ref().and_then(|payment| payment.resource_url());
        exchange.engine.shared.link_of_payer(echoed.as_deref())
    });
    let body = BodyPlan::new(exchange, response);
    let known = exchange.id;
    let id = adopt_or_mint(exchange, now, &body);
    match kept.filter(|_| known == Some(id)) {
        Some(kept) => head.extend(kept.edits),
        None => {
            let made = add_to_head(exchange, head, &link, id);
            made.inspect_err(|_| head.clear())?;
        }
    }
    let verdict = Verdict { feedback_id: Some(id), ..add_to_body(exchange, response, body, &link, id, head) };
    if verdict.action == Action::WantBody && !response.head_first {
        exchange.kept = Some(Box::new(Kept::new(response, head.as_slice().to_vec(), Vec::new())));
    }
    Ok(verdict)
}

/// What the head gains, whatever becomes of the body.
fn add_to_head(exchange: &Exchange, head: &mut HeadEdits<'_>, link: &Link, id: FeedbackId) -> Found<()> {
    add_id(head, id, exchange.request_has_origin);
    if !head.fits() {
        return Err(Skip::NoRoom);
    }
    let receipt = receipt_edit(exchange, head, link, id)?;
    head.extend(receipt);
    Ok(())
}

impl Exchange {
    /// Whether the merchant's own schema has room for our members in this response.
    fn schema_allows(&self, status: u16) -> bool {
        let Some(document) = self.engine.shared.document() else { return true };
        let Some((method, path)) = self.line.as_str() else { return true };
        document.rules.allows_body(method, path, status)
    }
}

/// Whether this answer may carry an id at all.
fn may_have_id(exchange: &Exchange) -> Found<()> {
    let shared = &exchange.engine.shared;
    let (method, route) = (exchange.line.method(), exchange.line.route());
    match exchange.settlement {
        Some(Settlement::Succeeded) => {
            shared.state().route_settled(method, route);
            Ok(())
        }
        Some(Settlement::Failed) => Err(Skip::NotSettled),
        None if shared.options.require_settlement || exchange.is_head() => Err(Skip::NotSettled),
        None if shared.state().route_settles(method, route) => Err(Skip::NotSettled),
        None => Ok(()),
    }
}

/// The id of this exchange: the one an inner layer has put into the body if it is ours, else a new one.
fn adopt_or_mint(exchange: &mut Exchange, now: Now, body: &BodyPlan<'_>) -> FeedbackId {
    if let BodyPlan::Json { standing: Ok(Standing::Taken(Some(id))), .. } = body
        && exchange.engine.shared.is_own(*id, now)
    {
        return *exchange.id.insert(*id);
    }
    match exchange.id {
        Some(id) => id,
        None => *exchange.id.insert(exchange.engine.shared.mint(now)),
    }
}

/// The id header, and what must be true of an answer that is one caller's alone.
fn add_id(head: &mut HeadEdits<'_>, id: FeedbackId, request_has_origin: bool) {
    head.set(ID_HEADER, id.as_str().as_bytes().to_vec());
    if let Some(value) = caching::private(head.headers()) {
        head.set("Cache-Control", value);
    }
    head.remove("CDN-Cache-Control");
    head.remove("Surrogate-Control");
    if let Some(value) = caching::expose(head.headers(), request_has_origin, ID_HEADER) {
        head.set("Access-Control-Expose-Headers", value);
    }
}

/// The receipt with the extension, if it is one that takes it and if it fits beside the other edits.
/// A receipt that carries somebody's extension already makes the whole answer somebody else's.
fn receipt_edit(exchange: &Exchange, head: &HeadEdits<'_>, link: &Link, id: FeedbackId) -> Found<Option<Edit>> {
    let Line::One(value) = find(head.headers(), x402_v2::RECEIPT_HEADER) else { return Ok(None) };
    // Mostly the one that the settlement was read from.
    let read;
    let told = match &exchange.receipt {
        Some(told) if Line::Absent == find(head.headers(), x402_v1::RECEIPT_HEADER) => told,
        _ => match Told::read(value) {
            Some(told) => {
                read = told;
                &read
            }
            None => return Ok(None),
        },
    };
    let (text, found) = (&told.text, &told.receipt);
    if found.extensions == Ok(crate::dialect::ExtensionPlace::Ours) {
        return Err(Skip::AlreadyOurs);
    }
    let options = &exchange.engine.shared.options;
    if !options.receipt_extension || found.settlement != Some(Settlement::Succeeded) {
        return Ok(None);
    }
    let fits = |bytes: usize| head.fits_value(value.len(), envelope::encoded_len(bytes));
    match receipt::decorate(text, found, link, id, options.tone, options.extension_schema, fits) {
        Ok(made) => Ok(Some(Edit::set(x402_v2::RECEIPT_HEADER, envelope::encode(&made)))),
        Err(skip) => {
            exchange.skip(skip);
            Ok(None)
        }
    }
}

/// What may become of the body, found out once: a large one is read a single time.
enum BodyPlan<'a> {
    /// The head forbids an edit, or no edit is wanted, or there is nothing to edit.
    Keep,
    /// The head allows an edit; the body is not in hand.
    Ask,
    /// The answer to a HEAD, whose GET would have an edited body.
    HeadRequest,
    Json {
        text: &'a [u8],
        stated: Option<usize>,
        standing: Found<Standing>,
    },
    Text {
        text: &'a [u8],
        stated: Option<usize>,
    },
}

impl<'a> BodyPlan<'a> {
    fn new(exchange: &Exchange, response: &ResponseHead<'a>) -> BodyPlan<'a> {
        let options = &exchange.engine.shared.options;
        if matches!(response.status, 204..=206) {
            return BodyPlan::Keep;
        }
        let open = |wanted| match body_gate::judge(response.headers, wanted, BODY_LIMIT) {
            Gate::Open { length } => Some(length),
            Gate::Closed(_) => None,
        };
        let json = if options.inject_body { open(Wanted::Json(&options.json_types)) } else { None };
        let plain = if options.inject_text && json.is_none() { open(Wanted::PlainText) } else { None };
        let Some(stated) = json.or(plain) else { return BodyPlan::Keep };
        if json.is_some() && !exchange.schema_allows(response.status) {
            exchange.skip(Skip::SchemaClosed);
            return BodyPlan::Keep;
        }
        if exchange.is_head() {
            return BodyPlan::HeadRequest;
        }
        match answer::reading(response.body) {
            Reading::Ask => BodyPlan::Ask,
            Reading::Nothing => BodyPlan::Keep,
            Reading::Text(text) if json.is_none() => BodyPlan::Text { text, stated },
            Reading::Text(text) => {
                let standing = if text.len() > BODY_LIMIT {
                    Err(Skip::TooLarge)
                } else {
                    body::standing(text, options.body_layout, options.rate_hint)
                };
                BodyPlan::Json { text, stated, standing }
            }
        }
    }
}

/// What is to be done about the body; what the head gains with it is added to `head`.
fn add_to_body(
    exchange: &Exchange,
    response: &ResponseHead<'_>,
    plan: BodyPlan<'_>,
    link: &Link,
    id: FeedbackId,
    head: &mut HeadEdits<'_>,
) -> Verdict {
    let options = &exchange.engine.shared.options;
    let (old, stated, made) = match plan {
        BodyPlan::Keep => return Verdict::pass(),
        BodyPlan::Ask => {
            if response.head_first {
                answer::without_body(head);
            }
            return Verdict { action: Action::WantBody, body_limit: BODY_LIMIT, ..Verdict::default() };
        }
        BodyPlan::HeadRequest => {
            answer::without_body(head);
            return Verdict::pass();
        }
        BodyPlan::Text { text, stated } if text.len() > BODY_LIMIT => (text.len(), stated, Err(Skip::TooLarge)),
        BodyPlan::Text { text, stated } => {
            let end = text.len();
            (end, stated, body::trailer(text, link, id).map(|made| NewBody::inserted(end, end, made)))
        }
        BodyPlan::Json { text, stated, standing } => {
            let made = match standing {
                Ok(Standing::Free { close, empty }) => {
                    let members = body::members(empty, link, id, options.body_layout, options.rate_hint);
                    Ok(NewBody::inserted(text.len(), close, members))
                }
                Ok(Standing::Taken(_)) => Err(Skip::AlreadyOurs),
                Err(skip) => Err(skip),
            };
            (text.len(), stated, made)
        }
    };
    match made.and_then(|made| answer::with_body(head, response.head_first, stated, old, made)) {
        Ok(body) => Verdict { body: Some(body), ..Verdict::default() },
        Err(skip) => {
            exchange.skip(skip);
            Verdict::pass()
        }
    }
}
