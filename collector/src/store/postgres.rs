//! PostgreSQL: several collectors may share one database.
//!
//! Rows are written in the order of their keys, events before counters, so two collectors wait for each other and never
//! dead-lock; unique keys make an event one event whoever brings it.

use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::{Pool, Store};

const READERS: u32 = 6;

pub async fn connect(url: &str) -> Result<Store> {
    let options = PgConnectOptions::from_str(url)?.application_name("forge-collector");
    let pool = |size| PgPoolOptions::new().max_connections(size).acquire_timeout(Duration::from_secs(5));
    let writer = pool(2).connect_with(options.clone()).await?;
    let readers = pool(READERS)
        .connect_lazy_with(options.options([("default_transaction_read_only", "on"), ("statement_timeout", "15s")]));
    Ok(Store { readers: Pool::Postgres(readers), writer: Pool::Postgres(writer) })
}

pub async fn examine(pool: &PgPool) -> Result<Vec<(String, Result<String, String>)>> {
    let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(pool).await?;
    let bytes: i64 = sqlx::query_scalar("SELECT pg_database_size(current_database())").fetch_one(pool).await?;
    let sync: String = sqlx::query_scalar("SHOW synchronous_commit").fetch_one(pool).await?;
    let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(pool).await?;
    Ok(vec![
        ("database".into(), Ok(format!("PostgreSQL {version}, {} MiB", bytes / 1_048_576))),
        (
            "durable commits".into(),
            if sync == "off" {
                Err("synchronous_commit is off: a crash of the server may lose what was answered 2xx; set it to on"
                    .into())
            } else {
                Ok(format!("synchronous_commit = {sync}"))
            },
        ),
        (
            "encoding".into(),
            if encoding == "UTF8" { Ok(encoding) } else { Err(format!("{encoding}; create the database with UTF8")) },
        ),
    ])
}
