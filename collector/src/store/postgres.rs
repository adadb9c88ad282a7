//! PostgreSQL: several collectors may share one database.
//!
//! Rows are written in the order of their keys, events before counters, so two collectors wait for each other and never
//! dead-lock; unique keys make an event one event whoever brings it.
//!
//! `sslmode` and `sslrootcert` of the URL mean what they mean to psql, and public authorities are known without a file.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Error, Result};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};

use super::{Pool, Store};

const READERS: u32 = 6;

pub async fn connect(url: &str) -> Result<Store> {
    let options = checked(PgConnectOptions::from_str(url)?, url).application_name("forge-collector");
    let pool = |size| PgPoolOptions::new().max_connections(size).acquire_timeout(Duration::from_secs(5));
    let writer = pool(2).connect_with(options.clone()).await.map_err(explained)?;
    let readers = pool(READERS)
        .connect_lazy_with(options.options([("default_transaction_read_only", "on"), ("statement_timeout", "15s")]));
    Ok(Store { readers: Pool::Postgres(readers), writer: Pool::Postgres(writer) })
}

/// Whoever names an authority wants it asked: the driver alone would look at it in the verify modes only.
fn checked(options: PgConnectOptions, url: &str) -> PgConnectOptions {
    let named = url::Url::parse(url).is_ok_and(|url| {
        url.query_pairs().any(|(name, _)| matches!(&*name, "sslrootcert" | "ssl-root-cert" | "ssl-ca"))
    });
    match options.get_ssl_mode() {
        PgSslMode::Prefer | PgSslMode::Require if named => options.ssl_mode(PgSslMode::VerifyCa),
        _ => options,
    }
}

/// The error, in front of it what a person can do if it is about the server's certificate.
fn explained(error: sqlx::Error) -> Error {
    // Its causes stand in its text already.
    let said = error.to_string();
    let advice = if said.contains("UnknownIssuer") {
        "the server's certificate is of an authority that is not known here; &sslrootcert=ca.pem must name that authority's file"
    } else if said.contains("CaUsedAsEndEntity") {
        "the server shows an authority's certificate (CA:TRUE) as its own; it needs one of its own (CA:FALSE)"
    } else if said.contains("not valid for name") || said.contains("NotValidForName") {
        "the server's certificate is for another name than the URL's host"
    } else if said.contains("server does not support TLS") {
        "the server takes no encrypted connections; switch them on (ssl = on) or leave sslmode out"
    } else {
        return Error::msg(said);
    };
    Error::msg(said).context(advice)
}

pub async fn examine(pool: &PgPool) -> Result<Vec<(String, Result<String, String>)>> {
    let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(pool).await?;
    let bytes: i64 = sqlx::query_scalar("SELECT pg_database_size(current_database())").fetch_one(pool).await?;
    let sync: String = sqlx::query_scalar("SHOW synchronous_commit").fetch_one(pool).await?;
    let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(pool).await?;
    let encrypted: Option<String> =
        sqlx::query_scalar("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl")
            .fetch_optional(pool)
            .await?;
    let connection = match (encrypted, pool.connect_options().get_ssl_mode()) {
        (None, _) => "not encrypted".into(),
        (Some(version), PgSslMode::VerifyFull) => format!("{version}, the server's certificate and name are checked"),
        (Some(version), PgSslMode::VerifyCa) => format!("{version}, the server's certificate is checked"),
        (Some(version), _) => format!("{version}, the server's certificate is not checked"),
    };
    Ok(vec![
        ("database".into(), Ok(format!("PostgreSQL {version}, {} MiB", bytes / 1_048_576))),
        ("connection".into(), Ok(connection)),
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
