//! Bytes from strangers: broken, doubled and shuffled messages lead to an answer, never to a panic or a loop.

use forge_x402::client::{Amount, parse_challenge, parse_diagnostic};
use forge_x402::diagnostic::classify::{classify, from_open402_body, from_receipt, from_v1_body};
use forge_x402::diagnostic::contact::checked;
use forge_x402::diagnostic::{Brought, DiagnosticOptions, Diagnostics, Exchange, Phase, Request, place, placement};
use forge_x402::open402::{Challenge, Proof, ReplayFields, agent_id, decorate};

/// A reproducible stream (xorshift64).
struct Stream(u64);

impl Stream {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// One to four cuts, flips, copies or insertions.
    fn broken(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, [b'"', b'\\', b'=', b',', b' ', 0, 0xFF, b'{', b'}', b':'][self.below(10)]),
                2 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                3 => {
                    let tail = bytes[at..].to_vec();
                    bytes.extend(tail);
                }
                _ if at < bytes.len() => {
                    bytes.remove(at);
                }
                _ => {}
            }
        }
        bytes
    }
}

const HEADERS: [&str; 6] = [
    r#"x402 chain="solana" token="USDC" amount="0.05" address="Addr""#,
    r#"Bearer realm="a, b", x402 chain="s" token="t" amount="1" address="a" x="\"", Negotiate YII="#,
    r#"x402 tx_hash="h" payer_address="p" chain="solana" request_id="r""#,
    "x402 deadbeef",
    "1796038177.673",
    "203.0.113.7",
];

const BODIES: [&str; 4] = [
    r#"{"chain":"solana","token":"USDC","amount":"0.02","address":"A","detail":"Request too old (1s > 30s window)"}"#,
    r#"{"x402Version":1,"error":"Failed to verify payment: x: y","accepts":[{"scheme":"exact","network":"n","asset":"a","maxAmountRequired":"1","payTo":"p"}]}"#,
    r#"{"diagnostic":{"code":"X","attempts":1,"escalate":true},"extensions":{"diagnostic":{"info":{"code":"Y"}}}}"#,
    r#"{"success":false,"errorReason":"Facilitator settle failed (500): {\"errorReason\":\"a\"}"}"#,
];

#[test]
fn nothing_a_stranger_sends_breaks_anything() {
    let mut stream = Stream(0x9E37_79B9_7F4A_7C15);
    let diagnostics = Diagnostics::new(DiagnosticOptions::default());
    for _ in 0..15_000 {
        let header = HEADERS[stream.below(HEADERS.len())];
        let header = stream.broken(header.as_bytes());
        let body = BODIES[stream.below(BODIES.len())];
        let body = stream.broken(body.as_bytes());
        let names: [&[u8]; 6] = [
            b"WWW-Authenticate",
            b"Authorization",
            b"PAYMENT-REQUIRED",
            b"X-x402-Timestamp",
            b"X-x402-Nonce",
            b"X-Agent-ID",
        ];
        let lines: Vec<(&[u8], &[u8])> = names.iter().map(|name| (*name, header.as_slice())).collect();

        if let Ok(challenge) = Challenge::parse(&header) {
            let again = challenge.to_header().expect("what is read can be built");
            assert_eq!(Challenge::parse(again.as_bytes()), Ok(challenge));
        }
        if let Ok(proof) = Proof::find(&lines) {
            assert_eq!(Proof::parse(proof.to_header().unwrap().as_bytes()), Ok(proof));
        }
        let _ = (ReplayFields::find(&lines), agent_id(&lines), checked(&header));
        for lines in [&lines[..], &lines[..2], &[]] {
            let _ = (parse_challenge(402, lines, &body), parse_diagnostic(lines, &body));
        }
        if let Ok(decorated) = decorate(&body, "s", b"{}") {
            assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&decorated).is_ok());
        }
        let _ = placement::into_body(&body, b"{}");
        let text = String::from_utf8_lossy(&header);
        let _ = (place(&text, true), Amount::from_decimal(&text), Amount::from_atomic(&text, stream.below(256) as u8));
        for brought in [Brought::Undecodable, Brought::Payment, Brought::Proof] {
            let _ = (from_v1_body(&body, brought), from_receipt(&body, brought), from_open402_body(&body, brought));
            let failure = classify(Some(&text), Phase::Settle, brought).unwrap();
            let request = Request { client_ip: &text, credential: Some(&header), ..Request::default() };
            let json = diagnostics.observe(0, &request, Exchange::Failed(&failure)).diagnostic.unwrap().to_json();
            assert!(json.is_ascii() && serde_json::from_slice::<serde_json::Value>(&json).is_ok());
        }
    }
}
