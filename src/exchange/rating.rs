//! The rating routes: answered on the merchant's origin, without the merchant's code.
//!
//! Everything is checked here first; only a rating in good order, or a summary nobody holds fresh, becomes a wait for the
//! backend, the one step that may block.

use std::time::Duration;

use super::{Body, Exchange, Phase, Purpose, RequestHead};
use crate::backend;
use crate::brief_lock::enter;
use crate::feedback::answer::Answer;
use crate::feedback::routes::{self, Links, Route};
use crate::feedback::submission::{self, Submission, Via};
use crate::feedback::summary::{Reading, Ticket};
use crate::feedback::{Verification, relay, wellknown, wording};
use crate::skip::Skip;
use crate::sys::clock::Now;
use crate::verdict::{Action, Edit, Verdict};

/// What an exchange waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The backend's word on this rating.
    Rating(Vec<u8>),
    Summary {
        ticket: Ticket,
        head: bool,
    },
}

pub(super) fn begin(exchange: &mut Exchange, now: Now, request: &RequestHead<'_>, route: Route) -> Verdict {
    let links = exchange.links();
    if exchange.engine.shared.reports() {
        exchange.caller.keep_user_agent(request);
    }
    match route {
        Route::Form { head } => exchange.reply(routes::form(&links, head)),
        Route::WellKnown { head } => {
            exchange.purpose = Purpose::Discovered;
            let options = exchange.engine.shared.options.clone();
            let description = options.service_description.as_deref().unwrap_or(wording::ask(options.tone));
            exchange.reply(wellknown::document(&links, description, options.ttl_ms, head))
        }
        Route::Preflight(place) => exchange.reply(routes::preflight(place)),
        Route::WrongMethod(place) => exchange.reply(routes::wrong_method(place)),
        Route::Rate => {
            let parsed = submission::from_query(routes::query_of(request.target));
            submit(exchange, now, parsed, Via::Get)
        }
        Route::Submit => match request.body {
            Body::Whole(text) => of_body(exchange, now, text),
            Body::None => of_body(exchange, now, b""),
            Body::Unread => {
                exchange.phase = Phase::RatingBody;
                Verdict { action: Action::WantBody, body_limit: submission::BODY_LIMIT, ..Verdict::default() }
            }
        },
        Route::Summary { head } => summary(exchange, now, head),
    }
}

/// The body of `POST {base}`, or more than its limit of it.
pub(super) fn of_body(exchange: &mut Exchange, now: Now, text: &[u8]) -> Verdict {
    submit(exchange, now, submission::from_body(text), Via::Post)
}

fn submit(exchange: &mut Exchange, now: Now, parsed: Result<Submission, submission::Fault>, via: Via) -> Verdict {
    let links = exchange.links();
    let engine = exchange.engine.clone();
    let state = engine.shared.state();
    let is_valid = |id: &str| matches!(engine.verify_id(id.as_bytes(), now), Verification::Valid { .. });
    let admitted = match enter(&state.limits) {
        Some(mut limits) => {
            routes::admit(parsed, &links, &mut limits, exchange.caller.ip(), now.monotonic_ms, is_valid)
        }
        None => Err(routes::feedback_unavailable(Some(1))),
    };
    match admitted {
        Err(answer) => exchange.reply(answer),
        Ok(_) if engine.shared.options.backend_url.is_none() => exchange.reply(routes::feedback_unavailable(None)),
        Ok(submission) => {
            let agent = exchange.caller.user_agent();
            let json = submission.forward(via, agent, exchange.caller.captured());
            exchange.wait_for(Awaited::Rating(json))
        }
    }
}

fn summary(exchange: &mut Exchange, now: Now, head: bool) -> Verdict {
    let engine = exchange.engine.clone();
    if engine.shared.options.backend_url.is_none() {
        return exchange.reply(routes::summary_unavailable(None, head));
    }
    let reading = enter(&engine.shared.state().summary).map(|mut summary| summary.read(now.monotonic_ms));
    match reading {
        Some(Reading::Fetch(ticket)) => exchange.wait_for(Awaited::Summary { ticket, head }),
        Some(reading) => exchange.reply(shown(reading, head)),
        None => exchange.reply(routes::summary_unavailable(Some(1), head)),
    }
}

