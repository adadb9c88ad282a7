//! Deleting what is too old, reading everything out, and moving to another database.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::bulk::Bulk;
use super::write::CORRECTION_MS;
use super::{Store, on};
use crate::clock::{DAY_MS, HOUR_MS, rfc3339};

/// Rows deleted in one transaction, so that writers wait for milliseconds only.
const PIECE: i64 = 2000;
/// Counters hold no personal data and little space; a year can be compared with the one before.
const KEEP_COUNTERS_MS: i64 = 400 * DAY_MS;

pub struct ExportRow {
    pub json: String,
}

/// How many rows of each table were copied.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub projects: u64,
    pub keys: u64,
    pub events: u64,
    pub ratings: u64,
    pub counters: u64,
}

impl Store {
    /// Deletes events received and ratings made before `before_ms`, and counters older than 400 days. Returns rows deleted.
    pub async fn delete_before(&self, before_ms: i64, now_ms: i64) -> Result<u64> {
        let mut deleted = 0;
        on!(self.writer(), |pool| {
            loop {
                // Ids rise with the time of receipt, so the oldest rows are the first: no index on time is needed.
                let last: Option<i64> = sqlx::query_scalar(
                    "SELECT MAX(id) FROM (SELECT id, received_ms FROM events ORDER BY id LIMIT $1) AS oldest
                     WHERE received_ms < $2",
                )
                .bind(PIECE)
                .bind(before_ms)
                .fetch_one(pool)
                .await?;
                let Some(last) = last else { break };
                deleted += sqlx::query("DELETE FROM events WHERE id <= $1 AND received_ms < $2")
                    .bind(last)
                    .bind(before_ms)
                    .execute(pool)
                    .await?
                    .rows_affected();
                tokio::task::yield_now().await;
            }
            deleted += sqlx::query("DELETE FROM ratings WHERE created_ms < $1")
                .bind(before_ms)
                .execute(pool)
                .await?
                .rows_affected();
            deleted += sqlx::query("DELETE FROM route_hours WHERE hour < $1")
                .bind((now_ms - KEEP_COUNTERS_MS) / HOUR_MS)
                .execute(pool)
                .await?
                .rows_affected();
            // Names of callers come from them, so they go with the events.
            deleted += sqlx::query("DELETE FROM caller_days WHERE day < $1")
                .bind(before_ms / DAY_MS)
                .execute(pool)
                .await?
                .rows_affected();
        });
        Ok(deleted)
    }

    /// One page of stored events after row `after`, received at or after `since_ms`; empty at the end.
    pub async fn export_events(&self, project_id: i64, since_ms: i64, after: i64) -> Result<(i64, Vec<ExportRow>)> {
        let rows: Vec<(i64, String, i64, String)> = on!(self, |pool| {
            sqlx::query_as(
                "SELECT id, event_id, received_ms, body FROM events WHERE project_id = $1 AND id > $2 AND received_ms >= $3
                 ORDER BY id LIMIT $4",
            )
            .bind(project_id)
            .bind(after)
            .bind(since_ms)
            .bind(PIECE)
            .fetch_all(pool)
            .await
        })?;
        let last = rows.last().map_or(after, |row| row.0);
        let rows = rows
            .into_iter()
            .map(|(_, event_id, received_ms, body)| {
                let event: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
                ExportRow {
                    json: json!({"kind": "event", "event_id": event_id, "received": rfc3339(received_ms), "received_ms": received_ms, "event": event})
                        .to_string(),
                }
            })
            .collect();
        Ok((last, rows))
    }

    /// One page of ratings made or corrected at or after `since_ms`, behind the one that ended the page before; empty at the end.
    pub async fn export_ratings(
        &self,
        project_id: i64,
        since_ms: i64,
        after: Option<(i64, String)>,
    ) -> Result<(Option<(i64, String)>, Vec<ExportRow>)> {
        // Earlier ones cannot have been corrected since.
        let (after_ms, after_id) = after.unwrap_or((since_ms.saturating_sub(CORRECTION_MS + 1), String::new()));
        type Row = (
            String,
            String,
            Option<String>,
            Option<String>,
            String,
            Option<String>,
            Option<String>,
            i64,
            i64,
            Option<String>,
            Option<i64>,
            Option<i64>,
        );
        let rows: Vec<Row> = on!(self, |pool| {
            sqlx::query_as(
                "SELECT feedback_id, outcome, issue, note, via, user_agent, request_headers, created_ms, updated_ms, route, status, settled
                 FROM ratings WHERE project_id = $1 AND (created_ms > $2 OR (created_ms = $2 AND feedback_id > $3)) AND updated_ms >= $4
                 ORDER BY created_ms, feedback_id LIMIT $5",
            )
            .bind(project_id)
            .bind(after_ms)
            .bind(&after_id)
            .bind(since_ms)
            .bind(PIECE)
            .fetch_all(pool)
            .await
        })?;
        let last = rows.last().map(|row| (row.7, row.0.clone()));
        let rows = rows
            .into_iter()
            .map(|row| {
                let headers: serde_json::Value = row.6.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
                ExportRow {
                    json: json!({"kind": "rating", "feedback_id": row.0, "outcome": row.1, "issue": row.2, "note": row.3, "via": row.4,
                        "user_agent": row.5, "request_headers": headers, "created": rfc3339(row.7), "created_ms": row.7,
                        "updated_ms": row.8, "route": row.9, "status": row.10, "settled": row.11.map(|settled| settled == 1)})
                    .to_string(),
                }
            })
            .collect();
        Ok((last, rows))
    }

