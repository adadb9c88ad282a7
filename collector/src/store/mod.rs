//! What is kept, in SQLite or PostgreSQL: the same tables, the same SQL text, `$1` placeholders in both.
//!
//! `write` is the only road for events and ratings; `read` answers the summary and the dashboard; `projects` holds keys;
//! `upkeep` deletes, exports and copies. What differs between the two databases is in `sqlite` and `postgres`.

mod bulk;
mod names;
mod postgres;
mod projects;
mod read;
mod sqlite;
mod upkeep;
mod write;

use anyhow::{Context, Result, bail};
use sqlx::{PgPool, SqlitePool};

pub use names::Names;
pub use projects::{KeyRow, Project};
pub use read::{
    Caller, Escalation, FeedItem, LATENCY_BOUNDS_MS, Page, RatingGroup, RatingPoint, RouteFigures, TrafficPoint,
};
pub use upkeep::{Copied, ExportRow};
pub use write::{RatingWritten, Write, Written};

/// Runs the same async code against whichever pool is open.
macro_rules! on {
    ($store:expr, |$pool:ident| $body:expr) => {
        match $store.pool() {
            $crate::store::Pool::Sqlite($pool) => $body,
            $crate::store::Pool::Postgres($pool) => $body,
        }
    };
}
pub(crate) use on;

#[derive(Clone)]
pub enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

#[derive(Clone)]
pub struct Store {
    readers: Pool,
    writer: Pool,
}

impl Store {
    /// Opens the database, creating a SQLite file if there is none, and brings its tables up to date.
    ///
    /// `database` is a file path, `sqlite:PATH`, `postgres://…` or `postgresql://…`.
    pub async fn open(database: &str) -> Result<Self> {
        let store = Self::connect(database, true).await?;
        store.migrate().await?;
        Ok(store)
    }

    /// Opens what is there and changes nothing.
    pub async fn open_existing(database: &str) -> Result<Self> {
        Self::connect(database, false).await
    }

    async fn connect(database: &str, create: bool) -> Result<Self> {
        if database.starts_with("postgres://") || database.starts_with("postgresql://") {
            return postgres::connect(database)
                .await
                .with_context(|| format!("cannot open the PostgreSQL database {}", without_password(database)));
        }
        let path = database.strip_prefix("sqlite:").map_or(database, |rest| rest.strip_prefix("//").unwrap_or(rest));
        if path.is_empty() {
            bail!("the database is empty; give a file path or a postgres:// URL");
        }
        if let Some((scheme, _)) = path.split_once("://") {
            bail!("a database of kind {scheme:?} is not supported; give a file path or a postgres:// URL");
        }
        sqlite::connect(path, create).await.with_context(|| format!("cannot open the SQLite database {path}"))
    }

    async fn migrate(&self) -> Result<()> {
        match &self.writer {
            Pool::Sqlite(pool) => sqlx::migrate!("migrations/sqlite").run(pool).await,
            Pool::Postgres(pool) => sqlx::migrate!("migrations/postgres").run(pool).await,
        }
        .context("cannot bring the tables up to date")
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.readers
    }

    pub(crate) fn writer(&self) -> Writer<'_> {
        Writer(&self.writer)
    }

    pub fn kind(&self) -> &'static str {
        match self.readers {
            Pool::Sqlite(_) => "SQLite",
            Pool::Postgres(_) => "PostgreSQL",
        }
    }

    /// Whether the database answers; used by /healthz.
    pub async fn ping(&self) -> Result<()> {
        on!(self, |pool| sqlx::query("SELECT 1").execute(pool).await.map(drop))?;
        Ok(())
    }

    /// Writes and commits one small row, for `doctor`.
    pub async fn commit_something(&self, now_ms: i64) -> Result<()> {
        on!(self.writer(), |pool| {
            sqlx::query(
                "INSERT INTO settings (name, value) VALUES ('doctor', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            )
            .bind(&now_ms.to_be_bytes()[..])
            .execute(pool)
            .await
            .map(drop)
        })?;
        Ok(())
    }

    /// Facts for `doctor`: (what, value), and an error text where something is wrong.
    pub async fn examine(&self) -> Result<Vec<(String, Result<String, String>)>> {
        match &self.writer {
            Pool::Sqlite(pool) => sqlite::examine(pool).await,
            Pool::Postgres(pool) => postgres::examine(pool).await,
        }
    }

    /// Ends the connections; SQLite folds its write-ahead log back into the file.
    pub async fn close(&self) {
        on!(self, |pool| pool.close().await);
        on!(self.writer(), |pool| pool.close().await);
    }
}

/// The pool that writes: for SQLite a single connection, so writers queue instead of failing.
pub(crate) struct Writer<'a>(&'a Pool);

impl Writer<'_> {
    pub(crate) fn pool(&self) -> &Pool {
        self.0
    }

    /// How a transaction starts that is going to write: SQLite takes its lock at once instead of failing half-way.
    pub(crate) fn begin(&self) -> &'static str {
        match self.0 {
            Pool::Sqlite(_) => "BEGIN IMMEDIATE",
            Pool::Postgres(_) => "BEGIN",
        }
    }
}

/// The URL as it may be shown.
pub fn without_password(database: &str) -> String {
    match url::Url::parse(database) {
        Ok(mut url) if url.password().is_some() => {
            let _ = url.set_password(Some("***"));
            url.to_string()
        }
        _ => database.to_owned(),
    }
}
