//! SQLite: one connection writes, a few read beside it (write-ahead log).
//!
//! synchronous = FULL: a commit is on the disk before it is answered, so a power cut keeps the promise as well as kill -9
//! does (NORMAL would keep only the latter). It costs one fsync a transaction, and a transaction carries whole batches.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::{Pool, Store};

const READERS: u32 = 4;

pub async fn connect(path: &str, create: bool) -> Result<Store> {
    if !create && !Path::new(path).exists() {
        bail!("there is no such file; `forge-collector project add NAME` makes one");
    }
    if create {
        make_private(path)?;
    }
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(create)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10))
        .pragma("cache_size", "-65536")
        .pragma("wal_autocheckpoint", "4000")
        .pragma("journal_size_limit", "67108864");
    let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(options.pragma("cache_size", "-16384").pragma("query_only", "1"));
    Ok(Store { readers: Pool::Sqlite(readers), writer: Pool::Sqlite(writer) })
}

/// A new file is for its owner only; SQLite gives its log the same rights.
fn make_private(path: &str) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

pub async fn examine(pool: &SqlitePool) -> Result<Vec<(String, Result<String, String>)>> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(pool).await?;
    let journal: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(pool).await?;
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(pool).await?;
    let page_size: i64 = sqlx::query_scalar("PRAGMA page_size").fetch_one(pool).await?;
    let check: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(pool).await?;
    Ok(vec![
        ("database".into(), Ok(format!("SQLite {version}, {} MiB", pages * page_size / 1_048_576))),
        (
            "write-ahead log".into(),
            if journal == "wal" {
                Ok("on".into())
            } else {
                Err(format!("journal mode is {journal}; the file system may not support it (network drives do not)"))
            },
        ),
        (
            "integrity".into(),
            if check == "ok" { Ok(check) } else { Err(format!("{check}; restore a backup, see docs/collector.md")) },
        ),
    ])
}
