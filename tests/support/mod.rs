//! A backend on loopback that fails on request, and what the tests of the backend share.
#![allow(dead_code, reason = "every test program uses its own part")]

use forge_x402::backend::{Backend, BackendOptions, Event, Settings};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// How the backend answers.
#[derive(Clone, Debug)]
pub enum Mode {
    Ok,
    /// Accepts at once, answers after this time.
    Slow(Duration),
    /// Reads, never answers.
    Hang,
    /// Closes with a reset after reading.
    Reset,
    /// One byte of the head every 100 ms, for ever.
    Drip,
    /// A whole head, then one byte of the body every 100 ms, for ever.
    DripBody,
    Status(u16),
    /// 429 with Retry-After in seconds.
    RetryAfter(u64),
    /// 400 if the body holds this text.
    RefuseIf(&'static str),
    /// 413 if the body is larger than this.
    TooLargeAbove(usize),
    Redirect(String),
    /// Answers with bytes that are neither HTTP nor TLS.
    Garbage,
    /// Answers well and closes the kept connection at once.
    CloseAfterAnswer,
}

pub struct Request {
    pub at: Instant,
    pub method: String,
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
    pub connection: usize,
}

#[derive(Default)]
pub struct Seen {
    pub requests: Vec<Request>,
    pub connections: usize,
    keys: HashSet<String>,
    /// Events of accepted batches, a repeated Idempotency-Key counted once.
    pub events: Vec<Value>,
    /// Only the numbers of the events are kept, for long runs.
    pub lean: bool,
    /// The member `n` of every accepted event, in order of arrival.
    pub numbers: Vec<u64>,
    /// Answers of the GET routes, by path.
    pub documents: HashMap<&'static str, String>,
}

pub struct FaultBackend {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    mode: Mutex<Mode>,
    seen: Mutex<Seen>,
    stop: AtomicBool,
}

impl FaultBackend {
    pub fn start(mode: Mode) -> FaultBackend {
        FaultBackend::on(TcpListener::bind("127.0.0.1:0").unwrap(), mode)
    }

    /// On a port that was reserved before, to come up late.
    pub fn on(listener: TcpListener, mode: Mode) -> FaultBackend {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { mode: Mutex::new(mode), seen: Mutex::default(), stop: AtomicBool::new(false) });
        let accepting = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = accepting.clone();
                thread::spawn(move || shared.serve(stream));
            }
        });
        FaultBackend { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn set(&self, mode: Mode) {
        *self.shared.mode.lock().unwrap() = mode;
    }

    pub fn serve_document(&self, path: &'static str, body: &str) {
        self.seen().documents.insert(path, body.to_owned());
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.shared.seen.lock().unwrap()
    }

    /// See `Seen::numbers`.
    pub fn numbers(&self) -> Vec<u64> {
        self.seen().numbers.clone()
    }

    /// Ends the backend as if killed: nothing is answered any more. Gives what had arrived.
    pub fn stop(self) -> Vec<u64> {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        thread::sleep(Duration::from_millis(50));
        self.numbers()
    }

    pub fn posts(&self) -> usize {
        let seen = self.seen();
        seen.requests.iter().filter(|request| request.path.ends_with("/events")).count()
    }
}

