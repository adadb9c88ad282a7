//! The whole dashboard as figures a person reads: the funnel, who calls, and what the neighbours make of the rest.

use std::collections::HashMap;

use anyhow::Result;

use super::chart::{Chart, charts};
use super::entry::{EscalationCard, FeedEntry, Note, escalation, feed};
use super::words::{bar, issue_label, number, outcome_class, outcome_label};
use crate::clock::rfc3339;
use crate::standing::{Standing, Standings};
use crate::store::{Caller, Page, Store};
use crate::submission::OUTCOMES;

pub struct View {
    pub days: i64,
    pub route: String,
    pub routes: Vec<String>,
    pub empty: bool,
    pub steps: Vec<Step>,
    pub funnel: Vec<RouteRow>,
    /// What was said of ratings that do not count; empty if all count.
    pub kept_apart: String,
    pub charts: Vec<Chart>,
    pub callers: Vec<CallerList>,
    pub escalations: Vec<EscalationCard>,
    pub notes: Vec<Note>,
    pub feed: Vec<FeedEntry>,
}

/// One step of the whole funnel.
pub struct Step {
    pub name: &'static str,
    pub count: String,
    /// What share of the step before came this far, as text.
    pub share: String,
    /// Width of the bar, 0 to 100.
    pub width: i64,
}

pub struct RouteRow {
    pub route: String,
    pub challenges: String,
    pub paid: String,
    pub settled: String,
    pub rated: String,
    pub failed: String,
    pub bars: [i64; 4],
    pub outcomes: Vec<Slice>,
    pub outcome_text: String,
}

/// A part of a bar of width 100.
pub struct Slice {
    pub class: &'static str,
    pub x: f64,
    pub width: f64,
}

pub struct CallerList {
    pub title: &'static str,
    pub empty: &'static str,
    pub rows: Vec<CallerRow>,
}

pub struct CallerRow {
    pub name: String,
    pub events: String,
    pub paid: String,
    pub width: i64,
}

pub async fn gather(store: &Store, page: Page, days: i64, now_ms: i64, feed_length: i64) -> Result<View> {
    let whole = Page { route: None, ..page.clone() };
    let all_routes = store.route_figures(&whole).await?;
    let standings = Standings::new(&all_routes);
    let mut rated: HashMap<String, HashMap<String, i64>> = HashMap::new();
    let (mut unsettled, mut waiting) = (0, 0);
    for group in store.rating_groups(&page).await? {
        match standings.of(&group) {
            Standing::Counted => {
                *rated.entry(group.route.unwrap_or_default()).or_default().entry(group.outcome).or_default() +=
                    group.ratings;
            }
            Standing::Unsettled => unsettled += group.ratings,
            Standing::Waiting => waiting += group.ratings,
        }
    }
    let figures: Vec<_> =
        all_routes.iter().filter(|figures| page.route.as_ref().is_none_or(|route| *route == figures.route)).collect();
    let sum = |of: fn(&crate::store::RouteFigures) -> i64| figures.iter().map(|figures| of(figures)).sum::<i64>();
    let totals = [
        sum(|f| f.challenges),
        sum(|f| f.paid),
        sum(|f| f.settled),
        rated.values().flat_map(HashMap::values).sum::<i64>(),
    ];
    let widest = figures.iter().map(|f| f.challenges.max(f.paid)).max().unwrap_or(0).max(1);
    let funnel = figures
        .iter()
        .filter(|f| f.challenges + f.paid > 0 || rated.contains_key(&f.route))
        .take(50)
        .map(|f| {
            let outcomes = rated.get(&f.route);
            let ratings: i64 = outcomes.map_or(0, |outcomes| outcomes.values().sum());
            RouteRow {
                route: f.route.clone(),
                challenges: number(f.challenges),
                paid: number(f.paid),
                settled: number(f.settled),
                rated: number(ratings),
                failed: number(f.failed),
                bars: [f.challenges, f.paid, f.settled, ratings].map(|count| bar(count, widest)),
                outcomes: slices(outcomes, ratings),
                outcome_text: outcome_text(outcomes),
            }
        })
        .collect();

    let charts = charts(store, &page, &standings, days, now_ms).await?;
    let mut callers = Vec::new();
    for (kind, title, empty) in [
        ("agent", "Agents", "No agent has said who it is."),
        ("client", "Payment clients", "No agent has named its payment client."),
        ("user_agent", "User agents", "No user agent was reported."),
    ] {
        callers.push(CallerList { title, empty, rows: caller_rows(store.callers(&whole, kind).await?) });
    }
    let escalations =
        store.escalations(&whole).await?.iter().map(|row| escalation(row.received_ms, &row.body)).collect();
    let notes = store.notes(&page).await?.into_iter().map(|(at_ms, outcome, issue, route, text)| Note {
        when: rfc3339(at_ms),
        class: outcome_class(&outcome),
        outcome: outcome_label(&outcome).into(),
        issue: issue.as_deref().map_or_else(String::new, |issue| issue_label(issue).into()),
        route: route.unwrap_or_default(),
        text,
    });
    let feed = feed(store.feed(page.project_id, feed_length).await?);
    let mut routes: Vec<String> = all_routes.iter().take(200).map(|figures| figures.route.clone()).collect();
    routes.sort();
    Ok(View {
        days,
        route: page.route.clone().unwrap_or_default(),
        routes,
        empty: feed.is_empty() && all_routes.is_empty(),
        steps: steps(totals),
        funnel,
        kept_apart: kept_apart(unsettled, waiting),
        charts,
        callers,
        escalations,
        notes: notes.collect(),
        feed,
    })
}

