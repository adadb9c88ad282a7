//! The other calls: ratings, the summary, the registered origin, TLS and the proxy.

mod support;

use forge_x402::backend::{Answer, BackendOptions};
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::*;

#[test]
fn a_rating_and_the_summary_carry_the_key_and_bring_the_answer() {
    let server = FaultBackend::start(Mode::Ok);
    server.serve_document("/feedback", r#"{"recorded":true}"#);
    server.serve_document("/summary", r#"{"ratings":3}"#);
    let backend = quick(server.url());
    let body = br#"{"feedback_id":"awzJAAABAgMEBU0fS7Pmqw","outcome":"fully"}"#;
    let http = |body: &str| Answer::Http { status: 200, retry_after_ms: None, body: body.into() };
    assert_eq!(backend.rating(body, LONG), http(r#"{"recorded":true}"#));
    assert_eq!(backend.summary(LONG), http(r#"{"ratings":3}"#));
    let seen = server.seen();
    assert_eq!((seen.requests[0].method.as_str(), seen.requests[0].path.as_str()), ("POST", "/v1/feedback"));
    assert_eq!(seen.requests[0].body, body);
    assert_eq!((seen.requests[1].method.as_str(), seen.requests[1].path.as_str()), ("GET", "/v1/summary"));
    assert!(seen.requests.iter().all(|request| request.headers["authorization"] == format!("Bearer {API_KEY}")));
    assert!(!backend.counters().worker_running, "no thread for that");
}

#[test]
fn e09_a_rating_and_the_summary_end_within_their_limit_whatever_hangs() {
    for fault in [Mode::Hang, Mode::Drip, Mode::DripBody, Mode::Slow(Duration::from_secs(5))] {
        let server = FaultBackend::start(fault.clone());
        let backend = quick(server.url());
        for call in ["rating", "summary"] {
            let start = Instant::now();
            let answer = match call {
                "rating" => backend.rating(b"{}", Duration::from_millis(700)),
                _ => backend.summary(Duration::from_millis(700)),
            };
            let took = start.elapsed();
            assert!(matches!(answer, Answer::None(_)), "{fault:?} {call}: {answer:?}");
            assert!(took < Duration::from_millis(1_000), "{fault:?} {call}: {took:?}");
        }
    }
}

#[test]
fn after_shutdown_a_rating_is_refused_at_once() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = quick(server.url());
    assert_eq!(backend.shutdown(LONG), Ok(()));
    assert!(matches!(backend.rating(b"{}", LONG), Answer::None(_)));
    assert_eq!(server.seen().requests.len(), 0);
}

#[test]
fn an_answer_without_end_is_no_answer() {
    let server = FaultBackend::start(Mode::Ok);
    server.serve_document("/summary", &"x".repeat(300_000));
    let backend = quick(server.url());
    assert!(matches!(backend.summary(LONG), Answer::None(_)));
}

#[test]
fn the_registered_origin_is_looked_up_in_the_background_by_the_first_question() {
    let server = FaultBackend::start(Mode::Slow(Duration::from_millis(200)));
    server.serve_document("/project", r#"{"publicOrigin":"https://api.example.com"}"#);
    let backend = quick(server.url());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(server.seen().connections, 0, "not before the first question");
    let start = Instant::now();
    assert_eq!(backend.registered_origin(), None);
    assert!(start.elapsed() < Duration::from_millis(100), "the question does not wait");
    assert!(eventually(LONG, || backend.registered_origin().as_deref() == Some("https://api.example.com")));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.seen().requests.len(), 1, "asked once");
    assert_eq!(backend.shutdown(LONG), Ok(()));
    assert_eq!(backend.registered_origin().as_deref(), Some("https://api.example.com"));
}

#[test]
fn e18_a_registered_value_that_is_no_https_origin_is_not_used() {
    for value in ["http://api.example.com", "https://evil@api.example.com", "https://api.example.com/x", "javascript:1"]
    {
        let server = FaultBackend::start(Mode::Ok);
        server.serve_document("/project", &serde_json::json!({ "publicOrigin": value }).to_string());
        let backend = quick(server.url());
        backend.registered_origin();
        assert!(eventually(LONG, || server.seen().requests.len() == 1));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(backend.registered_origin(), None, "{value}");
        assert_eq!(backend.diagnostics().drain().len(), 1, "{value}");
    }
}

#[test]
fn l15_a_backend_that_is_down_at_start_is_asked_again() {
    let reserved = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    let backend = quick(format!("http://{address}"));
    assert_eq!(backend.registered_origin(), None);
    std::thread::sleep(Duration::from_millis(500));
    let server = FaultBackend::on(TcpListener::bind(address).unwrap(), Mode::Ok);
    server.serve_document("/project", r#"{"publicOrigin":"https://api.example.com"}"#);
    // The waits so far were drawn from at most 2 and 4 and 8 seconds.
    let found = eventually(Duration::from_secs(20), || backend.registered_origin().is_some());
    assert!(found, "asked again by itself, without traffic");
}

/// A TLS server of its own authority, and the path of that authority's PEM file.
struct TlsServer {
    port: u16,
    authority: std::path::PathBuf,
}

fn tls_server() -> TlsServer {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || {
                let connection = rustls::ServerConnection::new(config).unwrap();
                let mut reader = BufReader::new(rustls::StreamOwned::new(connection, stream));
                while read_request(&mut reader, 0).is_some() {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
                    if reader.get_mut().write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let authority = std::env::temp_dir().join(format!("fx402-authority-{}-{port}.pem", std::process::id()));
    std::fs::write(&authority, certified.cert.pem()).unwrap();
    TlsServer { port, authority }
}

#[test]
fn tls_ca_file_is_trusted_and_without_it_the_same_server_is_not() {
    let server = tls_server();
    let url = format!("https://localhost:{}", server.port);
    let trusting = backend(BackendOptions {
        tls_ca_file: Some(server.authority.to_str().unwrap().into()),
        flush_interval_ms: 20,
        ..options(&url)
    });
    push(&trusting, 0..10);
    assert_eq!(trusting.flush(LONG), Ok(()));
    assert_eq!(trusting.counters().sent, 10);
    assert!(matches!(trusting.summary(LONG), Answer::Http { status: 200, .. }));
    std::fs::remove_file(&server.authority).unwrap();

    let strict = quick(&url);
    push(&strict, 0..10);
    assert!(eventually(LONG, || strict.counters().failed_posts >= 1));
    assert_eq!(strict.counters().sent, 0);
    let lines = strict.diagnostics().drain();
    assert!(lines[0].contains("TLS"), "{lines:?}");
}

#[test]
fn p28_a_missing_ca_file_fails_no_open_and_trusts_nobody() {
    let server = tls_server();
    let url = format!("https://localhost:{}", server.port);
    let missing = backend(BackendOptions {
        tls_ca_file: Some("/nonexistent/ca.pem".into()),
        flush_interval_ms: 20,
        ..options(&url)
    });
    assert!(missing.diagnostics().drain()[0].contains("tls_ca_file"));
    push(&missing, 0..10);
    assert!(eventually(LONG, || missing.counters().failed_posts >= 1));
    assert_eq!(missing.counters().queued, 10);
    let _ = std::fs::remove_file(&server.authority);
}

#[test]
fn bad_tls_is_a_failure_like_any_other() {
    let server = FaultBackend::start(Mode::Garbage);
    let backend = quick(format!("https://{}", server.address()));
    push(&backend, 0..3);
    assert!(eventually(LONG, || backend.counters().failed_posts >= 1));
    assert_eq!(backend.counters().queued, 3);
    let start = Instant::now();
    assert!(backend.shutdown(Duration::from_millis(300)).is_err());
    assert!(start.elapsed() < Duration::from_millis(500));
}

#[test]
fn p28_a_proxy_is_used_with_its_credentials_which_are_never_shown() {
    let server = FaultBackend::start(Mode::Ok);
    let (proxy, heads) = connect_proxy();
    let backend = backend(BackendOptions {
        proxy: Some(format!("http://user:s%40cret@127.0.0.1:{proxy}")),
        flush_interval_ms: 20,
        ..options(server.url())
    });
    push(&backend, 0..10);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(server.numbers(), (0..10).collect::<Vec<_>>());
    let heads = heads.lock().unwrap();
    assert!(heads[0].starts_with(&format!("CONNECT {}", server.address())), "{heads:?}");
    // base64("user:s@cret")
    assert!(heads[0].to_ascii_lowercase().contains("proxy-authorization: basic dxnlcjpzqgnyzxq="), "{heads:?}");
    assert!(!heads[0].contains(API_KEY), "the proxy does not see the key");
    assert!(backend.diagnostics().drain().is_empty());
}

#[test]
fn p28_a_proxy_that_is_not_there_is_a_failure_and_its_password_is_never_shown() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = backend(BackendOptions {
        proxy: Some("http://user:secretword@127.0.0.1:9".into()),
        flush_interval_ms: 20,
        ..options(server.url())
    });
    push(&backend, 0..10);
    assert!(eventually(LONG, || backend.counters().failed_posts >= 1));
    assert_eq!(server.seen().connections, 0, "never around the proxy");
    let lines = backend.diagnostics().drain().join("\n");
    assert!(!lines.is_empty() && !lines.contains("secretword"), "{lines}");
}

/// A CONNECT proxy and the heads it was sent.
fn connect_proxy() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let seen = seen.clone();
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let target = head.split(' ').nth(1).unwrap().to_owned();
                seen.lock().unwrap().push(head);
                let server = TcpStream::connect(target).unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                let (mut from, mut to) = (server, client);
                let _ = std::io::copy(&mut from, &mut to);
            });
        }
    });
    (port, heads)
}
