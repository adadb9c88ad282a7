//! What the engine costs where it runs in earnest: behind a whole request, with the kernel's network code in between, so
//! that its own code and data have left the nearest caches. In a loop of nothing else it costs a third less.
//!
//! Between two calls a kilobyte goes over a loopback connection and two and a half come back. Prints the median and the
//! fastest tenth of each phase, in wall clock nanoseconds of which two reads of the clock are about fifty.
//!
//!     cargo bench --bench cold

#[path = "engine/documents.rs"]
#[allow(dead_code, reason = "the other bench uses the rest")]
mod documents;

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use documents::Random;
use forge_x402::{Body, Engine, HeaderLine, Now, Outcome, RequestHead, ResponseHead};

const ROUNDS: usize = 30_000;

fn main() {
    // Accepts nothing: the queue is full, and every event pushes out the oldest.
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let options = format!(
        r#"{{"api_key":"ffk_bench_fake","public_url":"https://api.example.com","backend_url":"http://{}","flush_interval_ms":60000}}"#,
        hanging.local_addr().expect("an address")
    );
    let engine = Engine::open(options.as_bytes()).expect("the options are good");
    for _ in 0..1_100 {
        engine.enqueue_event(br#"{"type":"filler"}"#).expect("an event");
    }
    let mut network = Network::new();
    println!("{:8}{:>16}{:>16}{:>16}{:>16}   median / fastest tenth, ns", "", "request", "response", "end", "all");
    report("paid", paid(&engine, &mut network));
    report("402", challenge(&engine, &mut network));
}

/// Nanoseconds of each phase, of many calls.
type Phases = Vec<[u64; 3]>;

fn paid(engine: &Engine, network: &mut Network) -> Phases {
    let mut random = Random::new(7);
    let target = documents::target(&mut random);
    let lines = documents::request_headers(&mut random, true);
    let headers: Vec<HeaderLine<'_>> = lines.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let request = RequestHead { method: b"GET", target: &target, headers: &headers, ..RequestHead::default() };
    let answers: Vec<_> = (0..256)
        .map(|_| {
            let body = documents::small(&mut random, 60);
            (STANDARD.encode(documents::receipt(&mut random)), body.len().to_string(), body)
        })
        .collect();
    let each = |round: usize| {
        let (receipt, length, body) = &answers[round % answers.len()];
        let headers = [
            (&b"Content-Type"[..], &b"application/json"[..]),
            (b"PAYMENT-RESPONSE", receipt.as_bytes()),
            (b"Content-Length", length.as_bytes()),
        ];
        network.exchange();
        let start = Instant::now();
        let (mut exchange, first) = engine.on_request(Now::read(), &request).expect("a paid request");
        let requested = Instant::now();
        let response =
            ResponseHead { status: 200, headers: &headers, body: Body::Whole(body), ..ResponseHead::default() };
        let verdict = exchange.on_response(Now::read(), &response);
        let answered = Instant::now();
        exchange.end(Now::read(), Some(Outcome::Delivered { status: 200, body_bytes: 700 }));
        black_box((first, verdict));
        phases([start, requested, answered, Instant::now()])
    };
    (0..ROUNDS).map(each).collect()
}

fn challenge(engine: &Engine, network: &mut Network) -> Phases {
    let mut random = Random::new(7);
    let target = documents::target(&mut random);
    let lines = documents::request_headers(&mut random, false);
    let headers: Vec<HeaderLine<'_>> = lines.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let request = RequestHead { method: b"GET", target: &target, headers: &headers, ..RequestHead::default() };
    let value = STANDARD.encode(documents::challenge(&mut random));
    let headers = [
        (&b"Content-Type"[..], &b"application/json"[..]),
        (b"PAYMENT-REQUIRED", value.as_bytes()),
        (b"Content-Length", b"2"),
    ];
    let response = ResponseHead { status: 402, headers: &headers, ..ResponseHead::default() };
    let each = |_| {
        network.exchange();
        let start = Instant::now();
        assert!(engine.on_request(Now::read(), &request).is_none());
        let requested = Instant::now();
        let (exchange, verdict) = engine.on_response_late(Now::read(), &request, &response).expect("a challenge");
        let answered = Instant::now();
        exchange.end(Now::read(), Some(Outcome::Delivered { status: 402, body_bytes: 2 }));
        black_box(verdict);
        phases([start, requested, answered, Instant::now()])
    };
    (0..ROUNDS).map(each).collect()
}

fn phases(moments: [Instant; 4]) -> [u64; 3] {
    std::array::from_fn(|at| (moments[at + 1] - moments[at]).as_nanos() as u64)
}

fn report(name: &str, phases: Phases) {
    let mut columns: Vec<Vec<u64>> = (0..3).map(|phase| phases.iter().map(|one| one[phase]).collect()).collect();
    columns.push(phases.iter().map(|one| one.iter().sum()).collect());
    let cells = columns.iter_mut().map(|column| {
        column.sort_unstable();
        format!("{:>16}", format!("{} / {}", column[column.len() / 2], column[column.len() / 10]))
    });
    println!("{name:8}{}", cells.collect::<String>());
}

/// A connection on loopback with both its ends in hand.
struct Network {
    client: TcpStream,
    server: TcpStream,
    buffer: Vec<u8>,
}

impl Network {
    fn new() -> Network {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (server, _) = listener.accept().expect("a connection");
        for end in [&client, &server] {
            end.set_nodelay(true).expect("an option of TCP");
        }
        Network { client, server, buffer: vec![1; 2_500] }
    }

    fn exchange(&mut self) {
        let pass = |from: &mut TcpStream, to: &mut TcpStream, bytes: &mut [u8]| {
            from.write_all(bytes).expect("room in the socket's buffer");
            to.read_exact(bytes).expect("what was written");
        };
        pass(&mut self.client, &mut self.server, &mut self.buffer[..900]);
        pass(&mut self.server, &mut self.client, &mut self.buffer);
    }
}
