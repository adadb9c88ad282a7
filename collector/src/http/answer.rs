//! JSON answers and the one shape of an error: `{"error": name, "message": text}`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::writer::WriteError;

pub fn json(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body.to_string())
        .into_response()
}

#[derive(Debug)]
pub struct Fault {
    pub status: StatusCode,
    pub error: &'static str,
    pub message: &'static str,
    /// Seconds for Retry-After.
    pub retry_after: Option<u64>,
}

impl Fault {
    pub fn new(status: StatusCode, error: &'static str, message: &'static str) -> Self {
        Self { status, error, message, retry_after: None }
    }

    pub fn rate_limited(seconds: u64) -> Self {
        Self {
            retry_after: Some(seconds),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "too many requests; wait as Retry-After says")
        }
    }

    pub fn storage() -> Self {
        Self {
            retry_after: Some(5),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "storage_unavailable",
                "the database could not be used; send it again",
            )
        }
    }
}

impl From<WriteError> for Fault {
    fn from(error: WriteError) -> Self {
        let (name, message) = match error {
            WriteError::QueueFull => ("queue_full", "too much waits to be written; send it again"),
            WriteError::Storage => return Self::storage(),
            WriteError::Closing => ("closing", "the collector is ending; send it again"),
        };
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, name, message) }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &json!({"error": self.error, "message": self.message}));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
