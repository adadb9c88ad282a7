//! What each command does. Results go to standard output, the rest to standard error.

use std::io::{Read, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cli::{Cli, Command, Export, LogFormat, ProjectCommand, Serve, What};
use crate::clock::{Clock, DAY_MS, HOUR_MS, rfc3339};
use crate::config::Config;
use crate::store::{Store, without_password};
use crate::{http, key, origin};

pub async fn run(cli: Cli) -> Result<ExitCode> {
    let database = cli.database;
    match cli.command {
        Command::Serve(serve) => run_serve(&database, *serve).await?,
        Command::Project { command } => project(&database, command).await?,
        Command::Export(export) => run_export(&database, export).await?,
        Command::Prune { keep_days } => prune(&database, keep_days).await?,
        Command::Copy { to } => copy(&database, &to).await?,
        Command::Doctor => return doctor(&database).await,
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_serve(database: &str, serve: Serve) -> Result<()> {
    start_logging(serve.log_format)?;
    let config = Config {
        listen: serve.listen,
        metrics_listen: serve.metrics_listen,
        requests_per_second: serve.rate_limit,
        wrong_keys_per_minute: serve.wrong_keys_per_minute,
        max_body: serve.max_body_kib << 10,
        max_queued: serve.max_queued_mib << 20,
        max_connections: serve.max_connections,
        retention_ms: (serve.retention_days > 0).then(|| i64::from(serve.retention_days) * DAY_MS),
        feedback_ttl_ms: i64::from(serve.feedback_ttl_hours.get()) * HOUR_MS,
        secure_cookie: serve.secure_cookie,
        ..Config::default()
    };
    config.check()?;
    let store = Store::open(database).await?;
    if store.projects().await?.is_empty() {
        tracing::warn!("there is no project yet; `forge-collector project add NAME` makes one and prints its key");
    }
    let running = http::start(store, config, Clock::default()).await?;
    if let Some(path) = &serve.address_file {
        std::fs::write(path, running.address.to_string())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    tracing::info!(database = without_password(database), "listening on http://{}", running.address);
    wait_for_signal().await?;
    tracing::info!("ending: no new connections, what is under way is finished");
    running.stop(Duration::from_secs(10)).await;
    Ok(())
}

fn start_logging(format: LogFormat) -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info,sqlx=warn".into());
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match format {
        LogFormat::Text => logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => logs.json().try_init(),
    }
    .map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

async fn wait_for_signal() -> Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => {}
            result = tokio::signal::ctrl_c() => result?,
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}

async fn project(database: &str, command: ProjectCommand) -> Result<()> {
    let now_ms = Clock::default().now_ms();
    if let ProjectCommand::Add { name, public_origin, key_stdin } = command {
        let origin = public_origin.as_deref().map(origin::parse).transpose()?;
        let api_key = if key_stdin { key_from_stdin()? } else { key::generate()? };
        let store = Store::open(database).await?;
        store.add_project(&name, origin.as_deref(), &api_key, now_ms).await?;
        store.close().await;
        if key_stdin {
            eprintln!("Added {name:?} with the given key.");
        } else {
            eprintln!("Added {name:?}. This is its key; it is kept as a hash only and cannot be shown again:");
            println!("{api_key}");
        }
        return Ok(());
    }
    let store = Store::open_existing(database).await?;
    match command {
        ProjectCommand::Add { .. } => {}
        ProjectCommand::List => {
            for project in store.projects().await? {
                println!(
                    "{}\t{}\t{}",
                    project.name,
                    project.public_origin.as_deref().unwrap_or("-"),
                    rfc3339(project.created_ms)
                );
            }
        }
        ProjectCommand::Rotate { name, grace_hours } => {
            let api_key = key::generate()?;
            let project = existing(&store, &name).await?;
            store.rotate_key(project, &api_key, now_ms + i64::from(grace_hours) * HOUR_MS, now_ms).await?;
            eprintln!(
                "The old key is accepted for {grace_hours} more hours. This is the new one; it cannot be shown again:"
            );
            println!("{api_key}");
        }
        ProjectCommand::Origin { name, origin } => {
            let origin = origin.as_deref().map(origin::parse).transpose()?;
            store.set_origin(existing(&store, &name).await?, origin.as_deref()).await?;
            eprintln!("{name:?}: public origin {}", origin.as_deref().unwrap_or("cleared"));
        }
        ProjectCommand::Remove { name, yes } => {
            let project = existing(&store, &name).await?;
            ensure!(yes, "this deletes all events and ratings of {name:?}; add --yes to do it");
            store.remove_project(project).await?;
            eprintln!("Removed {name:?} and all its data.");
        }
    }
    store.close().await;
    Ok(())
}

fn key_from_stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().take(4096).read_to_string(&mut text).context("cannot read the key from standard input")?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    key::check_imported(text)?;
    Ok(text.to_owned())
}

async fn existing(store: &Store, name: &str) -> Result<i64> {
    match store.project_by_name(name).await? {
        Some(project) => Ok(project.id),
        None => bail!("there is no project {name:?}; `project list` shows what there is"),
    }
}

async fn run_export(database: &str, export: Export) -> Result<()> {
    let since_ms = parse_time(&export.since)?;
    let store = Store::open_existing(database).await?;
    let mut projects = store.projects().await?;
    if let Some(name) = &export.project {
        projects.retain(|project| project.name == *name);
        ensure!(!projects.is_empty(), "there is no project {name:?}; `project list` shows what there is");
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = async {
        for project in &projects {
            if export.what != What::Ratings {
                let mut after = 0;
                loop {
                    let (last, rows) = store.export_events(project.id, since_ms, after).await?;
                    if rows.is_empty() {
                        break;
                    }
                    after = last;
                    for row in rows {
                        writeln!(out, "{}", with_project(&row.json, &project.name))?;
                    }
                }
            }
            if export.what != What::Events {
                let mut after = None;
                loop {
                    let (last, rows) = store.export_ratings(project.id, since_ms, after).await?;
                    if rows.is_empty() {
                        break;
                    }
                    after = last;
                    for row in rows {
                        writeln!(out, "{}", with_project(&row.json, &project.name))?;
                    }
                }
            }
        }
        out.flush()?;
        anyhow::Ok(())
    }
    .await;
    store.close().await;
    match result {
        // The reader had enough, as `head` does.
        Err(error)
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe) =>
        {
            Ok(())
        }
        other => other,
    }
}

fn with_project(json: &str, name: &str) -> String {
    format!("{{\"project\":{},{}", serde_json::Value::from(name), &json[1..])
}

/// A date (midnight UTC), an RFC 3339 time, or unix milliseconds.
fn parse_time(text: &str) -> Result<i64> {
    if let Ok(ms) = text.parse::<i64>() {
        return Ok(ms);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    if let Ok(time) = format!("{text}T00:00:00Z").parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    bail!("--since: {text:?} is not a time; use 2026-11-30, 2026-11-30T12:00:00Z or unix milliseconds")
}

async fn prune(database: &str, keep_days: u32) -> Result<()> {
    let store = Store::open_existing(database).await?;
    let now_ms = Clock::default().now_ms();
    let rows = store.delete_before(now_ms - i64::from(keep_days) * DAY_MS, now_ms).await?;
    store.close().await;
    eprintln!("Deleted {rows} rows older than {keep_days} days.");
    Ok(())
}

async fn copy(from: &str, to: &str) -> Result<()> {
    let source = Store::open_existing(from).await?;
    let target = Store::open(to).await?;
    let copied = source.copy_to(&target).await?;
    source.close().await;
    target.close().await;
    eprintln!(
        "Copied {} projects, {} keys, {} events, {} ratings and {} counters into {}.",
        copied.projects,
        copied.keys,
        copied.events,
        copied.ratings,
        copied.counters,
        without_password(to)
    );
    Ok(())
}

async fn doctor(database: &str) -> Result<ExitCode> {
    let store = match Store::open_existing(database).await {
        Ok(store) => store,
        Err(error) => {
            println!("FAIL  open: {error:#}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut findings = store.examine().await?;
    let started = Instant::now();
    findings.push(match store.commit_something(Clock::default().now_ms()).await {
        Ok(()) => ("a small commit".into(), Ok(format!("{} ms", started.elapsed().as_millis()))),
        Err(error) => ("a small commit".into(), Err(format!("{error:#}"))),
    });
    findings.push(match store.projects().await {
        Ok(projects) if projects.is_empty() => {
            ("projects".into(), Err("none; `forge-collector project add NAME` makes one".into()))
        }
        Ok(projects) => ("projects".into(), Ok(projects.len().to_string())),
        Err(error) => {
            ("projects".into(), Err(format!("{error:#}; `forge-collector serve` brings the tables up to date")))
        }
    });
    let now_ms = Clock::default().now_ms();
    let plausible = now_ms > 1_780_000_000_000;
    findings.push((
        "clock".into(),
        if plausible {
            Ok(rfc3339(now_ms))
        } else {
            Err(format!("{} cannot be right; feedback ids would count as expired", rfc3339(now_ms)))
        },
    ));
    store.close().await;
    let mut failed = false;
    for (what, finding) in findings {
        match finding {
            Ok(value) => println!("ok    {what}: {value}"),
            Err(fault) => {
                failed = true;
                println!("FAIL  {what}: {fault}");
            }
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    #[test]
    fn since_takes_a_date_a_time_or_milliseconds() {
        assert_eq!(super::parse_time("1970-01-02").unwrap(), 86_400_000);
        assert_eq!(super::parse_time("1970-01-01T00:00:01Z").unwrap(), 1000);
        assert_eq!(super::parse_time("1234").unwrap(), 1234);
        assert!(super::parse_time("yesterday").unwrap_err().to_string().contains("2026-11-30"));
    }
}
