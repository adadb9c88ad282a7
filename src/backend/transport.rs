//! The calls themselves: HTTP/1.1 over ureq, TLS by rustls with ring, each call within one total limit.
//!
//! The limit covers the look-up, the connection, TLS, the request and the last byte of the answer, so a server that
//! drips cannot hold a call open. No redirect is followed (the key would travel along), no environment is read, nothing
//! is decompressed.

use super::backoff::retry_after_ms;
use super::resolver::SharedResolver;
use super::settings::Reach;
use rustls::crypto::{CryptoProvider, KeyProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::SigningKey;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use ureq::http::{HeaderName, HeaderValue, Method, Request};
use ureq::tls::{TlsConfig, TlsProvider};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, RustlsConnector, TcpConnector};
use ureq::{Agent, Error};

/// What came back from a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The backend answered; the body is whole and at most 256 KiB.
    Http { status: u16, retry_after_ms: Option<u64>, body: Vec<u8> },
    /// It did not, within the limit. The text names the kind of fault and holds no secret.
    None(String),
}

/// Whether TLS can be set up here: the provider knows its protocol versions and makes a client.
#[doc(hidden)]
pub fn tls_selftest() -> Result<(), String> {
    rustls::ClientConfig::builder_with_provider(crypto())
        .with_safe_default_protocol_versions()
        .map(|config| config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
        .map(drop)
        .map_err(|error| format!("TLS cannot be set up: {error}"))
}

/// What ring offers to clients, without the keys of one that signs: the backend knows us by our API key.
fn crypto() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider { key_provider: &NoKeys, ..ring::default_provider() })
}

#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        Err(rustls::Error::General("no client keys".into()))
    }
}

/// One connection pool to one backend.
pub struct Transport {
    reach: Reach,
    agent: Agent,
    cancelled: AtomicBool,
    /// A call has succeeded, so a connection may be kept alive, and may be dead when it is used next.
    kept: AtomicBool,
}

impl Transport {
    /// Starts and opens nothing.
    pub(super) fn new(reach: Reach) -> Transport {
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(crypto())
            .root_certs(reach.roots.clone())
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(reach.proxy.clone())
            .tls_config(tls)
            .user_agent(&reach.user_agent)
            .accept("application/json")
            .timeout_global(Some(EVENTS_LIMIT))
            .max_response_header_size(MAX_HEAD_BYTES)
            .max_idle_connections(2)
            .max_idle_connections_per_host(2)
            .max_idle_age(IDLE_AGE)
            .build();
        // The ways that are used, where ureq's own chain also has a place for those that are not built in.
        let connector =
            ().chain(ConnectProxyConnector::default()).chain(TcpConnector::default()).chain(RustlsConnector::default());
        Transport {
            agent: Agent::with_parts(config, connector, SharedResolver::default()),
            reach,
            cancelled: AtomicBool::new(false),
            kept: AtomicBool::new(false),
        }
    }

    /// POST /events: one batch. Blocks for 5 s at most.
    pub fn events(&self, key: &str, body: &[u8]) -> Answer {
        self.call(Method::POST, "/events", Some((key, body)), None)
    }

    /// POST /feedback: one rating. Blocks for `limit` at most.
    pub fn rating(&self, key: &str, json: &[u8], limit: Duration) -> Answer {
        self.call(Method::POST, "/feedback", Some((key, json)), Some(limit))
    }

    /// GET /summary. Blocks for `limit` at most.
    pub fn summary(&self, limit: Duration) -> Answer {
        self.call(Method::GET, "/summary", None, Some(limit))
    }

    /// GET /project. Blocks for 5 s at most.
    pub fn project(&self) -> Answer {
        self.call(Method::GET, "/project", None, None)
    }

    /// Ends the calls in flight and refuses all later ones.
    pub fn cancel(&self) {
        if !self.cancelled.swap(true, Ordering::AcqRel) {
            self.agent.clone().shutdown();
        }
    }

