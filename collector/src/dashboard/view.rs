//! Figures as a person reads them: shares, bars, charts as data, one line per event.

use std::collections::HashMap;

use anyhow::Result;
use serde_json::{Value, json};

use crate::clock::{HOUR_MS, rfc3339};
use crate::standing::{Standing, Standings};
use crate::store::{Caller, FeedItem, Page, Store, TrafficPoint};
use crate::submission::{ISSUES, OUTCOMES};

pub struct View {
    pub days: i64,
    pub route: String,
    pub routes: Vec<String>,
    pub empty: bool,
    pub steps: Vec<Step>,
    pub funnel: Vec<RouteRow>,
    pub unsettled: i64,
    pub waiting: i64,
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

pub struct Chart {
    pub id: &'static str,
    pub title: &'static str,
    pub data: String,
    pub columns: Vec<&'static str>,
    pub rows: Vec<(String, Vec<String>)>,
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

pub struct EscalationCard {
    pub code: String,
    pub when: String,
    pub route: String,
    pub facts: Vec<(String, String)>,
}

pub struct Note {
    pub when: String,
    pub outcome: String,
    pub issue: String,
    pub route: String,
    pub text: String,
}

pub struct FeedEntry {
    pub when: String,
    pub class: &'static str,
    pub title: String,
    pub route: String,
    pub detail: String,
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
                *rated.entry(group.route.unwrap_or_default()).or_default().entry(group.outcome).or_default() += group.ratings;
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

    let traffic = store.traffic(&page).await?;
    let (outcomes, issues) = store.ratings_over_time(&page).await?;
    let step_ms = page.step_hours * HOUR_MS;
    let buckets: Vec<i64> = (page.from_ms / step_ms..=now_ms / step_ms).collect();
    let by_bucket: HashMap<i64, &TrafficPoint> = traffic.iter().map(|point| (point.bucket, point)).collect();
    let mut outcome_counts: HashMap<(i64, &str), i64> = HashMap::new();
    for point in &outcomes {
        outcome_counts.insert((point.bucket, &point.outcome), point.ratings);
    }
    let mut issue_counts: HashMap<(i64, &str), i64> = HashMap::new();
    for point in &issues {
        issue_counts.insert((point.bucket, &point.issue), point.ratings);
    }
    let plot = Plot { buckets: &buckets, step_ms, days };
    let count = |of: fn(&TrafficPoint) -> i64| -> Vec<Option<f64>> {
        buckets.iter().map(|bucket| Some(by_bucket.get(bucket).map_or(0, |point| of(point)) as f64)).collect()
    };
    let latency = |share: f64| -> Vec<Option<f64>> {
        buckets.iter().map(|bucket| by_bucket.get(bucket).and_then(|point| point.latency(share)).map(f64::round)).collect()
    };
    let named = |counts: &HashMap<(i64, &str), i64>, name: &str| -> Vec<Option<f64>> {
        buckets.iter().map(|bucket| Some(counts.get(&(*bucket, name)).copied().unwrap_or(0) as f64)).collect()
    };
    let charts = vec![
        plot.chart("traffic", "Calls", "line", "", vec![
            ("Challenges", "--c-challenge", count(|p| p.challenges)),
            ("Paid", "--c-paid", count(|p| p.paid)),
            ("Settled", "--c-settled", count(|p| p.settled)),
        ]),
        plot.chart("ratings", "Ratings", "bars", "", OUTCOMES.iter().map(|name| {
            (outcome_label(name), outcome_color(name), named(&outcome_counts, name))
        }).collect()),
        plot.chart("issues", "Issues", "bars", "", ISSUES.iter().enumerate().map(|(at, name)| {
            (issue_label(name), ISSUE_COLORS[at], named(&issue_counts, name))
        }).collect()),
        plot.chart("latency", "Latency of paid calls", "line", "ms", vec![
            ("Median", "--c-paid", latency(0.5)),
            ("95th percentile", "--c-partially", latency(0.95)),
        ]),
        plot.chart("failures", "Failures of paid calls", "line", "", vec![
            ("Client errors (4xx)", "--c-partially", count(|p| p.client_errors)),
            ("Server errors (5xx)", "--c-no", count(|p| p.server_errors)),
            ("Not settled", "--c-challenge", count(|p| p.unsettled)),
        ]),
    ];

    let mut callers = Vec::new();
    for (kind, title, empty) in [
        ("agent", "Agents", "No agent has said who it is."),
        ("client", "Payment clients", "No agent has named its payment client."),
        ("user_agent", "User agents", "No user agent was reported."),
    ] {
        callers.push(CallerList { title, empty, rows: caller_rows(store.callers(&whole, kind).await?) });
    }
    let escalations = store.escalations(&whole).await?.iter().map(|row| escalation(row.received_ms, &row.body)).collect();
    let notes = store.notes(&page).await?.into_iter().map(|(at_ms, outcome, issue, route, text)| Note {
        when: rfc3339(at_ms),
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
        unsettled,
        waiting,
        charts,
        callers,
        escalations,
        notes: notes.collect(),
        feed,
    })
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
                Some(before) if before > 0 => format!("{:.0} % of {}", totals[at] as f64 * 100.0 / before as f64, STEP_BEFORE[at]),
                _ => String::new(),
            },
            width: bar(totals[at], widest),
        })
        .collect()
}

const STEP_BEFORE: [&str; 4] = ["", "challenges", "paid", "settled"];

struct Plot<'a> {
    buckets: &'a [i64],
    step_ms: i64,
    days: i64,
}

