//! The functions for hosts without an exchange, where they must agree with the exchange.

use forge_x402::{ChallengeForm, Engine};

const V2: &str =
    r#"{"x402Version":2,"resource":{"url":"https://shop.example.net/a","description":"A."},"accepts":[{}]}"#;

fn transformed(options: &str, challenge: &str) -> String {
    let engine = Engine::open(format!(r#"{{"api_key":"ffk_test_fake",{options}"strict":true}}"#).as_bytes()).unwrap();
    String::from_utf8(engine.transform_challenge(ChallengeForm::Body, challenge.as_bytes()).unwrap()).unwrap()
}

#[test]
fn a_public_url_counts_before_the_challenges_own_resource() {
    let made = transformed(r#""public_url":"https://api.example.com","#, V2);
    assert!(made.contains("GET https://api.example.com/feedback/rate?"), "{made}");
    assert!(!made.contains("shop.example.net/feedback"), "{made}");
}

#[test]
fn without_one_the_challenges_own_resource_counts() {
    assert!(transformed("", V2).contains("GET https://shop.example.net/feedback/rate?"));
}
