//! What the targets share: engines, the reference parser, comparisons.

use forge_x402::{Engine, FeedbackId, Now};
use serde::de::IgnoredAny;

/// Engines over the options that change what is written. None has a backend, so no target reaches the network.
pub fn engines() -> Vec<Engine> {
    [
        r#""public_url":"https://api.example.com""#,
        r#""tone":"lifecycle","body_layout":"nested","extension_schema":true,"agent_context":"ask""#,
        r#""rate_hint":false,"inject_text":true,"agent_context":"required","diagnostics":{"header":true},"discovery":true"#,
        r#""public_url":"https://api.example.com","max_description":0,"replay_guard":true,"service_description":"x","base_path":"/f","agent_context":"off""#,
    ]
    .iter()
    .map(|options| Engine::open(format!(r#"{{"api_key":"ffk_fuzz_fake","strict":true,{options}}}"#).as_bytes()).expect("good options"))
    .collect()
}

pub const NOW: Now = Now { unix_ms: 1_796_000_000_000, monotonic_ms: 1_000_000 };

pub fn id(engine: &Engine) -> FeedbackId {
    engine.mint_id(NOW)
}

/// Takes the first byte as a choice of `count`.
pub fn choice(data: &[u8], count: usize) -> Option<(usize, &[u8])> {
    data.split_first().map(|(first, rest)| (usize::from(*first) % count, rest))
}

/// What the reference says: RFC 8259, UTF-8, any depth.
pub fn is_json(text: &[u8]) -> bool {
    simdutf8::basic::from_utf8(text).is_ok() && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// A contained panic is a defect all the same.
pub fn assert_unhurt(engine: &Engine) {
    assert_eq!(engine.stats().internal_errors, 0, "a panic was contained");
}

/// Whether `made` is `text` with bytes put in, and nothing else.
pub fn is_only_added_to(text: &[u8], made: &[u8]) -> bool {
    let mut rest = made.iter();
    text.iter().all(|byte| rest.any(|other| other == byte))
}

/// A valid v2 payment header's value, so that a request counts as paid.
pub fn payment() -> String {
    base64(br#"{"x402Version":2,"payload":{"signature":"0xfa4e","authorization":{"from":"0x00000000000000000000000000000000000000f1","value":"1000"}},"accepted":{"scheme":"exact","network":"eip155:84532","amount":"1000"},"resource":{"url":"https://api.example.com/weather"}}"#)
}

pub fn base64(bytes: &[u8]) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(bytes)
}

pub fn from_base64(value: &[u8]) -> Vec<u8> {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.decode(value).expect("what we write is base64")
}