    /// Copies everything into `target`, which must hold no project yet. Ids stay, so sessions and keys go on working.
    pub async fn copy_to(&self, target: &Self) -> Result<Copied> {
        ensure!(target.projects().await?.is_empty(), "the target holds projects already; copy into an empty database");
        let mut copied = Copied::default();

        let settings: Vec<(String, Vec<u8>)> =
            on!(self, |pool| sqlx::query_as("SELECT name, value FROM settings").fetch_all(pool).await)?;
        type Key = (i64, i64, Vec<u8>, String, i64, Option<i64>);
        let keys: Vec<Key> = on!(self, |pool| {
            sqlx::query_as("SELECT id, project_id, sha256, signing_key, created_ms, retired_ms FROM project_keys")
                .fetch_all(pool)
                .await
        })?;
        let projects = self.projects().await?;
        on!(target.writer(), |pool| {
            let mut transaction = pool.begin_with(target.writer().begin()).await?;
            for (name, value) in &settings {
                sqlx::query("INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
                    .bind(name)
                    .bind(value)
                    .execute(&mut *transaction)
                    .await?;
            }
            for project in &projects {
                sqlx::query("INSERT INTO projects (id, name, public_origin, created_ms) VALUES ($1, $2, $3, $4)")
                    .bind(project.id)
                    .bind(&project.name)
                    .bind(&project.public_origin)
                    .bind(project.created_ms)
                    .execute(&mut *transaction)
                    .await?;
                copied.projects += 1;
            }
            for (id, project_id, sha256, signing_key, created_ms, retired_ms) in &keys {
                sqlx::query("INSERT INTO project_keys (id, project_id, sha256, signing_key, created_ms, retired_ms) VALUES ($1, $2, $3, $4, $5, $6)")
                    .bind(id)
                    .bind(project_id)
                    .bind(sha256)
                    .bind(signing_key)
                    .bind(created_ms)
                    .bind(retired_ms)
                    .execute(&mut *transaction)
                    .await?;
                copied.keys += 1;
            }
            transaction.commit().await?;
        });
        copied.events = self.copy_events(target).await?;
        copied.ratings = self.copy_ratings(target).await?;
        copied.counters = self.copy_counters(target).await?;
        target.set_sequences().await?;
        Ok(copied)
    }

    async fn copy_events(&self, target: &Self) -> Result<u64> {
        type EventRow = (i64, i64, String, String, i64, Option<String>, String);
        let (mut copied, mut after) = (0, 0_i64);
        loop {
            let rows: Vec<EventRow> = on!(self, |pool| {
                sqlx::query_as(
                    "SELECT id, project_id, event_id, kind, received_ms, feedback_id, body FROM events WHERE id > $1 ORDER BY id LIMIT $2",
                )
                .bind(after)
                .bind(PIECE)
                .fetch_all(pool)
                .await
            })?;
            let Some(last) = rows.last() else { return Ok(copied) };
            after = last.0;
            on!(target.writer(), |pool| {
                let mut transaction = pool.begin_with(target.writer().begin()).await?;
                for (text, piece) in COPY_EVENTS.pieces(&rows) {
                    let mut query = sqlx::query(text);
                    for row in piece {
                        query = query
                            .bind(row.0)
                            .bind(row.1)
                            .bind(&row.2)
                            .bind(&row.3)
                            .bind(row.4)
                            .bind(&row.5)
                            .bind(&row.6);
                    }
                    copied += query.execute(&mut *transaction).await?.rows_affected();
                }
                transaction.commit().await?;
            });
        }
    }

    async fn copy_ratings(&self, target: &Self) -> Result<u64> {
        type Row = (
            i64,
            String,
            String,
            Option<String>,
            Option<String>,
            String,
            Option<String>,
            Option<String>,
            i64,
            i64,
            i64,
            Option<String>,
            Option<i64>,
            Option<i64>,
        );
        let (mut copied, mut after) = (0, (0_i64, String::new()));
        loop {
            let rows: Vec<Row> = on!(self, |pool| {
                sqlx::query_as(
                    "SELECT project_id, feedback_id, outcome, issue, note, via, user_agent, request_headers, created_ms, updated_ms, matched, route, status, settled
                     FROM ratings WHERE project_id > $1 OR (project_id = $1 AND feedback_id > $2) ORDER BY project_id, feedback_id LIMIT $3",
                )
                .bind(after.0)
                .bind(&after.1)
                .bind(PIECE)
                .fetch_all(pool)
                .await
            })?;
            let Some(last) = rows.last() else { return Ok(copied) };
            after = (last.0, last.1.clone());
            on!(target.writer(), |pool| {
                let mut transaction = pool.begin_with(target.writer().begin()).await?;
                for row in &rows {
                    sqlx::query(
                        "INSERT INTO ratings (project_id, feedback_id, outcome, issue, note, via, user_agent, request_headers, created_ms, updated_ms, matched, route, status, settled)
                         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                    )
                    .bind(row.0).bind(&row.1).bind(&row.2).bind(&row.3).bind(&row.4).bind(&row.5).bind(&row.6)
                    .bind(&row.7).bind(row.8).bind(row.9).bind(row.10).bind(&row.11).bind(row.12).bind(row.13)
                    .execute(&mut *transaction)
                    .await?;
                    copied += 1;
                }
                transaction.commit().await?;
            });
        }
    }

    /// Both tables of counters, row by row as text and numbers.
    async fn copy_counters(&self, target: &Self) -> Result<u64> {
        let mut copied = 0;
        let callers: Vec<(i64, i64, String, String, i64, i64)> = on!(self, |pool| {
            sqlx::query_as("SELECT project_id, day, kind, name, events, paid FROM caller_days").fetch_all(pool).await
        })?;
        on!(target.writer(), |pool| {
            let mut transaction = pool.begin_with(target.writer().begin()).await?;
            for row in &callers {
                sqlx::query("INSERT INTO caller_days (project_id, day, kind, name, events, paid) VALUES ($1, $2, $3, $4, $5, $6)")
                    .bind(row.0)
                    .bind(row.1)
                    .bind(&row.2)
                    .bind(&row.3)
                    .bind(row.4)
                    .bind(row.5)
                    .execute(&mut *transaction)
                    .await?;
                copied += 1;
            }
            transaction.commit().await?;
        });
        let mut after_hour = i64::MIN;
        loop {
            // Whole hours at a time: the figures travel as one text, 22 numbers apart by commas.
            let hours: Vec<(i64, i64, String, String)> = on!(self, |pool| {
                sqlx::query_as(
                    "SELECT project_id, hour, route, CONCAT_WS(',', challenges, paid, settled, unsettled, delivered, client_errors,
                     server_errors, discoveries, visits, escalations, others, latency_0, latency_1, latency_2, latency_3, latency_4,
                     latency_5, latency_6, latency_7, latency_8, latency_9, latency_10) AS figures
                     FROM route_hours WHERE hour = (SELECT MIN(hour) FROM route_hours WHERE hour > $1)",
                )
                .bind(after_hour)
                .fetch_all(pool)
                .await
            })?;
            let Some(first) = hours.first() else { return Ok(copied) };
            after_hour = first.1;
            on!(target.writer(), |pool| {
                let mut transaction = pool.begin_with(target.writer().begin()).await?;
                for (project_id, hour, route, figures) in &hours {
                    let mut query = sqlx::query(
                        "INSERT INTO route_hours VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)",
                    )
                    .bind(project_id)
                    .bind(hour)
                    .bind(route);
                    for figure in figures.split(',') {
                        query = query.bind(figure.parse::<i64>().context("a counter is not a number")?);
                    }
                    query.execute(&mut *transaction).await?;
                    copied += 1;
                }
                transaction.commit().await?;
            });
        }
    }

    /// PostgreSQL hands out ids from counters that do not see ids given by hand.
    async fn set_sequences(&self) -> Result<()> {
        if let super::Pool::Postgres(pool) = self.writer().pool() {
            for statement in [
                "SELECT setval(pg_get_serial_sequence('projects', 'id'), GREATEST(1, (SELECT COALESCE(MAX(id), 1) FROM projects)))",
                "SELECT setval(pg_get_serial_sequence('project_keys', 'id'), GREATEST(1, (SELECT COALESCE(MAX(id), 1) FROM project_keys)))",
                "SELECT setval(pg_get_serial_sequence('events', 'id'), GREATEST(1, (SELECT COALESCE(MAX(id), 1) FROM events)))",
            ] {
                sqlx::query(statement).execute(pool).await?;
            }
        }
        Ok(())
    }
}

static COPY_EVENTS: Bulk =
    Bulk::new("INSERT INTO events (id, project_id, event_id, kind, received_ms, feedback_id, body)", 7, "");