fn kept_apart(unsettled: i64, waiting: i64) -> String {
    let of = |count: i64, what: &str| match count {
        0 => None,
        1 => Some(format!("1 rating {what}")),
        _ => Some(format!("{} ratings {what}", number(count))),
    };
    [of(unsettled, "of calls that were not settled"), of(waiting, "whose call has not been reported yet")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

fn steps(totals: [i64; 4]) -> Vec<Step> {
    let widest = totals.into_iter().max().unwrap_or(0).max(1);
    ["Challenges", "Paid", "Settled", "Rated"]
        .into_iter()
        .enumerate()
        .map(|(at, name)| Step {
            name,
            count: number(totals[at]),
            share: match at.checked_sub(1).map(|before| totals[before]) {
                Some(before) if before > 0 => {
                    format!("{:.0} % of {}", totals[at] as f64 * 100.0 / before as f64, STEP_BEFORE[at])
                }
                _ => String::new(),
            },
            width: bar(totals[at], widest),
        })
        .collect()
}

const STEP_BEFORE: [&str; 4] = ["", "challenges", "paid", "settled"];

fn caller_rows(callers: Vec<Caller>) -> Vec<CallerRow> {
    let widest = callers.first().map_or(1, |caller| caller.events.max(1));
    callers
        .into_iter()
        .map(|caller| CallerRow {
            name: caller.name,
            events: number(caller.events),
            paid: number(caller.paid),
            width: bar(caller.events, widest),
        })
        .collect()
}

fn slices(outcomes: Option<&HashMap<String, i64>>, ratings: i64) -> Vec<Slice> {
    let mut x = 0.0;
    OUTCOMES
        .into_iter()
        .filter_map(|name| {
            let count = *outcomes?.get(name)?;
            let width = count as f64 * 100.0 / ratings.max(1) as f64;
            let slice = Slice { class: outcome_class(name), x, width };
            x += width;
            Some(slice)
        })
        .collect()
}

fn outcome_text(outcomes: Option<&HashMap<String, i64>>) -> String {
    let Some(outcomes) = outcomes else { return "not rated yet".into() };
    let parts: Vec<String> = OUTCOMES
        .into_iter()
        .filter_map(|name| Some(format!("{} {}", number(*outcomes.get(name)?), outcome_label(name).to_lowercase())))
        .collect();
    parts.join(", ")
}