impl Drop for FaultBackend {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let connection = {
            let mut seen = self.seen.lock().unwrap();
            seen.connections += 1;
            seen.connections
        };
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        if matches!(*self.mode.lock().unwrap(), Mode::Garbage) {
            let _ = writer.write_all(b"\x00\x01garbage\xff\r\n\r\n");
            return;
        }
        while let Some(request) = read_request(&mut reader, connection) {
            let mode = self.mode.lock().unwrap().clone();
            if self.stop.load(Ordering::SeqCst) || !self.answer(&mut writer, request, mode) {
                return;
            }
        }
    }

    /// False: the connection is over.
    fn answer(&self, writer: &mut TcpStream, request: Request, mode: Mode) -> bool {
        let body = request.body.clone();
        let path = request.path.clone();
        let (accepted, status, extra) = match &mode {
            Mode::Ok | Mode::Slow(_) | Mode::CloseAfterAnswer | Mode::DripBody => (true, 200, String::new()),
            Mode::Status(status) => (*status < 300, *status, String::new()),
            Mode::RetryAfter(seconds) => (false, 429, format!("Retry-After: {seconds}\r\n")),
            Mode::RefuseIf(text) => {
                let bad = body.windows(text.len()).any(|window| window == text.as_bytes());
                (!bad, if bad { 400 } else { 200 }, String::new())
            }
            Mode::TooLargeAbove(limit) => {
                let large = body.len() > *limit;
                (!large, if large { 413 } else { 200 }, String::new())
            }
            Mode::Redirect(to) => (false, 307, format!("Location: {to}\r\n")),
            Mode::Hang | Mode::Reset | Mode::Drip | Mode::Garbage => (false, 0, String::new()),
        };
        let document = self.note(request, accepted);
        match mode {
            Mode::Hang => return self.idle(),
            Mode::Reset => {
                reset(writer);
                return false;
            }
            Mode::Drip => return self.drip(writer, b"HTTP/1.1 200 OK\r\nx: "),
            Mode::DripBody => {
                return self.drip(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
            }
            Mode::Slow(delay) => thread::sleep(delay),
            _ => {}
        }
        let answer = match (status, document) {
            (200, Some(document)) => document,
            _ => "{}".to_owned(),
        };
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{extra}\r\n{answer}", answer.len());
        let _ = path;
        writer.write_all(head.as_bytes()).is_ok() && !matches!(mode, Mode::CloseAfterAnswer)
    }

    fn note(&self, request: Request, accepted: bool) -> Option<String> {
        let mut seen = self.seen.lock().unwrap();
        let document =
            seen.documents.iter().find(|(path, _)| request.path.ends_with(*path)).map(|(_, document)| document.clone());
        if accepted && request.path.ends_with("/events") {
            let key = request.headers.get("idempotency-key").cloned().unwrap_or_default();
            if seen.keys.insert(key) {
                let body: Value = serde_json::from_slice(&request.body).expect("a batch is valid JSON");
                let events = body["events"].as_array().unwrap();
                seen.numbers.extend(events.iter().filter_map(|event| event["n"].as_u64()));
                if !seen.lean {
                    seen.events.extend(events.iter().cloned());
                }
            }
        }
        if !seen.lean {
            seen.requests.push(request);
        }
        document
    }

    fn idle(&self) -> bool {
        while !self.stop.load(Ordering::SeqCst) && matches!(*self.mode.lock().unwrap(), Mode::Hang) {
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn drip(&self, writer: &mut TcpStream, start: &[u8]) -> bool {
        if writer.write_all(start).is_err() {
            return false;
        }
        while !self.stop.load(Ordering::SeqCst) && writer.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
        false
    }
}

fn reset(stream: &TcpStream) {
    use std::os::fd::AsRawFd;
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: a valid socket and a valid linger.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    let _ = stream.shutdown(std::net::Shutdown::Read);
}

pub fn read_request(reader: &mut impl BufRead, connection: usize) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let at = Instant::now();
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { at, method, path, headers, body, connection })
}

pub const API_KEY: &str = "ffk_test_0123456789abcdef";

pub fn options(url: impl Into<String>) -> BackendOptions {
    BackendOptions { backend_url: Some(url.into()), api_key: API_KEY.into(), ..BackendOptions::default() }
}

/// Ticks every 20 ms, so that tests do not wait for the clock.
pub fn quick(url: impl Into<String>) -> Backend {
    backend(BackendOptions { flush_interval_ms: 20, ..options(url) })
}

pub fn backend(options: BackendOptions) -> Backend {
    Backend::new(Arc::new(Settings::new(options)))
}

pub fn event(number: u64) -> Event {
    padded_event(number, 0)
}

pub fn padded_event(number: u64, padding: usize) -> Event {
    let json = format!(r#"{{"type":"test","n":{number},"p":"{}"}}"#, "x".repeat(padding));
    Event::from_json(json.as_bytes(), 0).unwrap()
}

pub fn push(backend: &Backend, numbers: std::ops::Range<u64>) {
    for number in numbers {
        backend.push(event(number));
    }
}

/// Waits up to `limit` for something to become true.
pub fn eventually(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        if is_true() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    is_true()
}

pub const LONG: Duration = Duration::from_secs(10);

pub fn assert_books_close(backend: &Backend) {
    let counters = backend.counters();
    assert_eq!(counters.pushed, counters.queued + counters.sent + counters.dropped, "{counters:?}");
}
