//! The merchant's documents that agents read: its OpenAPI document and its `/.well-known/x402`, served with additions.
//!
//! Both are shared by all readers, so only origins that no request can choose appear in them.

use super::answer::{self, Reading};
use super::head_edits::HeadEdits;
use super::{Exchange, Purpose, RequestHead, ResponseHead};
use crate::feedback::wellknown;
use crate::http::body_gate::{self, BODY_LIMIT, Gate, Wanted, Why};
use crate::http::{Line, find};
use crate::openapi;
use crate::options::Options;
use crate::skip::Skip;
use crate::verdict::{Action, Verdict};

/// What a request for a document is for.
pub(super) fn purpose(options: &Options, request: &RequestHead<'_>) -> Purpose {
    if !matches!(request.method, b"GET" | b"HEAD") {
        return Purpose::Traffic;
    }
    let path = request.target.split(|&byte| byte == b'?').next().unwrap_or_default();
    if options.openapi.as_ref().is_some_and(|openapi| openapi.paths.iter().any(|known| known.as_bytes() == path)) {
        return Purpose::OpenApi;
    }
    if options.discovery && path == wellknown::X402_PATH.as_bytes() { Purpose::X402Document } else { Purpose::Traffic }
}

/// A 200 with one of the documents.
pub(super) fn judge(exchange: &mut Exchange, response: &ResponseHead<'_>) -> Verdict {
    let shared = exchange.engine.shared.clone();
    let limit = if exchange.purpose == Purpose::OpenApi { DOCUMENT_LIMIT } else { BODY_LIMIT };
    let stated = match body_gate::judge(response.headers, Wanted::Json(&shared.options.json_types), limit) {
        Gate::Open { length } => length,
        Gate::Closed(why) => {
            if exchange.purpose == Purpose::OpenApi && why == Why::MediaType && is_yaml(response) {
                shared.say("openapi", || {
                    "the OpenAPI document is YAML; it is served unchanged, serve JSON to enrich it".into()
                });
            }
            exchange.skip(Skip::BodyNotEditable);
            return Verdict::pass();
        }
    };
    let mut head = HeadEdits::new(response.headers);
    if exchange.is_head() {
        answer::without_body(&mut head);
        return Verdict { edits: head.into_edits(), ..Verdict::default() };
    }
    let text = match answer::reading(response.body) {
        Reading::Nothing => return Verdict::pass(),
        Reading::Ask => {
            if response.head_first {
                answer::without_body(&mut head);
            }
            let edits = head.into_edits();
            return Verdict { action: Action::WantBody, body_limit: limit, edits, ..Verdict::default() };
        }
        Reading::Text(text) => text,
    };
    let made = made(exchange, text);
    match made.and_then(|made| answer::with_body(&mut head, response.head_first, stated, text.len(), made.into())) {
        Ok(body) => Verdict { edits: head.into_edits(), body: Some(body), ..Verdict::default() },
        Err(skip) => {
            exchange.skip(skip);
            Verdict::pass()
        }
    }
}

fn made(exchange: &Exchange, text: &[u8]) -> Result<Vec<u8>, Skip> {
    let shared = &exchange.engine.shared;
    let link = shared.fixed_or_path();
    if exchange.purpose == Purpose::X402Document {
        return wellknown::add_rating_line(text, &link).ok_or(Skip::AlreadyOurs);
    }
    let state = shared.state();
    match state.documents.enrich(text, &shared.plan(link)) {
        Ok(enriched) => {
            if let Some(first) = enriched.warnings.first() {
                let more = enriched.warnings.len() - 1;
                shared.say("openapi", || {
                    format!(
                        "OpenAPI document: {first}{}",
                        if more > 0 { format!(" (and {more} more)") } else { String::new() }
                    )
                });
            }
            state.learn(&enriched);
            Ok(enriched.text.clone())
        }
        Err(why) => {
            shared.say("openapi", || format!("the OpenAPI document is served unchanged: {}", why.name()));
            Err(match why {
                openapi::Skip::TooLarge => Skip::TooLarge,
                _ => Skip::NotRecognised,
            })
        }
    }
}

fn is_yaml(response: &ResponseHead<'_>) -> bool {
    matches!(find(response.headers, "content-type"), Line::One(value) if value.windows(4).any(|part| part.eq_ignore_ascii_case(b"yaml")))
}

/// Largest OpenAPI document that is enriched, in bytes.
const DOCUMENT_LIMIT: usize = 5 * 1024 * 1024;
