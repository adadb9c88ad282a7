//! What happens by the clock: joining late pairs every half minute, deleting what is too old every hour.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::store::Store;

/// Runs until its task is aborted.
pub async fn run(store: Store, clock: Clock, metrics: Arc<Metrics>, retention_ms: Option<i64>) {
    let mut ticks = tokio::time::interval(Duration::from_secs(30));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut tick = 0_u64;
    loop {
        ticks.tick().await;
        if let Err(error) = store.match_waiting_ratings(clock.now_ms()).await {
            tracing::warn!(error = format!("{error:#}"), "could not match waiting ratings");
        }
        if let Some(retention_ms) = retention_ms.filter(|_| tick.is_multiple_of(120)) {
            let now_ms = clock.now_ms();
            match store.delete_before(now_ms - retention_ms, now_ms).await {
                Ok(0) => {}
                Ok(rows) => {
                    metrics.deleted_rows.inc_by(rows);
                    tracing::info!(rows, "deleted what is past its retention");
                }
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "could not delete what is past its retention")
                }
            }
        }
        tick += 1;
    }
}
