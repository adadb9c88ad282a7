//! Who looks at the dashboard: a signed cookie, twelve hours, tied to the key it was opened with.
//!
//! The cookie names a key's row and a time, under a MAC whose secret lives in the database; collectors that share one accept
//! each other's. A key that was retired opens nothing any more, old cookies included.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::clock::HOUR_MS;
use crate::http::App;
use crate::store::Project;

const LIFETIME_MS: i64 = 12 * HOUR_MS;

pub struct Sessions {
    secret: Vec<u8>,
    secure: bool,
}

impl Sessions {
    pub fn new(secret: Vec<u8>, secure: bool) -> Self {
        Self { secret, secure }
    }

    /// The Set-Cookie value that signs in with this key.
    pub fn open(&self, key_id: i64, now_ms: i64) -> Option<HeaderValue> {
        let claim = format!("{key_id}.{}", now_ms + LIFETIME_MS);
        let mac = URL_SAFE_NO_PAD.encode(self.mac(&claim).finalize().into_bytes());
        self.cookie(&format!("{claim}.{mac}"), LIFETIME_MS / 1000)
    }

    /// The Set-Cookie value that signs out.
    pub fn close(&self) -> Option<HeaderValue> {
        self.cookie("", 0)
    }

    fn cookie(&self, value: &str, max_age_s: i64) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        HeaderValue::from_str(&format!(
            "{}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}",
            self.name()
        ))
        .ok()
    }

    fn name(&self) -> &'static str {
        if self.secure { "__Host-forge_session" } else { "forge_session" }
    }

    fn mac(&self, claim: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"forge-collector-session/1 ");
        mac.update(claim.as_bytes());
        mac
    }

    /// The key this request is signed in with, if the cookie is genuine and young enough.
    fn key_id(&self, headers: &HeaderMap, now_ms: i64) -> Option<i64> {
        let value = headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .find_map(|pair| pair.trim().strip_prefix(self.name())?.strip_prefix('='))?;
        let (claim, mac) = value.rsplit_once('.')?;
        self.mac(claim).verify_slice(&URL_SAFE_NO_PAD.decode(mac).ok()?).ok()?;
        let (key_id, until_ms) = claim.split_once('.')?;
        (now_ms < until_ms.parse::<i64>().ok()?).then_some(key_id.parse().ok()?)
    }
}

/// The project whose dashboard this request may see.
pub async fn signed_in(app: &App, headers: &HeaderMap) -> anyhow::Result<Option<Project>> {
    let now_ms = app.clock.now_ms();
    let Some(key_id) = app.sessions.key_id(headers, now_ms) else { return Ok(None) };
    let Some(key) = app.store.key_by_id(key_id).await? else { return Ok(None) };
    if key.retired_ms.is_some_and(|retired_ms| retired_ms <= now_ms) {
        return Ok(None);
    }
    app.store.project(key.project_id).await
}

/// Whether a form was sent from a page of ours: what the browser says about its source, if it says anything.
pub fn same_origin(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => origin.split_once("://").map(|(_, host)| host) == text("host"),
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{LIFETIME_MS, Sessions, same_origin};

    fn cookie(set_cookie: &HeaderValue) -> HeaderMap {
        let value = set_cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(
            "cookie".parse().unwrap(),
            HeaderValue::from_str(&format!("a=b; {value}; c=d")).unwrap(),
        )])
    }

    #[test]
    fn a_cookie_opens_until_it_is_old_and_only_as_it_was_signed() {
        let sessions = Sessions::new(vec![7; 32], false);
        let set = sessions.open(5, 1000).unwrap();
        assert!(set.to_str().unwrap().contains("HttpOnly; SameSite=Strict"));
        assert_eq!(sessions.key_id(&cookie(&set), 2000), Some(5));
        assert_eq!(sessions.key_id(&cookie(&set), 1000 + LIFETIME_MS), None);
        assert_eq!(Sessions::new(vec![8; 32], false).key_id(&cookie(&set), 2000), None);
        let forged = HeaderValue::from_str(&set.to_str().unwrap().replace("=5.", "=6.")).unwrap();
        assert_eq!(sessions.key_id(&cookie(&forged), 2000), None);
        assert!(Sessions::new(vec![7; 32], true).open(5, 0).unwrap().to_str().unwrap().starts_with("__Host-"));
    }

    #[test]
    fn a_form_of_another_site_is_seen() {
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
        };
        assert!(same_origin(&headers(&[])));
        assert!(same_origin(&headers(&[("sec-fetch-site", "same-origin")])));
        assert!(!same_origin(&headers(&[("sec-fetch-site", "cross-site")])));
        assert!(same_origin(&headers(&[("origin", "https://c.example"), ("host", "c.example")])));
        assert!(!same_origin(&headers(&[("origin", "https://evil.example"), ("host", "c.example")])));
    }
}
