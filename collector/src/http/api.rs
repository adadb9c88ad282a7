//! The protocol: events in, ratings in, summary and project out. An answer 2xx comes after the commit.

use std::collections::{BTreeMap, HashMap};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::answer::json as answer;
use super::auth::Bearer;
use super::{App, Fault};
use crate::clock::{DAY_MS, rfc3339};
use crate::event::{BatchError, read_batch};
use crate::feedback_id;
use crate::standing::{Standing, Standings};
use crate::store::{Page, RatingGroup, RatingWritten, Write, Written};
use crate::submission::{self, ISSUES, OUTCOMES};
use crate::writer::Room;

const MAX_RATING: usize = 64 * 1024;
const SUMMARY_DAYS: i64 = 30;
const SUMMARY_ROUTES: usize = 100;

pub async fn events(State(app): State<App>, bearer: Bearer, headers: HeaderMap, body: Body) -> Result<Response, Fault> {
    let repeat = idempotency_key(&headers)?;
    let (body, room) = read(&app, &headers, body, app.config.max_body).await?;
    let batch = read_batch(&body, repeat, app.clock.now_ms()).map_err(|error| {
        app.metrics.event("rejected", 1);
        match error {
            BatchError::NotJson => {
                Fault::new(StatusCode::BAD_REQUEST, "invalid_json_body", "the body must be JSON in UTF-8")
            }
            BatchError::NotABatch => {
                Fault::new(StatusCode::BAD_REQUEST, "invalid_batch", "the body must be {\"events\": [...]}")
            }
            BatchError::TooMany => {
                Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_many_events", "a batch holds at most 100 events")
            }
        }
    })?;
    drop(body);
    app.metrics.event("rejected", batch.refused.len());
    let refused: Vec<Value> =
        batch.refused.iter().map(|(index, error)| json!({"index": index, "error": error})).collect();
    let (accepted, duplicates) = if batch.events.is_empty() {
        (0, 0)
    } else {
        match app.writer.write(Write::Events { project_id: bearer.project_id, events: batch.events }, room).await? {
            Written::Events { accepted, duplicates } => (accepted, duplicates),
            Written::Rating(_) => (0, 0),
        }
    };
    app.metrics.event("accepted", accepted);
    app.metrics.event("duplicate", duplicates);
    // Nothing in it could be read: the sender should look at it. Otherwise the good part is kept and the answer is 2xx.
    let status =
        if accepted + duplicates == 0 && !refused.is_empty() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let mut body = json!({"accepted": accepted, "duplicates": duplicates, "rejected": refused});
    if status == StatusCode::BAD_REQUEST {
        body["error"] = "invalid_events".into();
    }
    Ok(answer(status, &body))
}

