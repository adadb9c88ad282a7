//! Options: any bytes give an engine or say why not; one that is on works.

use forge_x402::{ChallengeForm, Engine, RequestHead};

use crate::support::{NOW, is_json};

const CHALLENGE: &[u8] = br#"{"x402Version":2,"resource":{"url":"https://shop.example.net/a","description":"A."},"accepts":[{"scheme":"exact"}]}"#;

pub fn run(data: &[u8]) {
    if reaches_out(data) {
        return;
    }
    match Engine::open(data) {
        Err(refused) => assert!(!refused.faults.is_empty()),
        Ok(engine) => {
            assert!(is_json(data) || !engine.faults().is_empty(), "options that are not JSON were taken");
            let request = RequestHead { method: b"GET", target: b"/a?agent_type=x", ..RequestHead::default() };
            drop(engine.on_request(NOW, &request));
            if let Some(made) = engine.transform_challenge(ChallengeForm::Body, CHALLENGE) {
                assert!(engine.faults().is_empty(), "an engine that is off changed something");
                assert!(is_json(&made));
            }
            assert!(engine.faults().iter().all(|fault| fault.len() < 4_096), "a fault repeats the input");
            assert_eq!(engine.stats().internal_errors, 0, "a panic was contained");
        }
    }
}

/// Names of files and hosts are left to the tests: a fuzzer that makes them up would read and call whatever they name.
fn reaches_out(data: &[u8]) -> bool {
    let Ok(serde_json::Value::Object(options)) = serde_json::from_slice(data) else { return false };
    options.keys().any(|name| {
        matches!(&name.to_ascii_lowercase().replace('_', "")[..], "apikeyfile" | "tlscafile" | "backendurl" | "proxy")
    })
}
