//! Figures for Prometheus. No label holds text from outside, so the number of series is fixed.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Request {
    pub route: String,
    pub method: &'static str,
    pub status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ByResult {
    pub result: &'static str,
}

pub struct Metrics {
    registry: Registry,
    pub requests: Family<Request, Counter>,
    pub request_seconds: Histogram,
    pub events: Family<ByResult, Counter>,
    pub ratings: Family<ByResult, Counter>,
    pub refused: Family<ByResult, Counter>,
    pub write_seconds: Histogram,
    pub write_events: Histogram,
    pub write_failures: Counter,
    pub queued_bytes: Gauge,
    pub connections: Gauge,
    pub deleted_rows: Counter,
}

impl Metrics {
    pub fn new() -> Self {
        let seconds = || Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);
        let metrics = Self {
            registry: Registry::with_prefix("forge_collector"),
            requests: Family::default(),
            request_seconds: seconds(),
            events: Family::default(),
            ratings: Family::default(),
            refused: Family::default(),
            write_seconds: seconds(),
            write_events: Histogram::new([1.0, 10.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0]),
            write_failures: Counter::default(),
            queued_bytes: Gauge::default(),
            connections: Gauge::default(),
            deleted_rows: Counter::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests answered, by route, method and status", self.requests.clone());
        registry.register_with_unit(
            "http_request",
            "Time from head to answer",
            Unit::Seconds,
            self.request_seconds.clone(),
        );
        registry.register("events", "Events: accepted, duplicate or rejected", self.events.clone());
        registry.register(
            "ratings",
            "Ratings: recorded, corrected, final, unknown_id or invalid",
            self.ratings.clone(),
        );
        registry.register(
            "refused",
            "Requests refused: wrong_key, rate_limited, queue_full or storage",
            self.refused.clone(),
        );
        registry.register_with_unit("write", "Time of one transaction", Unit::Seconds, self.write_seconds.clone());
        registry.register("write_events", "Events in one transaction", self.write_events.clone());
        registry.register("write_failures", "Transactions that failed", self.write_failures.clone());
        registry.register_with_unit("queued", "Bodies waiting to be written", Unit::Bytes, self.queued_bytes.clone());
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register("deleted_rows", "Rows deleted by retention", self.deleted_rows.clone());
        let build: Gauge<i64, std::sync::atomic::AtomicI64> = Gauge::default();
        build.set(1);
        let version = ("version".into(), env!("CARGO_PKG_VERSION").into());
        registry.sub_registry_with_label(version).register("build_info", "The running version", build);
        self
    }

    pub fn event(&self, result: &'static str, count: usize) {
        if count > 0 {
            self.events.get_or_create(&ByResult { result }).inc_by(count as u64);
        }
    }

    pub fn rating(&self, result: &'static str) {
        self.ratings.get_or_create(&ByResult { result }).inc();
    }

    pub fn refuse(&self, result: &'static str) {
        self.refused.get_or_create(&ByResult { result }).inc();
    }

    /// The OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}
