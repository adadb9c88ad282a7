//! Where the backend is and how to reach it, checked once at open.
//!
//! Nothing here fails: what cannot be used becomes a line for the operator, and then the backend is off. A setting that
//! narrows trust or the way out (`tls_ca_file`, `proxy`) is never replaced by a wider default.

use std::net::IpAddr;
use std::time::Duration;
use ureq::http::{HeaderValue, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};
use ureq::{Proxy, ProxyProtocol};

/// Options of the backend as the host gives them.
#[derive(Clone, Debug)]
pub struct BackendOptions {
    /// Absolute http(s) URL without credentials, query or fragment; an origin without a path gets `/v1`. None: no
    /// backend.
    pub backend_url: Option<String>,
    /// Sent as `Authorization: Bearer …` with every call.
    pub api_key: String,
    /// Whether events are sent. Ratings and the registered origin work without.
    pub telemetry: bool,
    /// Milliseconds between deliveries, 10 to 3,600,000.
    pub flush_interval_ms: u64,
    /// A PEM file with the only roots to trust, instead of the built-in ones. Read once, here.
    pub tls_ca_file: Option<String>,
    /// `http://` or `https://` proxy, credentials percent-encoded in it if needed. The environment is never asked.
    pub proxy: Option<String>,
    /// The User-Agent of our own calls.
    pub user_agent: String,
}

impl Default for BackendOptions {
    fn default() -> BackendOptions {
        BackendOptions {
            backend_url: None,
            api_key: String::new(),
            telemetry: true,
            flush_interval_ms: 2_000,
            tls_ca_file: None,
            proxy: None,
            user_agent: concat!("forge-x402/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Options made ready. Made once per engine; every process of it shares this.
pub struct Settings {
    /// None: there is nobody to talk to.
    pub(super) reach: Option<Reach>,
    pub(super) telemetry: bool,
    pub(super) flush_interval: Duration,
    /// What the operator should know, by topic.
    pub(super) notes: Vec<(&'static str, String)>,
}

/// How the backend is reached.
#[derive(Clone)]
pub(super) struct Reach {
    pub base: String,
    pub authorization: HeaderValue,
    pub user_agent: String,
    pub roots: RootCerts,
    pub proxy: Option<Proxy>,
}

impl Settings {
    /// Checks the options. Reads `tls_ca_file`; touches nothing else outside.
    pub fn new(options: BackendOptions) -> Settings {
        let mut notes = Vec::new();
        let reach = match reach(&options, &mut notes) {
            Ok(reach) => Some(reach),
            Err(note) => {
                notes.push(note);
                None
            }
        };
        Settings {
            telemetry: options.telemetry && reach.is_some(),
            reach,
            flush_interval: Duration::from_millis(options.flush_interval_ms.clamp(10, 3_600_000)),
            notes,
        }
    }
}

type Note = (&'static str, String);

fn reach(options: &BackendOptions, notes: &mut Vec<Note>) -> Result<Reach, Note> {
    let Some(url) = &options.backend_url else {
        return Err(("backend_url", "backend_url is not set: telemetry is off and ratings answer 503".into()));
    };
    let Some((base, unencrypted)) = base_url(url) else {
        return Err((
            "backend_url",
            "backend_url must be an absolute http(s) URL without credentials, query or fragment: telemetry is off"
                .into(),
        ));
    };
    if unencrypted {
        notes.push(("backend_url", "backend_url is plain http: the API key and events travel unencrypted".into()));
    }
    let authorization = HeaderValue::try_from(format!("Bearer {}", options.api_key));
    let (Ok(mut authorization), false) = (authorization, options.api_key.is_empty()) else {
        return Err(("api_key", "api_key is empty or holds characters no header takes: telemetry is off".into()));
    };
    authorization.set_sensitive(true);
    Ok(Reach {
        base,
        authorization,
        user_agent: header_text(&options.user_agent),
        roots: roots(options.tls_ca_file.as_deref(), notes),
        proxy: options.proxy.as_deref().map(proxy).transpose()?,
    })
}

/// The base of all calls, without a slash at its end, and whether the key would travel unencrypted beyond this host.
fn base_url(url: &str) -> Option<(String, bool)> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str()?;
    let authority = uri.authority()?.as_str();
    let host = uri.host()?;
    if !matches!(scheme, "http" | "https") || host.is_empty() || authority.contains('@') || url.contains(['?', '#']) {
        return None;
    }
    let path = match uri.path().trim_end_matches('/') {
        "" => "/v1",
        path => path,
    };
    let unencrypted = scheme == "http" && !is_loopback(host);
    Some((format!("{scheme}://{authority}{path}"), unencrypted))
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The built-in roots, or those of the file and no others. A file that cannot be used leaves no roots at all: whoever
/// names a private authority has not asked to trust every public one.
fn roots(file: Option<&str>, notes: &mut Vec<Note>) -> RootCerts {
    let Some(file) = file else {
        return RootCerts::WebPki;
    };
    let certificates: Vec<Certificate<'static>> = match std::fs::read(file) {
        Ok(pem) => parse_pem(&pem)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect(),
        Err(fault) => {
            notes.push((
                "tls_ca_file",
                format!("tls_ca_file cannot be read ({}): no https connection is trusted", fault.kind()),
            ));
            return RootCerts::from(Vec::new());
        }
    };
    if certificates.is_empty() {
        notes.push(("tls_ca_file", "tls_ca_file holds no certificate in PEM: no https connection is trusted".into()));
    }
    RootCerts::from(certificates)
}

/// The proxy itself never appears in a note: it may hold a password.
fn proxy(given: &str) -> Result<Proxy, Note> {
    match Proxy::new(given) {
        Ok(proxy)
            if matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) && !proxy.host().is_empty() =>
        {
            Ok(proxy)
        }
        _ => Err((
            "proxy",
            "proxy must be http://host:port or https://host:port: telemetry is off until it is corrected".into(),
        )),
    }
}

fn header_text(text: &str) -> String {
    text.chars().filter(|c| (' '..='~').contains(c)).take(200).collect()
}

#[cfg(test)]
mod tests;