fn shown(reading: Reading, head: bool) -> Answer {
    match reading {
        Reading::Show(json) => routes::summary(&json, head),
        Reading::Unavailable { retry_after_s } => routes::summary_unavailable(Some(retry_after_s), head),
        Reading::Fetch(_) => routes::summary_unavailable(None, head),
    }
}

impl Exchange {
    /// After [`Action::Wait`]: asks the backend and answers. BLOCKS for `limit` at most, never longer than 3 s.
    /// Where `max_waits` calls wait already it answers 503 at once.
    pub fn wait(&mut self, limit: Duration) -> Verdict {
        let engine = self.engine.clone();
        engine.shared.guarded(Verdict::pass, || self.ask_backend(limit.min(LIMIT)))
    }

    fn ask_backend(&mut self, limit: Duration) -> Verdict {
        let engine = self.engine.clone();
        let Some(awaited) = self.awaited.take() else {
            self.skip(Skip::OutOfOrder);
            return Verdict::pass();
        };
        let state = engine.shared.state();
        let place = state.begin_waiting(engine.shared.options.max_waits);
        let answer = match awaited {
            Awaited::Rating(_) if place.is_none() => routes::feedback_unavailable(Some(1)),
            Awaited::Rating(json) => relay::rating(http(&state.backend.rating(&json, limit))),
            Awaited::Summary { ticket, head } => {
                let asked = place.is_some().then(|| state.backend.summary(limit));
                let now = Now::read().monotonic_ms;
                let told = enter(&state.summary).map(|mut summary| match &asked {
                    Some(answer) => summary.fetched(ticket, now, relay::summary(http(answer))),
                    None => summary.abandoned(ticket, now),
                });
                match told {
                    Some(reading) => shown(reading, head),
                    None => routes::summary_unavailable(Some(1), head),
                }
            }
        };
        self.reply(answer)
    }

    /// Lets the next reader fetch the summary that this one will not.
    pub(super) fn stop_waiting(&mut self, now: Now) {
        if let Some(Awaited::Summary { ticket, .. }) = self.awaited.take()
            && let Some(mut summary) = enter(&self.engine.shared.state().summary)
        {
            summary.abandoned(ticket, now.monotonic_ms);
        }
    }

    /// The URLs our own answers name; never one that came with a request.
    fn links(&self) -> Links {
        let shared = &self.engine.shared;
        let base_path = &shared.options.base_path;
        let link = shared.fixed_or_path();
        let origin = link.rate().strip_suffix("/rate").and_then(|rest| rest.strip_suffix(base_path.as_str()));
        Links::new(origin.unwrap_or_default(), base_path)
    }

    fn wait_for(&mut self, awaited: Awaited) -> Verdict {
        self.phase = Phase::Waiting;
        self.awaited = Some(awaited);
        Verdict { action: Action::Wait, ..Verdict::default() }
    }

    /// Ends the exchange's own part with an answer instead of the merchant's.
    pub(super) fn reply(&mut self, answer: Answer) -> Verdict {
        self.phase = Phase::Done;
        self.replied = true;
        self.status = answer.status;
        let edits = answer.headers.into_iter().map(|(name, value)| Edit::set(name, value.into_bytes())).collect();
        Verdict {
            action: Action::Reply,
            http_status: answer.status,
            edits,
            body: Some(answer.body.into()),
            ..Verdict::default()
        }
    }
}

fn http(answer: &backend::Answer) -> Option<(u16, &[u8])> {
    match answer {
        backend::Answer::Http { status, body, .. } => Some((*status, body)),
        backend::Answer::None(_) => None,
    }
}

/// The longest a rater is kept waiting.
const LIMIT: Duration = Duration::from_secs(3);
