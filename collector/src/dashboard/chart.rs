//! Figures over time: what the script draws, and the same as a table.

use std::collections::HashMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::words::{ISSUE_COLORS, issue_label, number, outcome_color, outcome_label};
use crate::clock::{HOUR_MS, rfc3339};
use crate::standing::{Standing, Standings};
use crate::store::{Page, RatingPoint, Store, TrafficPoint};
use crate::submission::{ISSUES, OUTCOMES};

pub struct Chart {
    pub id: &'static str,
    pub title: &'static str,
    pub data: String,
    pub columns: Vec<&'static str>,
    pub rows: Vec<(String, Vec<String>)>,
}

pub async fn charts(
    store: &Store,
    page: &Page,
    standings: &Standings<'_>,
    days: i64,
    now_ms: i64,
) -> Result<Vec<Chart>> {
    let traffic = store.traffic(page).await?;
    // The same ratings that the funnel counts.
    let ratings = store.ratings_over_time(page).await?;
    let ratings: Vec<_> = ratings.iter().filter(|point| standings.of(&point.group) == Standing::Counted).collect();
    let step_ms = page.step_hours * HOUR_MS;
    let buckets: Vec<i64> = (page.from_ms / step_ms..=now_ms / step_ms).collect();
    let by_bucket: HashMap<i64, &TrafficPoint> = traffic.iter().map(|point| (point.bucket, point)).collect();
    let mut outcome_counts: HashMap<(i64, &str), i64> = HashMap::new();
    let mut issue_counts: HashMap<(i64, &str), i64> = HashMap::new();
    for RatingPoint { bucket, group } in ratings {
        *outcome_counts.entry((*bucket, &group.outcome)).or_default() += group.ratings;
        if let Some(issue) = &group.issue {
            *issue_counts.entry((*bucket, issue)).or_default() += group.ratings;
        }
    }
    let plot = Plot { buckets: &buckets, step_ms, days };
    let count = |of: fn(&TrafficPoint) -> i64| -> Vec<Option<f64>> {
        buckets.iter().map(|bucket| Some(by_bucket.get(bucket).map_or(0, |point| of(point)) as f64)).collect()
    };
    let latency = |share: f64| -> Vec<Option<f64>> {
        buckets
            .iter()
            .map(|bucket| by_bucket.get(bucket).and_then(|point| point.latency(share)).map(f64::round))
            .collect()
    };
    let named = |counts: &HashMap<(i64, &str), i64>, name: &str| -> Vec<Option<f64>> {
        buckets.iter().map(|bucket| Some(counts.get(&(*bucket, name)).copied().unwrap_or(0) as f64)).collect()
    };
    Ok(vec![
        plot.chart(
            "traffic",
            "Calls",
            "line",
            "",
            vec![
                ("Challenges", "--c-challenge", count(|p| p.challenges)),
                ("Paid", "--c-paid", count(|p| p.paid)),
                ("Settled", "--c-settled", count(|p| p.settled)),
            ],
        ),
        plot.chart(
            "ratings",
            "Ratings",
            "bars",
            "",
            OUTCOMES
                .iter()
                .map(|name| (outcome_label(name), outcome_color(name), named(&outcome_counts, name)))
                .collect(),
        ),
        plot.chart(
            "issues",
            "Issues",
            "bars",
            "",
            ISSUES
                .iter()
                .enumerate()
                .map(|(at, name)| (issue_label(name), ISSUE_COLORS[at], named(&issue_counts, name)))
                .collect(),
        ),
        plot.chart(
            "latency",
            "Latency of paid calls (estimated)",
            "line",
            "ms",
            vec![("Median", "--c-paid", latency(0.5)), ("95th percentile", "--c-partially", latency(0.95))],
        ),
        plot.chart(
            "failures",
            "Failures of paid calls",
            "line",
            "",
            vec![
                ("Client errors (4xx)", "--c-partially", count(|p| p.client_errors)),
                ("Server errors (5xx)", "--c-no", count(|p| p.server_errors)),
                ("Not settled", "--c-challenge", count(|p| p.unsettled)),
            ],
        ),
    ])
}

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
                (
                    when,
                    series
                        .iter()
                        .map(|(_, _, values)| values[at].map_or_else(|| "-".into(), |value| number(value as i64)))
                        .collect(),
                )
            })
            .collect();
        let series: Vec<Value> = series
            .into_iter()
            .map(|(name, color, values)| json!({"name": name, "color": color, "values": values}))
            .collect();
        let x: Vec<i64> = self.buckets.iter().map(|bucket| bucket * self.step_ms / 1000).collect();
        Chart {
            id,
            title,
            data: json!({"kind": kind, "unit": unit, "step": self.step_ms / 1000, "x": x, "series": series})
                .to_string(),
            columns,
            rows,
        }
    }
}
