//! One transaction for a group of batches and ratings: all of it is on the disk when this returns, or none of it.
//!
//! Order inside, the same for every collector: events sorted by key, then ratings, then counters sorted by key. Counters are
//! raised only for events that were really new, so a repeat changes no figure.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use serde_json::Value;

use super::bulk::Bulk;
use super::{Names, Store, on};
use crate::clock::{DAY_MS, HOUR_MS, MINUTE_MS};
use crate::event::{Event, Kind};
use crate::submission::Submission;

/// How long a rating may be corrected.
pub const CORRECTION_MS: i64 = 15 * MINUTE_MS;

pub enum Write {
    Events { project_id: i64, events: Vec<Event> },
    Rating { project_id: i64, submission: Submission },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Events { accepted: usize, duplicates: usize },
    Rating(RatingWritten),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatingWritten {
    Recorded,
    Corrected,
    /// There is a rating of this call that is older than `CORRECTION_MS`.
    Final,
}

impl Store {
    /// Writes the whole group in one transaction; the answers stand in the order of `group`.
    pub async fn write(&self, group: &[&Write], names: &mut Names, now_ms: i64) -> Result<Vec<Written>> {
        let mut rows: Vec<(i64, &Event)> = Vec::new();
        for write in group {
            if let Write::Events { project_id, events } = write {
                rows.extend(events.iter().map(|event| (*project_id, event)));
            }
        }
        rows.sort_by(|(a_project, a), (b_project, b)| (a_project, &a.event_id).cmp(&(b_project, &b.event_id)));

        on!(self.writer(), |pool| {
            let mut transaction = pool.begin_with(self.writer().begin()).await?;

            let mut new: HashSet<(i64, String)> = HashSet::with_capacity(rows.len());
            for (text, piece) in INSERT_EVENTS.pieces(&rows) {
                let mut query = sqlx::query_as::<_, (i64, String)>(text);
                for (project_id, event) in piece {
                    query = query
                        .bind(project_id)
                        .bind(&event.event_id)
                        .bind(event.kind.name())
                        .bind(now_ms)
                        .bind(&event.feedback_id)
                        .bind(&event.body);
                }
                new.extend(query.fetch_all(&mut *transaction).await?);
            }
            let (mut written, fresh) = tell_new_from_repeated(group, new);

            for (write, answer) in group.iter().zip(&mut written) {
                let Write::Rating { project_id, submission } = write else { continue };
                let inserted = sqlx::query(INSERT_RATING)
                    .bind(project_id)
                    .bind(&submission.feedback_id)
                    .bind(submission.outcome)
                    .bind(submission.issue)
                    .bind(&submission.note)
                    .bind(submission.via)
                    .bind(&submission.user_agent)
                    .bind(&submission.request_headers)
                    .bind(now_ms)
                    .execute(&mut *transaction)
                    .await?
                    .rows_affected();
                if inserted == 1 {
                    *answer = Written::Rating(RatingWritten::Recorded);
                    continue;
                }
                let corrected = sqlx::query(CORRECT_RATING)
                    .bind(project_id)
                    .bind(&submission.feedback_id)
                    .bind(submission.outcome)
                    .bind(submission.issue)
                    .bind(&submission.note)
                    .bind(submission.via)
                    .bind(&submission.user_agent)
                    .bind(&submission.request_headers)
                    .bind(now_ms)
                    .bind(now_ms - CORRECTION_MS)
                    .execute(&mut *transaction)
                    .await?
                    .rows_affected();
                *answer = Written::Rating(if corrected == 1 { RatingWritten::Corrected } else { RatingWritten::Final });
            }

            // A rating and its call find each other here, whichever came first.
            let waiting: Vec<(i64, String)> =
                sqlx::query_as(WAITING_RATINGS).bind(now_ms - WAIT_MS).fetch_all(&mut *transaction).await?;
            let arrived: HashMap<(i64, &str), &Event> = fresh
                .iter()
                .filter(|(_, event)| event.kind == Kind::Interaction)
                .filter_map(|(project, event)| Some(((*project, event.feedback_id.as_deref()?), *event)))
                .collect();
            let rated_now: HashSet<(i64, &str)> = group
                .iter()
                .filter_map(|write| match write {
                    Write::Rating { project_id, submission } => Some((*project_id, submission.feedback_id.as_str())),
                    Write::Events { .. } => None,
                })
                .collect();
            for (project_id, feedback_id) in &waiting {
                let call = match arrived.get(&(*project_id, feedback_id.as_str())) {
                    Some(event) => Some(Call::of(event, &names.counted(*project_id, "route", &event.route, now_ms))),
                    None if rated_now.contains(&(*project_id, feedback_id.as_str())) => {
                        let body: Option<String> = sqlx::query_scalar(CALL_OF_RATING)
                            .bind(project_id)
                            .bind(feedback_id)
                            .fetch_optional(&mut *transaction)
                            .await?;
                        body.map(|body| Call::of_body(&body))
                    }
                    None => None,
                };
                let Some(call) = call else { continue };
                sqlx::query(MATCH_RATING)
                    .bind(project_id)
                    .bind(feedback_id)
                    .bind(&call.route)
                    .bind(call.status)
                    .bind(call.settled)
                    .execute(&mut *transaction)
                    .await?;
            }

            let (routes, callers) = count(&fresh, names, now_ms);
            let routes: Vec<_> = routes.into_iter().collect();
            for (text, piece) in COUNT_ROUTES.pieces(&routes) {
                let mut query = sqlx::query(text);
                for ((project_id, hour, route), figures) in piece {
                    query = query.bind(project_id).bind(hour).bind(route);
                    for figure in figures {
                        query = query.bind(figure);
                    }
                }
                query.execute(&mut *transaction).await?;
            }
            let callers: Vec<_> = callers.into_iter().collect();
            for (text, piece) in COUNT_CALLERS.pieces(&callers) {
                let mut query = sqlx::query(text);
                for ((project_id, day, kind, name), (events, paid)) in piece {
                    query = query.bind(project_id).bind(day).bind(*kind).bind(name).bind(events).bind(paid);
                }
                query.execute(&mut *transaction).await?;
            }

            transaction.commit().await?;
            Ok(written)
        })
    }

