//! What `serve` runs with, checked.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::clock::{DAY_MS, HOUR_MS};

#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    /// Where /metrics and /healthz are served; on `listen` if none.
    pub metrics_listen: Option<SocketAddr>,
    pub requests_per_second: NonZeroU32,
    pub wrong_keys_per_minute: NonZeroU32,
    /// Largest request body in bytes.
    pub max_body: usize,
    /// Bytes of bodies waiting to be written; beyond it 503.
    pub max_queued: usize,
    pub max_connections: usize,
    /// Longest time for one request, body included.
    pub request_timeout: Duration,
    /// Events and ratings are deleted after this; none keeps them for ever.
    pub retention_ms: Option<i64>,
    /// How long a feedback id can be rated after its call.
    pub feedback_ttl_ms: i64,
    /// The session cookie is marked Secure: the dashboard is reached over https.
    pub secure_cookie: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8402)),
            metrics_listen: None,
            requests_per_second: NonZeroU32::new(500).expect("500 is not zero"),
            wrong_keys_per_minute: NonZeroU32::new(30).expect("30 is not zero"),
            max_body: 2 << 20,
            max_queued: 64 << 20,
            max_connections: 1024,
            request_timeout: Duration::from_secs(20),
            retention_ms: Some(90 * DAY_MS),
            feedback_ttl_ms: 24 * HOUR_MS,
            secure_cookie: false,
        }
    }
}

impl Config {
    pub fn check(&self) -> Result<()> {
        ensure!(
            (64 << 10..=64 << 20).contains(&self.max_body),
            "--max-body-kib: {} is out of range; use 64 to 65536",
            self.max_body >> 10
        );
        ensure!(
            self.max_queued >= self.max_body,
            "--max-queued-mib: {} MiB is less than one body may have ({} KiB)",
            self.max_queued >> 20,
            self.max_body >> 10
        );
        ensure!(self.max_connections >= 8, "--max-connections: at least 8");
        ensure!(
            self.metrics_listen != Some(self.listen),
            "--metrics-listen is the same address as --listen; leave it out instead"
        );
        Ok(())
    }
}
