//! Figures for the summary and the dashboard. Counters answer most of it; ratings and escalations are read themselves.

use anyhow::Result;

use super::{Store, on};
use crate::clock::{DAY_MS, HOUR_MS};

/// Upper bounds of the latency columns; the last column holds what is above.
pub const LATENCY_BOUNDS_MS: [i64; 10] = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct RouteFigures {
    pub route: String,
    pub challenges: i64,
    pub paid: i64,
    pub settled: i64,
    pub unsettled: i64,
    pub delivered: i64,
    pub failed: i64,
}

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct TrafficPoint {
    pub bucket: i64,
    pub challenges: i64,
    pub paid: i64,
    pub settled: i64,
    pub unsettled: i64,
    pub client_errors: i64,
    pub server_errors: i64,
    pub l0: i64,
    pub l1: i64,
    pub l2: i64,
    pub l3: i64,
    pub l4: i64,
    pub l5: i64,
    pub l6: i64,
    pub l7: i64,
    pub l8: i64,
    pub l9: i64,
    pub l10: i64,
}

impl TrafficPoint {
    /// The latency below which this share of the calls stayed, in ms, interpolated inside its bucket; none without calls.
    pub fn latency(&self, share: f64) -> Option<f64> {
        let counts =
            [self.l0, self.l1, self.l2, self.l3, self.l4, self.l5, self.l6, self.l7, self.l8, self.l9, self.l10];
        let total: i64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        let wanted = share * total as f64;
        let mut below = 0.0;
        for (at, count) in counts.iter().enumerate() {
            let count = *count as f64;
            if count > 0.0 && below + count >= wanted {
                let low = if at == 0 { 0.0 } else { LATENCY_BOUNDS_MS[at - 1] as f64 };
                let high = LATENCY_BOUNDS_MS.get(at).map_or(low, |bound| *bound as f64);
                return Some(low + (high - low) * ((wanted - below) / count).clamp(0.0, 1.0));
            }
            below += count;
        }
        None
    }
}

/// Equal ratings, counted.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct RatingGroup {
    pub matched: i64,
    pub route: Option<String>,
    pub status: Option<i64>,
    pub settled: Option<i64>,
    pub outcome: String,
    pub issue: Option<String>,
    pub ratings: i64,
}

/// Equal ratings of one point in time.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct RatingPoint {
    pub bucket: i64,
    #[sqlx(flatten)]
    pub group: RatingGroup,
}

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Caller {
    pub name: String,
    pub events: i64,
    pub paid: i64,
}

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Escalation {
    pub received_ms: i64,
    pub body: String,
}

/// An event, or a rating (kind "rating", its columns as JSON members).
#[derive(Debug, Clone)]
pub struct FeedItem {
    pub kind: String,
    pub at_ms: i64,
    pub body: serde_json::Value,
}

/// What part of a project is looked at.
#[derive(Debug, Clone)]
pub struct Page {
    pub project_id: i64,
    pub from_ms: i64,
    /// Only this route, if set.
    pub route: Option<String>,
    /// Width of a point in time, in hours.
    pub step_hours: i64,
}

