//! Who is calling: a bearer key, looked up by its SHA-256.
//!
//! Found keys are remembered for ten seconds, so a key retired by another process is refused within that time. Unknown keys
//! are never remembered; an address that sends many of them is told to wait.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};

use super::{App, Fault};
use crate::store::KeyRow;
use crate::{feedback_id, key};

const REMEMBER: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Keys(Mutex<HashMap<[u8; 32], (KeyRow, Instant)>>);

/// A request whose bearer is the key of a project, within the project's rate.
pub struct Bearer {
    pub project_id: i64,
    /// Checks ids minted with the very key presented.
    pub signing_key: String,
}

impl FromRequestParts<App> for Bearer {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let presented = bearer(&parts.headers).ok_or_else(|| {
            app.metrics.refuse("wrong_key");
            Fault::new(StatusCode::UNAUTHORIZED, "missing_key", "send the project's key: Authorization: Bearer ffk_...")
        })?;
        let row = app.keys.find(app, presented, peer(parts)).await?;
        app.limits.request(row.project_id).map_err(|seconds| {
            app.metrics.refuse("rate_limited");
            Fault::rate_limited(seconds)
        })?;
        tracing::Span::current().record("project", row.project_id);
        Ok(Self { project_id: row.project_id, signing_key: feedback_id::signing_key(presented) })
    }
}

impl Keys {
    /// The key's row, or 401; 429 once this address has tried too many.
    pub async fn find(&self, app: &App, presented: &str, address: IpAddr) -> Result<KeyRow, Fault> {
        let sha256 = key::sha256(presented);
        let now_ms = app.clock.now_ms();
        if let Some(row) = self.remembered(&sha256).filter(|row| accepted(row, now_ms)) {
            return Ok(row);
        }
        let found = app.store.key(&sha256).await.map_err(|error| {
            tracing::error!(error = format!("{error:#}"), "cannot look up a key");
            Fault::storage()
        })?;
        match found.filter(|row| accepted(row, now_ms)) {
            Some(row) => {
                self.lock().insert(sha256, (row.clone(), Instant::now()));
                Ok(row)
            }
            None => {
                self.lock().remove(&sha256);
                app.metrics.refuse("wrong_key");
                app.limits.wrong_key(address).map_err(Fault::rate_limited)?;
                Err(Fault::new(
                    StatusCode::UNAUTHORIZED,
                    "wrong_key",
                    "this key belongs to no project, or was replaced",
                ))
            }
        }
    }

    fn remembered(&self, sha256: &[u8; 32]) -> Option<KeyRow> {
        self.lock().get(sha256).filter(|(_, at)| at.elapsed() < REMEMBER).map(|(row, _)| row.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], (KeyRow, Instant)>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

pub fn accepted(row: &KeyRow, now_ms: i64) -> bool {
    row.retired_ms.is_none_or(|retired_ms| now_ms < retired_ms)
}

/// The address of the other end of the connection. X-Forwarded-For is not read: anybody can send it.
pub fn peer(parts: &Parts) -> IpAddr {
    parts.extensions.get::<ConnectInfo<SocketAddr>>().map_or(IpAddr::from([0, 0, 0, 0]), |info| info.0.ip())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let value = lines.next()?.to_str().ok()?;
    if lines.next().is_some() {
        return None;
    }
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| clean_bearer(key)).flatten()
}

/// The key without the space around it; none if it is empty or far too long to be one.
pub fn clean_bearer(key: &str) -> Option<&str> {
    let key = key.trim();
    (!key.is_empty() && key.len() <= 512).then_some(key)
}
