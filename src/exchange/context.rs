//! Agent context of a request: cut out before the merchant's code sees it, asked for or required by option.

use super::{Body, Exchange, Phase, RequestHead};
use crate::agent_context::{self, BodyCut, Raw};
use crate::engine::Shared;
use crate::feedback::answer::{Answer, Caching};
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted};
use crate::http::find;
use crate::options::ContextMode;
use crate::skip::Skip;
use crate::verdict::{Action, Edit, Verdict};

/// The target without context parameters, and what they said. Those that the merchant's document declares stay.
pub(super) fn cut_target(shared: &Shared, request: &RequestHead<'_>) -> Option<(Vec<u8>, Raw)> {
    let (target, raw) = agent_context::take_target(request.target, &[])?;
    let Some(document) = shared.document() else { return Some((target, raw)) };
    let method = std::str::from_utf8(request.method).ok()?;
    let path = std::str::from_utf8(request.target.split(|&byte| byte == b'?').next()?).ok()?;
    let own: Vec<&str> =
        PARAMETERS.into_iter().filter(|name| document.rules.declares_query(method, path, name)).collect();
    if own.is_empty() { Some((target, raw)) } else { agent_context::take_target(request.target, &own) }
}

/// What a paid request needs before the merchant's code may run: its body, a refusal, or nothing.
pub(super) fn of_payment(exchange: &mut Exchange, request: &RequestHead<'_>, verdict: Verdict) -> Verdict {
    let mode = exchange.engine.shared.options.agent_context;
    if mode == ContextMode::Off {
        return verdict;
    }
    let types = &exchange.engine.shared.options.json_types;
    let has_body =
        find(request.headers, "content-length").is_present() || find(request.headers, "transfer-encoding").is_present();
    let gate = body_gate::judge(request.headers, Wanted::Json(types), usize::MAX);
    match (gate, request.body) {
        (Gate::Open { length }, body) if has_body => {
            exchange.stated_length = length;
            match body {
                Body::Whole(text) => of_body(exchange, text, verdict),
                Body::None => settled(exchange, verdict),
                Body::Unread if length.is_some_and(|length| length > BODY_LIMIT) => too_large(exchange, verdict),
                Body::Unread => {
                    exchange.target.clone_from(&verdict.target);
                    exchange.phase = Phase::RequestBody;
                    Verdict { action: Action::WantBody, body_limit: BODY_LIMIT, ..verdict }
                }
            }
        }
        // A signed, encoded or foreign body is not inspected; the query alone speaks.
        _ => settled(exchange, verdict),
    }
}

/// The body of a paid request, whole (or more than the limit of it, which stays as it is).
pub(super) fn of_body(exchange: &mut Exchange, text: &[u8], mut verdict: Verdict) -> Verdict {
    exchange.phase = Phase::Response;
    if text.len() > BODY_LIMIT {
        return too_large(exchange, verdict);
    }
    match agent_context::cut_body(text) {
        BodyCut::Cut(body, raw) => match exchange.stated_length {
            Some(stated) if stated != text.len() => exchange.skip(Skip::Ambiguous),
            stated => {
                if stated.is_some() {
                    verdict.edits.push(Edit::set("Content-Length", body.len().to_string().into_bytes()));
                }
                let query = exchange.context_raw.take().map_or_else(Raw::default, |query| *query);
                exchange.context_raw = Some(Box::new(raw.over(query)));
                verdict.body = Some(body.into());
            }
        },
        BodyCut::Unreadable => {
            exchange.skip(Skip::NotJson);
            if let Some(refused) = unreadable(exchange) {
                return refused;
            }
        }
        BodyCut::Absent => {}
    }
    settled(exchange, verdict)
}

impl Exchange {
    /// Turns what was sent into what is reported.
    pub(super) fn settle_context(&mut self) {
        if let Some(raw) = self.context_raw.take().filter(|raw| !raw.is_empty()) {
            let search_query = self.engine.shared.options.search_query;
            self.context = Some(Box::new(agent_context::normalise(&raw, search_query)));
        }
    }
}

fn too_large(exchange: &mut Exchange, verdict: Verdict) -> Verdict {
    exchange.skip(Skip::TooLarge);
    match unreadable(exchange) {
        Some(refused) => refused,
        None => settled(exchange, verdict),
    }
}

/// Everything was read: the request goes on, or is refused for what it does not say.
fn settled(exchange: &mut Exchange, verdict: Verdict) -> Verdict {
    let search_query = exchange.engine.shared.options.search_query;
    let missing = if is_required(exchange) { missing(exchange, search_query) } else { None };
    exchange.settle_context();
    match missing {
        Some(body) => exchange.reply(Answer::json(400, body, Caching::NoStore)),
        None => verdict,
    }
}

/// What to answer to a request that does not say enough; `None` where it does.
fn missing(exchange: &Exchange, search_query: bool) -> Option<Vec<u8>> {
    match &exchange.context_raw {
        Some(raw) => agent_context::missing_answer(raw, search_query),
        None => agent_context::missing_answer(&Raw::default(), search_query),
    }
}

/// In the required mode, a body that cannot be read is refused unless the query says enough.
fn unreadable(exchange: &mut Exchange) -> Option<Verdict> {
    let search_query = exchange.engine.shared.options.search_query;
    if !is_required(exchange) || missing(exchange, search_query).is_none() {
        return None;
    }
    Some(exchange.reply(Answer::json(400, agent_context::invalid_answer(), Caching::NoStore)))
}

/// Whether this request may be refused for its context: only on a route that is known to be paid. A free route with a
/// stray payment header is none of our business.
fn is_required(exchange: &Exchange) -> bool {
    let shared = &exchange.engine.shared;
    shared.options.agent_context == ContextMode::Required
        && shared.state().route_challenges(exchange.line.method(), exchange.line.path()).is_some()
}

const PARAMETERS: [&str; 4] = ["agent_type", "agent_type_other", "agent_client", "agent_search_query"];