pub async fn feedback(
    State(app): State<App>,
    bearer: Bearer,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Fault> {
    let (body, room) = read(&app, &headers, body, MAX_RATING).await?;
    let submission = match submission::read(&body) {
        Ok(submission) => submission,
        Err(error) => {
            app.metrics.rating("invalid");
            return Ok(answer(StatusCode::BAD_REQUEST, &submission::refusal(error)));
        }
    };
    let stored = app.store.signing_keys(bearer.project_id).await.map_err(|error| {
        tracing::error!(error = format!("{error:#}"), "cannot read the signing keys");
        Fault::storage()
    })?;
    let keys = std::iter::once(bearer.signing_key.as_str()).chain(stored.iter().map(String::as_str));
    if let Err(reason) =
        feedback_id::verify(&submission.feedback_id, keys, app.config.feedback_ttl_ms, app.clock.now_ms())
    {
        tracing::debug!(?reason, "a rating for an id that is not ours or too old");
        app.metrics.rating("unknown_id");
        let body = json!({"recorded": false, "error": "unknown_or_expired_feedback_id"});
        return Ok(answer(StatusCode::NOT_FOUND, &body));
    }
    let write = Write::Rating { project_id: bearer.project_id, submission };
    let (name, status, body) = match app.writer.write(write, room).await? {
        Written::Rating(RatingWritten::Recorded) => ("recorded", StatusCode::OK, json!({"recorded": true})),
        Written::Rating(RatingWritten::Corrected) => {
            ("corrected", StatusCode::OK, json!({"recorded": true, "corrected": true}))
        }
        Written::Rating(RatingWritten::Final) | Written::Events { .. } => (
            "final",
            StatusCode::CONFLICT,
            json!({"recorded": false, "error": "already_rated", "message": "this call was rated more than 15 minutes ago"}),
        ),
    };
    app.metrics.rating(name);
    Ok(answer(status, &body))
}

pub async fn project(State(app): State<App>, bearer: Bearer) -> Result<Response, Fault> {
    let project = app.store.project(bearer.project_id).await.map_err(|error| unreadable(&error))?;
    let mut body = Map::new();
    if let Some(project) = project {
        body.insert("name".into(), project.name.into());
        if let Some(origin) = project.public_origin {
            body.insert("publicOrigin".into(), origin.into());
        }
    }
    Ok(answer(StatusCode::OK, &Value::Object(body)))
}

/// What agents may see of the last 30 days: ratings by outcome, issue and route. No sales figures, no notes.
pub async fn summary(State(app): State<App>, bearer: Bearer) -> Result<Response, Fault> {
    let now_ms = app.clock.now_ms();
    let page =
        Page { project_id: bearer.project_id, from_ms: now_ms - SUMMARY_DAYS * DAY_MS, route: None, step_hours: 24 };
    let groups = app.store.rating_groups(&page).await.map_err(|error| unreadable(&error))?;
    let routes = app.store.route_figures(&page).await.map_err(|error| unreadable(&error))?;
    let standings = Standings::new(&routes);
    let (mut total, mut apart, mut waiting) = (Tally::default(), 0, 0);
    let mut by_route: BTreeMap<&str, Tally> = BTreeMap::new();
    for group in &groups {
        match standings.of(group) {
            Standing::Counted => {
                total.add(group);
                by_route.entry(group.route.as_deref().unwrap_or("(no route)")).or_default().add(group);
            }
            Standing::Unsettled => apart += group.ratings,
            Standing::Waiting => waiting += group.ratings,
        }
    }
    let mut by_route: Vec<_> = by_route.into_iter().collect();
    by_route.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.ratings));
    by_route.truncate(SUMMARY_ROUTES);
    let mut body = total.json();
    body.insert("protocol".into(), "forge-feedback/0".into());
    body.insert("window_days".into(), SUMMARY_DAYS.into());
    body.insert("generated_at".into(), rfc3339(now_ms).into());
    body.insert("not_counted".into(), json!({"unsettled": apart, "waiting_for_call": waiting}));
    let routes = by_route.into_iter().map(|(route, tally)| {
        let mut members = tally.json();
        members.insert("route".into(), route.into());
        Value::Object(members)
    });
    body.insert("routes".into(), routes.collect());
    Ok(answer(StatusCode::OK, &Value::Object(body)))
}

#[derive(Default)]
struct Tally {
    ratings: i64,
    outcomes: HashMap<String, i64>,
    issues: HashMap<String, i64>,
}

impl Tally {
    fn add(&mut self, group: &RatingGroup) {
        self.ratings += group.ratings;
        *self.outcomes.entry(group.outcome.clone()).or_default() += group.ratings;
        if let Some(issue) = &group.issue {
            *self.issues.entry(issue.clone()).or_default() += group.ratings;
        }
    }

    fn json(&self) -> Map<String, Value> {
        let counts = |names: &[&str], found: &HashMap<String, i64>| -> Value {
            names
                .iter()
                .map(|name| ((*name).to_owned(), Value::from(found.get(*name).copied().unwrap_or(0))))
                .collect::<Map<_, _>>()
                .into()
        };
        let mut members = Map::new();
        members.insert("ratings".into(), self.ratings.into());
        members.insert("outcomes".into(), counts(&OUTCOMES, &self.outcomes));
        members.insert("issues".into(), counts(&ISSUES, &self.issues));
        members
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(key)),
        _ => Err(Fault::new(
            StatusCode::BAD_REQUEST,
            "invalid_idempotency_key",
            "Idempotency-Key is 1 to 255 visible ASCII characters without spaces",
        )),
    }
}

/// The body, with room in the queue set aside before its first byte is read.
async fn read(app: &App, headers: &HeaderMap, body: Body, limit: usize) -> Result<(Bytes, Room), Fault> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok())
        .unwrap_or(limit);
    let too_large = || Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "send a smaller body");
    if announced > limit {
        return Err(too_large());
    }
    let room = app.writer.reserve(announced).inspect_err(|_| app.metrics.refuse("queue_full"))?;
    let bytes = axum::body::to_bytes(body, limit).await.map_err(|error| {
        let mut source: Option<&dyn std::error::Error> = Some(&error);
        while let Some(inner) = source {
            if inner.to_string().contains("length limit exceeded") {
                return too_large();
            }
            source = inner.source();
        }
        Fault::new(StatusCode::BAD_REQUEST, "unreadable_body", "the body ended early")
    })?;
    Ok((bytes, room))
}

fn unreadable(error: &anyhow::Error) -> Fault {
    tracing::error!(error = format!("{error:#}"), "cannot read from the database");
    Fault::storage()
}