impl Store {
    pub async fn route_figures(&self, page: &Page) -> Result<Vec<RouteFigures>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, RouteFigures>(
                "SELECT route, CAST(SUM(challenges) AS BIGINT) AS challenges, CAST(SUM(paid) AS BIGINT) AS paid,
                 CAST(SUM(settled) AS BIGINT) AS settled, CAST(SUM(unsettled) AS BIGINT) AS unsettled,
                 CAST(SUM(delivered) AS BIGINT) AS delivered, CAST(SUM(client_errors + server_errors) AS BIGINT) AS failed
                 FROM route_hours WHERE project_id = $1 AND hour >= $2 AND ($3 = '' OR route = $3)
                 GROUP BY route ORDER BY SUM(challenges) + SUM(paid) DESC, route LIMIT 1000",
            )
            .bind(page.project_id)
            .bind(page.from_ms / HOUR_MS)
            .bind(page.route.as_deref().unwrap_or(""))
            .fetch_all(pool)
            .await
        })?)
    }

    pub async fn traffic(&self, page: &Page) -> Result<Vec<TrafficPoint>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, TrafficPoint>(
                "SELECT hour / $4 AS bucket, CAST(SUM(challenges) AS BIGINT) AS challenges, CAST(SUM(paid) AS BIGINT) AS paid,
                 CAST(SUM(settled) AS BIGINT) AS settled, CAST(SUM(unsettled) AS BIGINT) AS unsettled,
                 CAST(SUM(client_errors) AS BIGINT) AS client_errors, CAST(SUM(server_errors) AS BIGINT) AS server_errors,
                 CAST(SUM(latency_0) AS BIGINT) AS l0, CAST(SUM(latency_1) AS BIGINT) AS l1,
                 CAST(SUM(latency_2) AS BIGINT) AS l2, CAST(SUM(latency_3) AS BIGINT) AS l3,
                 CAST(SUM(latency_4) AS BIGINT) AS l4, CAST(SUM(latency_5) AS BIGINT) AS l5,
                 CAST(SUM(latency_6) AS BIGINT) AS l6, CAST(SUM(latency_7) AS BIGINT) AS l7,
                 CAST(SUM(latency_8) AS BIGINT) AS l8, CAST(SUM(latency_9) AS BIGINT) AS l9,
                 CAST(SUM(latency_10) AS BIGINT) AS l10
                 FROM route_hours WHERE project_id = $1 AND hour >= $2 AND ($3 = '' OR route = $3)
                 GROUP BY hour / $4 ORDER BY hour / $4",
            )
            .bind(page.project_id)
            .bind(page.from_ms / HOUR_MS)
            .bind(page.route.as_deref().unwrap_or(""))
            .bind(page.step_hours)
            .fetch_all(pool)
            .await
        })?)
    }

    pub async fn rating_groups(&self, page: &Page) -> Result<Vec<RatingGroup>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, RatingGroup>(
                "SELECT matched, route, status, settled, outcome, issue, COUNT(*) AS ratings
                 FROM ratings WHERE project_id = $1 AND created_ms >= $2 AND ($3 = '' OR route = $3)
                 GROUP BY matched, route, status, settled, outcome, issue",
            )
            .bind(page.project_id)
            .bind(page.from_ms)
            .bind(page.route.as_deref().unwrap_or(""))
            .fetch_all(pool)
            .await
        })?)
    }

    pub async fn ratings_over_time(&self, page: &Page) -> Result<Vec<RatingPoint>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, RatingPoint>(
                "SELECT created_ms / $4 AS bucket, matched, route, status, settled, outcome, issue, COUNT(*) AS ratings
                 FROM ratings WHERE project_id = $1 AND created_ms >= $2 AND ($3 = '' OR route = $3)
                 GROUP BY created_ms / $4, matched, route, status, settled, outcome, issue",
            )
            .bind(page.project_id)
            .bind(page.from_ms)
            .bind(page.route.as_deref().unwrap_or(""))
            .bind(page.step_hours * HOUR_MS)
            .fetch_all(pool)
            .await
        })?)
    }

    /// The callers with the most events. `kind` is "agent", "client" or "user_agent".
    pub async fn callers(&self, page: &Page, kind: &str) -> Result<Vec<Caller>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, Caller>(
                "SELECT name, CAST(SUM(events) AS BIGINT) AS events, CAST(SUM(paid) AS BIGINT) AS paid
                 FROM caller_days WHERE project_id = $1 AND day >= $2 AND kind = $3
                 GROUP BY name ORDER BY SUM(events) DESC, name LIMIT 8",
            )
            .bind(page.project_id)
            .bind(page.from_ms / DAY_MS)
            .bind(kind)
            .fetch_all(pool)
            .await
        })?)
    }

    pub async fn escalations(&self, page: &Page) -> Result<Vec<Escalation>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, Escalation>(
                "SELECT received_ms, body FROM events WHERE project_id = $1 AND kind = 'escalation' AND received_ms >= $2
                 ORDER BY id DESC LIMIT 20",
            )
            .bind(page.project_id)
            .bind(page.from_ms)
            .fetch_all(pool)
            .await
        })?)
    }

    /// The newest events and ratings, newest first.
    pub async fn feed(&self, project_id: i64, limit: i64) -> Result<Vec<FeedItem>> {
        let events: Vec<(String, i64, String)> = on!(self, |pool| {
            sqlx::query_as("SELECT kind, received_ms, body FROM events WHERE project_id = $1 ORDER BY id DESC LIMIT $2")
                .bind(project_id)
                .bind(limit)
                .fetch_all(pool)
                .await
        })?;
        type Rated = (i64, String, Option<String>, Option<String>, Option<String>, Option<String>);
        let ratings: Vec<Rated> = on!(self, |pool| {
            sqlx::query_as(
                "SELECT created_ms, outcome, issue, note, route, user_agent FROM ratings WHERE project_id = $1
                 ORDER BY created_ms DESC LIMIT $2",
            )
            .bind(project_id)
            .bind(limit)
            .fetch_all(pool)
            .await
        })?;
        let mut items: Vec<FeedItem> = events
            .into_iter()
            .map(|(kind, at_ms, body)| FeedItem { kind, at_ms, body: serde_json::from_str(&body).unwrap_or_default() })
            .chain(ratings.into_iter().map(|(at_ms, outcome, issue, note, route, user_agent)| FeedItem {
                kind: "rating".into(),
                at_ms,
                body: serde_json::json!({"outcome": outcome, "issue": issue, "note": note, "route": route, "user_agent": user_agent}),
            }))
            .collect();
        items.sort_by_key(|item| std::cmp::Reverse(item.at_ms));
        items.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(items)
    }

    /// The latest notes, with their route and outcome.
    pub async fn notes(&self, page: &Page) -> Result<Vec<(i64, String, Option<String>, Option<String>, String)>> {
        Ok(on!(self, |pool| {
            sqlx::query_as(
                "SELECT created_ms, outcome, issue, route, note FROM ratings WHERE project_id = $1 AND created_ms >= $2
                 AND ($3 = '' OR route = $3) AND note IS NOT NULL ORDER BY created_ms DESC LIMIT 10",
            )
            .bind(page.project_id)
            .bind(page.from_ms)
            .bind(page.route.as_deref().unwrap_or(""))
            .fetch_all(pool)
            .await
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::TrafficPoint;

    #[test]
    fn latency_is_read_out_of_the_buckets() {
        let mut point = TrafficPoint {
            bucket: 0,
            challenges: 0,
            paid: 0,
            settled: 0,
            unsettled: 0,
            client_errors: 0,
            server_errors: 0,
            l0: 0,
            l1: 0,
            l2: 0,
            l3: 0,
            l4: 0,
            l5: 0,
            l6: 0,
            l7: 0,
            l8: 0,
            l9: 0,
            l10: 0,
        };
        assert_eq!(point.latency(0.5), None);
        point.l3 = 100;
        assert_eq!(point.latency(0.5), Some(75.0));
        point.l10 = 100;
        assert_eq!(point.latency(0.95), Some(10_000.0));
    }
}
