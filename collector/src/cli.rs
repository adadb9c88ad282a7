//! The command line.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Collects what forge-x402 reports about a paid HTTP API: calls, ratings, failures. Keeps it on your machine and shows it.
///
/// To begin: `forge-collector project add NAME` prints a key. Then `forge-collector serve`, give your API
/// the key (api_key) and the address (backend_url), and sign in with the key at the address.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// Where the data is: a file, or postgres://user@host/name
    #[arg(
        long,
        global = true,
        env = "FORGE_COLLECTOR_DATABASE",
        default_value = "forge-collector.db",
        hide_env_values = true
    )]
    pub database: String,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run the collector until Ctrl-C
    Serve(Box<Serve>),
    /// Add, list and change projects and their keys
    Project {
        #[command(subcommand)]
        command: ProjectCommand,
    },
    /// Write events and ratings to standard output, one JSON object a line
    Export(Export),
    /// Delete what is older than a number of days, now
    Prune {
        /// Keep this many days
        #[arg(long, value_name = "DAYS")]
        keep_days: u32,
    },
    /// Copy everything into another, empty database; stop `serve` first
    Copy {
        /// The other database: a file, or postgres://user@host/name
        #[arg(long, value_name = "DATABASE")]
        to: String,
    },
    /// Look for what could be wrong: database, a test commit, projects, clock
    Doctor,
}

#[derive(Args)]
pub struct Serve {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", env = "FORGE_COLLECTOR_LISTEN", default_value = "127.0.0.1:8402")]
    pub listen: SocketAddr,
    /// Serve /metrics and /healthz here instead of on the main address
    #[arg(long, value_name = "ADDRESS:PORT", env = "FORGE_COLLECTOR_METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,
    /// Delete events and ratings after this many days; 0 keeps them
    #[arg(long, value_name = "DAYS", env = "FORGE_COLLECTOR_RETENTION_DAYS", default_value_t = 90)]
    pub retention_days: u32,
    /// Hours after a call in which it can be rated; the same as the API's ttl_ms
    #[arg(long, value_name = "HOURS", env = "FORGE_COLLECTOR_FEEDBACK_TTL_HOURS", default_value = "24")]
    pub feedback_ttl_hours: NonZeroU32,
    /// Requests a second that one project may send (twice that in a burst)
    #[arg(long, value_name = "NUMBER", env = "FORGE_COLLECTOR_RATE_LIMIT", default_value = "500")]
    pub rate_limit: NonZeroU32,
    /// Wrong keys a minute that one address may try
    #[arg(long, value_name = "NUMBER", default_value = "30")]
    pub wrong_keys_per_minute: NonZeroU32,
    /// Largest request body in KiB
    #[arg(long, value_name = "KIB", default_value_t = 2048)]
    pub max_body_kib: usize,
    /// Memory for bodies that wait to be written, in MiB; when it is full the answer is 503
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub max_queued_mib: usize,
    /// Open connections at most; further ones wait
    #[arg(long, value_name = "NUMBER", default_value_t = 1024)]
    pub max_connections: usize,
    /// The dashboard is reached over https (through a proxy): mark its cookie Secure
    #[arg(long, env = "FORGE_COLLECTOR_SECURE_COOKIE")]
    pub secure_cookie: bool,
    /// How log lines look
    #[arg(long, value_name = "FORMAT", env = "FORGE_COLLECTOR_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Write the address in use into this file once the collector listens (useful with port 0)
    #[arg(long, value_name = "FILE")]
    pub address_file: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Subcommand)]
pub enum ProjectCommand {
    /// Add a project and print its key; the key is shown this once
    Add {
        /// What you call it, such as the name of the API
        name: String,
        /// The API's public origin, handed to its servers for rating links: https://api.example.com
        #[arg(long, value_name = "URL")]
        public_origin: Option<String>,
        /// Take over an existing key from standard input instead of making one
        #[arg(long)]
        key_stdin: bool,
    },
    /// List projects
    List,
    /// Give a project a new key; ids signed with the old one stay valid
    Rotate {
        /// The project's name
        name: String,
        /// Hours in which the old key is still accepted
        #[arg(long, value_name = "HOURS", default_value_t = 24)]
        grace_hours: u32,
    },
    /// Set or clear the public origin
    Origin {
        /// The project's name
        name: String,
        /// https://api.example.com; leave it out to clear
        origin: Option<String>,
    },
    /// Delete a project and all its data
    Remove {
        /// The project's name
        name: String,
        /// Really do it
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args)]
pub struct Export {
    /// From when on, by time of receipt or correction: 2026-11-30, 2026-11-30T12:00:00Z, or unix milliseconds
    #[arg(long, value_name = "TIME", default_value = "1970-01-01")]
    pub since: String,
    /// Only this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// What to write
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = What::All)]
    pub what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    All,
    Events,
    Ratings,
}

const EXAMPLES: &str = "\
Examples:
  forge-collector project add weather --public-origin https://api.example.com
  forge-collector serve --listen 127.0.0.1:8402
  forge-collector export --since 2026-11-01 --what ratings > ratings.ndjson
  forge-collector --database postgres://forge@127.0.0.1/forge doctor";

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        super::Cli::command().debug_assert();
    }
}
