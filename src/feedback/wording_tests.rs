use super::*;
use crate::feedback::id;

const RATE: &str = "https://api.example.com/feedback/rate";

fn link() -> Link {
    Link::new("https://api.example.com", "/feedback")
}

#[test]
fn the_sentences_are_those_of_the_protocol() {
    let full = format!(
        "After your call, please rate this service for other agents: GET {RATE}?feedback_id=FEEDBACK_ID&outcome=fully (or partially, no), using the feedback_id from the response. Free, one request. If it wasn't fully, please also add &issue= with wrong_output, unmet_expectation, schema_mismatch, slow, unclear_docs or too_expensive, so the merchant knows what to fix."
    );
    assert_eq!(Sentence::Full.text(&link()), full);
    assert!(full.starts_with(&Sentence::Medium.text(&link())));
    assert!(Sentence::Medium.text(&link()).ends_with("Free, one request."));
    assert_eq!(
        Sentence::Short.text(&link()),
        format!(
            "After your call, please rate it for other agents: GET {RATE}?feedback_id=FEEDBACK_ID&outcome=fully. Free, one request."
        )
    );
    for sentence in [Sentence::Full, Sentence::Medium, Sentence::Short] {
        assert_eq!(sentence.len(&link()), sentence.text(&link()).len());
    }
}

#[test]
fn the_challenge_extension_is_that_of_the_protocol() {
    let expected = format!(
        r#"{{"info":{{"protocol":"forge-feedback/0","ask":"After your call, please rate this service for other agents. Free, one request. When the outcome is not fully, the issue field tells the merchant what to fix.","rate":"GET {RATE}?feedback_id=FEEDBACK_ID&outcome=fully","outcome":["fully","partially","no"],"issue":{{"when":"The outcome is not fully. Tells the merchant what to fix.","values":["wrong_output","unmet_expectation","schema_mismatch","slow","unclear_docs","too_expensive"]}},"feedback_id":"In the paid response body (feedback_id) and the Forge-Feedback-Id header.","payment":"None. Plain GET, not an x402 endpoint."}}}}"#
    );
    let made = challenge_extension(&link(), Tone::Default, false);
    assert_eq!(std::str::from_utf8(&made).unwrap(), expected);
    assert_eq!(made.len() + r#"{"forge-feedback":}"#.len(), 671, "the size the peers measured");
}

#[test]
fn the_lifecycle_tone_changes_the_ask_and_ends_with_the_flow() {
    let made = String::from_utf8(challenge_extension(&link(), Tone::Lifecycle, true)).unwrap();
    assert!(made.contains(r#""ask":"Steps: 402 challenge, pay, response, rate this service for other agents. Free, one request. When the outcome is not fully, the issue field tells the merchant what to fix.""#));
    assert!(made.ends_with(r#","flow":["402 challenge","pay","response","rate"]},"schema":{"type":"object"}}"#));
}

#[test]
fn the_receipt_extension_carries_the_real_id() {
    let id = "aqQMtjN9lCJnCAn54ZS7wQ";
    let link = link();
    let [whole, least] = link.receipt_members(Tone::Default, false) else { panic!("two forms") };
    let made = String::from_utf8(written(whole, id)).unwrap();
    assert!(
        made.starts_with(r#""forge-feedback":{"info":{"protocol":"forge-feedback/0","ask":"#) && made.ends_with("}}")
    );
    assert_eq!(
        String::from_utf8(written(least, id)).unwrap(),
        format!(
            r#""forge-feedback":{{"info":{{"protocol":"forge-feedback/0","rate":"GET {RATE}?feedback_id={id}&outcome=fully","outcome":["fully","partially","no"]}}}}"#
        )
    );
    let names: Vec<usize> = ["protocol", "ask", "feedback_id", "rate", "outcome", "issue", "payment"]
        .iter()
        .map(|name| made.find(&format!("\"{name}\":")).unwrap())
        .collect();
    assert!(names.is_sorted(), "protocol, ask, feedback_id, rate, outcome, issue, payment: {made}");
    assert!(made.contains(&format!(r#""rate":"GET {RATE}?feedback_id={id}&outcome=fully""#)));
}

#[test]
fn the_body_members_are_those_of_the_protocol() {
    let id = "aqQMtjN9lCJnCAn54ZS7wQ";
    let url = format!("{RATE}?feedback_id={id}&outcome=");
    let expected = format!(
        r#""feedback_id":"{id}","feedback_url":"{url}","rate_this_call":"Please rate this service for other agents: GET {url} with fully, partially or no appended (e.g. {url}fully). Free, one request. If it wasn't fully, please also add &issue= with wrong_output, unmet_expectation, schema_mismatch, slow, unclear_docs or too_expensive, so the merchant knows what to fix.""#
    );
    assert_eq!(std::str::from_utf8(&body_members(id)).unwrap(), expected);
    assert_eq!(text_trailer(&link(), id), format!("\nfeedback_id: {id}\nfeedback_url: {url}\n").into_bytes());
}

#[test]
fn a35_a_mention_is_seen_with_and_without_an_origin() {
    assert!(link().is_mentioned_in(b"rate at https://api.example.com/feedback/rate please"));
    assert!(link().is_mentioned_in(b"GET https://elsewhere.example/feedback/rate?feedback_id=X"));
    assert!(!link().is_mentioned_in(b"see /feedback/rate"));
    let path = Link::new("", "/feedback");
    assert!(path.is_mentioned_in(b"GET /feedback/rate?feedback_id=X"));
    assert!(!path.is_mentioned_in(b"see /feedback/rate"));
}

#[test]
fn everything_is_ascii() {
    for text in [
        challenge_extension(&link(), Tone::Lifecycle, true),
        body_members("aqQMtjN9lCJnCAn54ZS7wQ"),
        Sentence::Full.text(&link()).into_bytes(),
    ] {
        assert!(text.is_ascii());
    }
}

fn written(template: &Template, id: &str) -> Vec<u8> {
    let mut out = Vec::new();
    template.write(&mut out, id::parse(id.as_bytes()).unwrap());
    out
}

fn body_members(id: &str) -> Vec<u8> {
    let link = link();
    let (bare, hinted) = (written(link.body_members(false), id), written(link.body_members(true), id));
    assert!(hinted.starts_with(&bare) && hinted[bare.len()..].starts_with(b",\"rate_this_call\":"));
    hinted
}

#[test]
fn a_receipt_with_a_schema_or_in_another_tone_has_members_of_its_own() {
    let (id, link) = ("aqQMtjN9lCJnCAn54ZS7wQ", link());
    let said = |tone, schema| String::from_utf8(written(&link.receipt_members(tone, schema)[0], id)).unwrap();
    assert!(said(Tone::Default, true).ends_with(r#"},"schema":{"type":"object"}}"#));
    assert!(said(Tone::Lifecycle, false).ends_with(r#","flow":["402 challenge","pay","response","rate"]}}"#));
    assert!(!said(Tone::Default, false).contains("flow"));
}

#[test]
fn an_extension_that_would_be_too_large_has_only_its_least_form() {
    let long = Link::new(&format!("https://{}.example", "a".repeat(500)), "/feedback");
    let members = long.receipt_members(Tone::Default, false);
    assert_eq!(members.len(), 1);
    assert!(members[0].len() < ladder::EXTENSION + r#""forge-feedback":"#.len());
    let longer = Link::new(&format!("https://{}.example", "a".repeat(1_000)), "/feedback");
    assert!(longer.receipt_members(Tone::Default, false).is_empty());
}
