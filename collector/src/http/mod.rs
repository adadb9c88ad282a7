//! The collector as a running server: what it shares, its routes, its start and its end.
//!
//! `api` speaks the protocol, `auth` knows keys, `observe` gives every request an id, a log line and its figures, `server`
//! accepts connections within bounds.

mod answer;
mod api;
mod auth;
mod observe;
mod server;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::extract::{DefaultBodyLimit, FromRef, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower_http::catch_panic::CatchPanicLayer;

pub use answer::Fault;
pub use auth::{Keys, clean_bearer};

use crate::clock::Clock;
use crate::config::Config;
use crate::dashboard;
use crate::limits::Limits;
use crate::maintenance;
use crate::metrics::Metrics;
use crate::store::Store;
use crate::writer::Writer;

#[derive(Clone)]
pub struct App {
    pub store: Store,
    pub writer: Writer,
    pub config: Arc<Config>,
    pub limits: Arc<Limits>,
    pub metrics: Arc<Metrics>,
    pub keys: Arc<Keys>,
    pub clock: Clock,
    pub sessions: Arc<dashboard::Sessions>,
}

impl FromRef<App> for Arc<Metrics> {
    fn from_ref(app: &App) -> Self {
        app.metrics.clone()
    }
}

/// A started collector.
pub struct Running {
    /// The address in use; the port is a real one even if 0 was asked for.
    pub address: SocketAddr,
    pub metrics_address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    servers: Vec<JoinHandle<()>>,
    writer: JoinHandle<()>,
    upkeep: JoinHandle<()>,
    store: Store,
}

/// Listens, starts the writer and the upkeep. Returns once connections are accepted.
pub async fn start(store: Store, config: Config, clock: Clock) -> Result<Running> {
    let metrics = Arc::new(Metrics::new());
    let (writer, writer_task) = Writer::start(store.clone(), clock.clone(), metrics.clone(), config.max_queued);
    let app = App {
        sessions: Arc::new(dashboard::Sessions::new(store.session_secret().await?, config.secure_cookie)),
        limits: Arc::new(Limits::new(config.requests_per_second, config.wrong_keys_per_minute)),
        keys: Arc::new(Keys::default()),
        config: Arc::new(config.clone()),
        store: store.clone(),
        writer,
        metrics: metrics.clone(),
        clock: clock.clone(),
    };
    let (stop, stopped) = watch::channel(false);
    let listener = listen(config.listen).await?;
    let address = listener.local_addr()?;
    let mut servers = vec![];
    let mut metrics_address = None;
    if let Some(metrics_listen) = config.metrics_listen {
        let listener = listen(metrics_listen).await?;
        metrics_address = Some(listener.local_addr()?);
        let routes = observed(health_routes(), &app);
        servers.push(tokio::spawn(server::serve(listener, routes, 64, metrics.clone(), stopped.clone())));
    }
    let routes = routes(&app);
    servers.push(tokio::spawn(server::serve(listener, routes, config.max_connections, metrics.clone(), stopped)));
    let upkeep = tokio::spawn(maintenance::run(store.clone(), clock, metrics, config.retention_ms));
    Ok(Running { address, metrics_address, stop, servers, writer: writer_task, upkeep, store })
}

impl Running {
    /// Ends within `limit`: no new connections, requests under way are answered, the queue is written, the database closed.
    pub async fn stop(self, limit: Duration) {
        let _ = self.stop.send(true);
        self.upkeep.abort();
        let finish = async {
            for server in self.servers {
                let _ = server.await;
            }
            // The writer ends by itself when the last request has let go of it.
            let _ = self.writer.await;
            self.store.close().await;
        };
        if tokio::time::timeout(limit, finish).await.is_err() {
            tracing::warn!("some requests did not end in time; none of them was answered 2xx");
        }
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; another program may use it (try --listen with another port)")
    })
}

fn routes(app: &App) -> Router {
    let api = Router::new()
        .route("/events", post(api::events))
        .route("/feedback", post(api::feedback))
        .route("/summary", get(api::summary))
        .route("/project", get(api::project));
    let mut all = Router::new()
        .merge(api.clone())
        .nest("/v1", api)
        .merge(dashboard::routes())
        .route("/openapi.json", get(openapi));
    if app.config.metrics_listen.is_none() {
        all = all.merge(health_routes());
    }
    observed(all, app)
}

fn health_routes() -> Router<App> {
    Router::new().route("/healthz", get(healthz)).route("/metrics", get(metrics_text))
}

fn observed(routes: Router<App>, app: &App) -> Router {
    routes
        .fallback(|| async { Fault::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address") })
        .method_not_allowed_fallback(|| async {
            Fault::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "see the Allow header for what this address takes",
            )
        })
        .layer(DefaultBodyLimit::max(app.config.max_body))
        .layer(middleware::from_fn_with_state(app.config.request_timeout, observe::limit_time))
        .layer(CatchPanicLayer::custom(|_| {
            Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "a fault in the collector; it is in its log")
                .into_response()
        }))
        .layer(from_fn_with_state(app.clone(), observe::observe))
        .with_state(app.clone())
}

async fn healthz(State(app): State<App>) -> Response {
    match app.store.ping().await {
        Ok(()) => answer::json(StatusCode::OK, &json!({"status": "ok"})),
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "the database does not answer");
            answer::json(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "database_unavailable"}))
        }
    }
}

async fn metrics_text(State(app): State<App>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    (kind, app.metrics.text()).into_response()
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("../../assets/openapi.json")).into_response()
}
