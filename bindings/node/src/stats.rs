//! Counters as Node reads them.

use std::collections::HashMap;

use napi_derive::napi;

/// What has happened in this process so far; see index.d.ts.
#[napi(object, object_from_js = false)]
pub struct Stats {
    pub generation: f64,
    pub minted: f64,
    pub described: f64,
    pub skipped: f64,
    pub skips: HashMap<String, f64>,
    pub internal_errors: f64,
    pub queued: f64,
    pub sent: f64,
    pub dropped: f64,
    pub failed_posts: f64,
    pub worker_running: bool,
}

impl From<forge_x402::Stats> for Stats {
    fn from(stats: forge_x402::Stats) -> Stats {
        Stats {
            generation: stats.generation as f64,
            minted: stats.minted as f64,
            described: stats.described as f64,
            skipped: stats.skipped as f64,
            skips: stats.skips.into_iter().map(|(name, count)| (name.to_owned(), count as f64)).collect(),
            internal_errors: stats.internal_errors as f64,
            queued: stats.queued as f64,
            sent: stats.sent as f64,
            dropped: stats.dropped as f64,
            failed_posts: stats.failed_posts as f64,
            worker_running: stats.worker_running,
        }
    }
}