    /// Joins ratings with calls that another collector was writing at the same moment.
    pub async fn match_waiting_ratings(&self, now_ms: i64) -> Result<usize> {
        let mut matched = 0;
        on!(self.writer(), |pool| {
            let waiting: Vec<(i64, String)> =
                sqlx::query_as(WAITING_RATINGS).bind(now_ms - WAIT_MS).fetch_all(pool).await?;
            for (project_id, feedback_id) in waiting {
                let body: Option<String> =
                    sqlx::query_scalar(CALL_OF_RATING).bind(project_id).bind(&feedback_id).fetch_optional(pool).await?;
                let Some(call) = body.map(|body| Call::of_body(&body)) else { continue };
                sqlx::query(MATCH_RATING)
                    .bind(project_id)
                    .bind(&feedback_id)
                    .bind(&call.route)
                    .bind(call.status)
                    .bind(call.settled)
                    .execute(pool)
                    .await?;
                matched += 1;
            }
        });
        Ok(matched)
    }
}

/// Counts per job, and the events whose key was new; within one group the first bearer of a key is the new one.
fn tell_new_from_repeated<'a>(
    group: &[&'a Write],
    mut new: HashSet<(i64, String)>,
) -> (Vec<Written>, Vec<(i64, &'a Event)>) {
    let mut fresh = Vec::with_capacity(new.len());
    let mut key = (0, String::new());
    let written = group
        .iter()
        .map(|write| match write {
            Write::Rating { .. } => Written::Rating(RatingWritten::Final),
            Write::Events { project_id, events } => {
                let before = fresh.len();
                for event in events {
                    key.0 = *project_id;
                    key.1.clone_from(&event.event_id);
                    if new.remove(&key) {
                        fresh.push((*project_id, event));
                    }
                }
                let accepted = fresh.len() - before;
                Written::Events { accepted, duplicates: events.len() - accepted }
            }
        })
        .collect();
    (written, fresh)
}

/// What a rating keeps of the call it rates.
struct Call {
    route: String,
    status: Option<i64>,
    settled: Option<i64>,
}

impl Call {
    fn of(event: &Event, route: &str) -> Self {
        Self { route: route.to_owned(), status: event.status, settled: event.settled.map(i64::from) }
    }

    fn of_body(body: &str) -> Self {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let settled = match body["settled"].as_bool() {
            None if body.get("transaction").is_some() => Some(true),
            reported => reported,
        };
        Self {
            route: body["route"]
                .as_str()
                .and_then(|route| crate::text::clean(route, 200))
                .unwrap_or_else(|| "(no route)".into()),
            status: body["status"].as_i64(),
            settled: settled.map(i64::from),
        }
    }
}

/// By project, hour and route.
type RouteCounts = BTreeMap<(i64, i64, String), [i64; FIGURES]>;
/// By project, day, kind and name: events, and paid calls among them.
type CallerCounts = BTreeMap<(i64, i64, &'static str, String), (i64, i64)>;

fn count(fresh: &[(i64, &Event)], names: &mut Names, now_ms: i64) -> (RouteCounts, CallerCounts) {
    let mut routes = RouteCounts::new();
    let mut callers = CallerCounts::new();
    for (project_id, event) in fresh {
        let route = names.counted(*project_id, "route", &event.route, now_ms);
        let figures = routes.entry((*project_id, event.at_ms / HOUR_MS, route)).or_insert([0; FIGURES]);
        let paid = event.kind == Kind::Interaction;
        match event.kind {
            Kind::Challenge => figures[0] += 1,
            Kind::Interaction => {
                figures[1] += 1;
                figures[2] += i64::from(event.settled == Some(true));
                figures[3] += i64::from(event.settled == Some(false));
                match event.status {
                    Some(200..=299) => figures[4] += 1,
                    Some(400..=499) => figures[5] += 1,
                    Some(500..=599) => figures[6] += 1,
                    _ => {}
                }
                if let Some(latency) = event.latency_ms {
                    let bucket = super::LATENCY_BOUNDS_MS.iter().take_while(|bound| latency > **bound).count();
                    figures[11 + bucket] += 1;
                }
            }
            Kind::Discovery => figures[7] += 1,
            Kind::Visit => figures[8] += 1,
            Kind::Escalation => figures[9] += 1,
            Kind::Other => figures[10] += 1,
        }
        for (kind, name) in [("agent", &event.agent), ("client", &event.client), ("user_agent", &event.user_agent)] {
            let Some(name) = name else { continue };
            let name = names.counted(*project_id, kind, name, now_ms);
            let caller = callers.entry((*project_id, event.at_ms / DAY_MS, kind, name)).or_default();
            caller.0 += 1;
            caller.1 += i64::from(paid);
        }
    }
    (routes, callers)
}

/// A rating waits this long for its call's event; the reporter's queue is far shorter.
const WAIT_MS: i64 = 26 * HOUR_MS;
const FIGURES: usize = 22;

static INSERT_EVENTS: Bulk = Bulk::new(
    "INSERT INTO events (project_id, event_id, kind, received_ms, feedback_id, body)",
    6,
    "ON CONFLICT (project_id, event_id) DO NOTHING RETURNING project_id, event_id",
);
const INSERT_RATING: &str =
    "INSERT INTO ratings (project_id, feedback_id, outcome, issue, note, via, user_agent, request_headers, created_ms, updated_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (project_id, feedback_id) DO NOTHING";
const CORRECT_RATING: &str =
    "UPDATE ratings SET outcome = $3, issue = $4, note = $5, via = $6, user_agent = $7, request_headers = $8, updated_ms = $9
     WHERE project_id = $1 AND feedback_id = $2 AND created_ms >= $10";
const WAITING_RATINGS: &str = "SELECT project_id, feedback_id FROM ratings WHERE matched = 0 AND created_ms >= $1 ORDER BY created_ms DESC LIMIT 1000";
const CALL_OF_RATING: &str =
    "SELECT body FROM events WHERE project_id = $1 AND feedback_id = $2 AND kind = 'interaction' ORDER BY id LIMIT 1";
const MATCH_RATING: &str = "UPDATE ratings SET matched = 1, route = $3, status = $4, settled = $5
     WHERE project_id = $1 AND feedback_id = $2 AND matched = 0";

static COUNT_ROUTES: Bulk = Bulk::new(
    "INSERT INTO route_hours (project_id, hour, route, challenges, paid, settled, unsettled, delivered, client_errors,
     server_errors, discoveries, visits, escalations, others, latency_0, latency_1, latency_2, latency_3, latency_4, latency_5,
     latency_6, latency_7, latency_8, latency_9, latency_10)",
    3 + FIGURES,
    "ON CONFLICT (project_id, hour, route) DO UPDATE SET
     challenges = route_hours.challenges + excluded.challenges, paid = route_hours.paid + excluded.paid,
     settled = route_hours.settled + excluded.settled, unsettled = route_hours.unsettled + excluded.unsettled,
     delivered = route_hours.delivered + excluded.delivered,
     client_errors = route_hours.client_errors + excluded.client_errors,
     server_errors = route_hours.server_errors + excluded.server_errors,
     discoveries = route_hours.discoveries + excluded.discoveries, visits = route_hours.visits + excluded.visits,
     escalations = route_hours.escalations + excluded.escalations, others = route_hours.others + excluded.others,
     latency_0 = route_hours.latency_0 + excluded.latency_0, latency_1 = route_hours.latency_1 + excluded.latency_1,
     latency_2 = route_hours.latency_2 + excluded.latency_2, latency_3 = route_hours.latency_3 + excluded.latency_3,
     latency_4 = route_hours.latency_4 + excluded.latency_4, latency_5 = route_hours.latency_5 + excluded.latency_5,
     latency_6 = route_hours.latency_6 + excluded.latency_6, latency_7 = route_hours.latency_7 + excluded.latency_7,
     latency_8 = route_hours.latency_8 + excluded.latency_8, latency_9 = route_hours.latency_9 + excluded.latency_9,
     latency_10 = route_hours.latency_10 + excluded.latency_10",
);
static COUNT_CALLERS: Bulk = Bulk::new(
    "INSERT INTO caller_days (project_id, day, kind, name, events, paid)",
    6,
    "ON CONFLICT (project_id, day, kind, name) DO UPDATE SET
     events = caller_days.events + excluded.events, paid = caller_days.paid + excluded.paid",
);