    /// One call, and one more if the first died on a connection that was kept alive: the server may have closed it
    /// just then. The second has what is left of the limit, and the same key.
    fn call(&self, method: Method, path: &str, sent: Option<(&str, &[u8])>, limit: Option<Duration>) -> Answer {
        let start = Instant::now();
        let kept = self.kept.swap(false, Ordering::AcqRel);
        let mut answer = self.once(&method, path, sent, limit);
        if kept && matches!(&answer, Err(fault) if is_dead_connection(fault)) {
            let left = limit.unwrap_or(EVENTS_LIMIT).saturating_sub(start.elapsed());
            if !left.is_zero() && !self.cancelled.load(Ordering::Acquire) {
                answer = self.once(&method, path, sent, Some(left));
            }
        }
        match answer {
            Ok(answer) => {
                self.kept.store(true, Ordering::Release);
                answer
            }
            Err(fault) => Answer::None(name(&fault)),
        }
    }

    fn once(
        &self,
        method: &Method,
        path: &str,
        sent: Option<(&str, &[u8])>,
        limit: Option<Duration>,
    ) -> Result<Answer, Error> {
        let mut request = Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.reach.base))
            .header(AUTHORIZATION, self.reach.authorization.clone());
        if let Some((key, _)) = sent {
            request = request
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .header(HeaderName::from_static("idempotency-key"), key);
        }
        let mut response = match sent {
            Some((_, body)) => self.run(request.body(body)?, limit),
            None => self.run(request.body(())?, limit),
        }?;
        let status = response.status().as_u16();
        let retry_after_ms = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| retry_after_ms(value.to_str().ok()?, SystemTime::now()));
        let body = response.body_mut().with_config().limit(MAX_BODY_BYTES).read_to_vec();
        let body = match body {
            Ok(body) => body,
            // Events are accepted or not by the status alone; whoever needs the body does not get half of it.
            Err(_) if path == "/events" => Vec::new(),
            Err(fault) => return Err(fault),
        };
        Ok(Answer::Http { status, retry_after_ms, body })
    }

    fn run<S: ureq::AsSendBody>(
        &self,
        request: Request<S>,
        limit: Option<Duration>,
    ) -> Result<ureq::http::Response<ureq::Body>, Error> {
        match limit {
            // A limit of the agent itself, so that its TLS configuration is made once.
            None => self.agent.run(request),
            Some(limit) => {
                let request = self.agent.configure_request(request).timeout_global(Some(limit)).build();
                self.agent.run(request)
            }
        }
    }
}

fn is_dead_connection(fault: &Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match fault {
        Error::Io(fault) => matches!(fault.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof),
        Error::Protocol(_) => false,
        _ => false,
    }
}

/// A short name for a fault: never a URL, a header or a proxy's credentials.
fn name(fault: &Error) -> String {
    match fault {
        Error::Timeout(_) => "no answer in time".into(),
        Error::HostNotFound => "the host name was not found".into(),
        Error::Io(fault) => match fault.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::Other => tls_name(fault),
            kind => kind.to_string(),
        },
        Error::Rustls(fault) => format!("TLS: {fault}"),
        Error::Tls(fault) => format!("TLS: {fault}"),
        Error::ConnectProxyFailed(_) => "the proxy refused the connection".into(),
        Error::Protocol(_) => "the answer is not HTTP".into(),
        Error::LargeResponseHeader(..) => "the answer's head is too large".into(),
        Error::BodyExceedsLimit(_) => "the answer's body is too large".into(),
        _ => "the call failed".into(),
    }
}

fn tls_name(fault: &io::Error) -> String {
    match fault.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(fault) => format!("TLS: {fault}"),
        None => fault.kind().to_string(),
    }
}

/// The limit of a delivery and of the look-up of the project.
const EVENTS_LIMIT: Duration = Duration::from_secs(5);
/// A connection idle for longer is not used again: many servers close at 60 s, some at 5 s (and then the call is
/// repeated once).
const IDLE_AGE: Duration = Duration::from_secs(50);
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_BODY_BYTES: u64 = 256 * 1024;
