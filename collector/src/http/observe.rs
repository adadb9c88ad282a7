//! Around every request: an id, a log line, figures, a time limit, and the headers every answer carries.

use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tracing::Instrument;

use super::{App, Fault};
use crate::metrics;

const REQUEST_ID: &str = "x-request-id";

pub async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("(none)", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", id, method, route, project = tracing::field::Empty);

    let mut response = next.run(request).instrument(span.clone()).await;

    let elapsed = started.elapsed();
    let status = response.status().as_u16();
    let quiet = matches!(route.as_str(), "/healthz" | "/metrics" | "/live" | "/assets/{name}");
    span.in_scope(|| match status {
        500.. => tracing::warn!(status, ms = elapsed.as_millis() as u64, "answered"),
        _ if quiet => tracing::debug!(status, ms = elapsed.as_millis() as u64, "answered"),
        _ => tracing::info!(status, ms = elapsed.as_millis() as u64, "answered"),
    });
    app.metrics.request_seconds.observe(elapsed.as_secs_f64());
    app.metrics.requests.get_or_create(&metrics::Request { route, method, status }).inc();

    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    response
}

pub async fn limit_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    tokio::time::timeout(limit, next.run(request)).await.unwrap_or_else(|_| {
        Fault {
            retry_after: Some(1),
            ..Fault::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", "the request took too long")
        }
        .into_response()
    })
}

/// The caller's id if it is a short plain word, so that logs on both sides can be joined; a fresh one otherwise.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    if let Some(id) = given.filter(|id| {
        (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    }) {
        return id.to_owned();
    }
    let mut bytes = [0u8; 12];
    // An id that could not be random is still an id; nothing depends on it.
    let _ = getrandom::fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