impl Plot<'_> {
    fn chart(
        &self,
        id: &'static str,
        title: &'static str,
        kind: &str,
        unit: &str,
        series: Vec<(&'static str, &'static str, Vec<Option<f64>>)>,
    ) -> Chart {
        let columns = series.iter().map(|(name, _, _)| *name).collect();
        // A table of zeros tells nothing: only points with a value get a row.
        let rows = self
            .buckets
            .iter()
            .enumerate()
            .filter(|(at, _)| series.iter().any(|(_, _, values)| values[*at].is_some_and(|value| value > 0.0)))
            .map(|(at, bucket)| {
                let when = rfc3339(bucket * self.step_ms);
                let when = if self.days > 7 { when[..10].to_owned() } else { when[..16].replace('T', " ") };
                (when, series.iter().map(|(_, _, values)| values[at].map_or_else(|| "-".into(), |value| number(value as i64))).collect())
            })
            .collect();
        let series: Vec<Value> = series
            .into_iter()
            .map(|(name, color, values)| json!({"name": name, "color": color, "values": values}))
            .collect();
        let x: Vec<i64> = self.buckets.iter().map(|bucket| bucket * self.step_ms / 1000).collect();
        Chart { id, title, data: json!({"kind": kind, "unit": unit, "step": self.step_ms / 1000, "x": x, "series": series}).to_string(), columns, rows }
    }
}

pub fn feed(items: Vec<FeedItem>) -> Vec<FeedEntry> {
    items.into_iter().map(entry).collect()
}

fn entry(item: FeedItem) -> FeedEntry {
    let body = &item.body;
    let text = |name: &str| body[name].as_str().unwrap_or("").to_owned();
    let who = match body["agent_context"]["agent_type"].as_str() {
        Some(agent) => agent.to_owned(),
        None => text("user_agent"),
    };
    let join = |parts: &[String]| parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" · ");
    let status = body["status"].as_i64().map_or_else(String::new, |status| status.to_string());
    let latency = body["latency_ms"].as_i64().map_or_else(String::new, |ms| format!("{} ms", number(ms)));
    let (class, title, detail) = match item.kind.as_str() {
        "challenge" => ("challenge", "Challenge".to_owned(), who),
        "interaction" => {
            let settled = body["settled"].as_bool().or_else(|| body.get("transaction").map(|_| true));
            let title = match settled {
                Some(true) => "Paid and settled",
                Some(false) => "Not settled",
                None => "Paid call",
            };
            let failed = body["status"].as_i64().is_some_and(|status| status >= 400) || settled == Some(false);
            let price = join(&[text("amount"), text("network")]);
            (if failed { "failed" } else { "paid" }, title.to_owned(), join(&[status, latency, price, who]))
        }
        "rating" => {
            let outcome = text("outcome");
            let issue = body["issue"].as_str().map_or_else(String::new, |issue| issue_label(issue).to_lowercase());
            let class = match outcome.as_str() {
                "fully" => "fully",
                "partially" => "partially",
                "no" => "no",
                _ => "other",
            };
            (class, format!("Rated: {}", outcome_label(&outcome).to_lowercase()), join(&[issue, text("note"), who]))
        }
        "discovery" => ("other", "Discovery".to_owned(), who),
        "visit" => ("other", "Visit".to_owned(), join(&[status, latency, who])),
        "escalation" => ("no", "Escalated".to_owned(), join(&[text("code"), text("correlation_id"), who])),
        _ => ("other", text("type"), who),
    };
    FeedEntry { when: rfc3339(item.at_ms), class, title, route: text("route"), detail }
}

fn escalation(received_ms: i64, body: &str) -> EscalationCard {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut facts = Vec::new();
    if let Value::Object(members) = &body {
        for (name, value) in members {
            match value {
                Value::Object(inner) => facts.extend(inner.iter().map(|(name, value)| (name.replace('_', " "), text(value)))),
                _ if matches!(name.as_str(), "type" | "id" | "route" | "code" | "ts") => {}
                _ => facts.push((name.replace('_', " "), text(value))),
            }
        }
    }
    facts.truncate(24);
    EscalationCard {
        code: body["code"].as_str().unwrap_or("(no code)").to_owned(),
        when: rfc3339(received_ms),
        route: body["route"].as_str().unwrap_or("").to_owned(),
        facts,
    }
}

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
        .zip(["fully", "partially", "no", "other"])
        .filter_map(|(name, class)| {
            let count = *outcomes?.get(name)?;
            let width = count as f64 * 100.0 / ratings.max(1) as f64;
            let slice = Slice { class, x, width };
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

fn outcome_label(name: &str) -> &'static str {
    match name {
        "fully" => "Fully",
        "partially" => "Partially",
        "no" => "No",
        _ => "Not evaluated",
    }
}

fn outcome_color(name: &str) -> &'static str {
    match name {
        "fully" => "--c-fully",
        "partially" => "--c-partially",
        "no" => "--c-no",
        _ => "--c-other",
    }
}

fn issue_label(name: &str) -> &'static str {
    match name {
        "wrong_output" => "Wrong output",
        "unmet_expectation" => "Unmet expectation",
        "schema_mismatch" => "Schema mismatch",
        "slow" => "Slow",
        "unclear_docs" => "Unclear docs",
        _ => "Too expensive",
    }
}

const ISSUE_COLORS: [&str; 6] = ["--c-no", "--c-partially", "--c-challenge", "--c-paid", "--c-settled", "--c-other"];

fn bar(count: i64, widest: i64) -> i64 {
    // Something that is there is seen, however small.
    if count == 0 { 0 } else { (count * 100 / widest).clamp(1, 100) }
}

/// 1234567 as 1,234,567.
fn number(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        out.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_their_thousands_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000")] {
            assert_eq!(super::number(value), text);
        }
    }
}
