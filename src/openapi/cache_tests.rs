use super::super::plan::{BodyLayout, Feedback};
use super::*;

fn plan(rate_url: &str) -> Plan {
    Plan {
        feedback: Some(Feedback {
            sentence: "Rate.".into(),
            rate_url: rate_url.into(),
            base_path: "/feedback".into(),
            body_layout: BodyLayout::Flat,
            rate_hint: true,
            inject_body: true,
        }),
        context: None,
        json_types: Vec::new(),
        also_paid: Vec::new(),
    }
}

fn document(title: usize) -> String {
    format!(r#"{{"openapi":"3.1.0","info":{{"title":"{title}"}},"paths":{{}}}}"#)
}

#[test]
fn g12_the_same_document_is_enriched_once() {
    let cache = Cache::default();
    let plan = plan("/feedback/rate");
    let first = cache.enrich(document(1).as_bytes(), &plan).unwrap();
    let again = cache.enrich(document(1).as_bytes(), &plan).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let other = cache.enrich(document(2).as_bytes(), &plan).unwrap();
    assert_ne!(other.text, first.text);
    assert!(Arc::ptr_eq(&first, &cache.enrich(document(1).as_bytes(), &plan).unwrap()));
}

#[test]
fn another_plan_makes_another_document() {
    let cache = Cache::default();
    let path = cache.enrich(document(1).as_bytes(), &plan("/feedback/rate")).unwrap();
    let known = cache.enrich(document(1).as_bytes(), &plan("https://api.example.com/feedback/rate")).unwrap();
    assert_ne!(path.text, known.text);
}

#[test]
fn a_refusal_is_remembered_too() {
    let cache = Cache::default();
    assert_eq!(cache.enrich(b"<html>", &plan("/r")).err(), Some(Skip::NotJson));
    assert_eq!(cache.enrich(b"<html>", &plan("/r")).err(), Some(Skip::NotJson));
    assert_eq!(cache.entries.lock().unwrap().len(), 1);
}

#[test]
fn the_entries_are_bounded_and_the_latest_used_stay() {
    let cache = Cache::default();
    let plan = plan("/feedback/rate");
    let kept = cache.enrich(document(0).as_bytes(), &plan).unwrap();
    for title in 1..20 {
        cache.enrich(document(title).as_bytes(), &plan).unwrap();
        assert!(Arc::ptr_eq(&kept, &cache.enrich(document(0).as_bytes(), &plan).unwrap()));
    }
    assert_eq!(cache.entries.lock().unwrap().len(), MAX_ENTRIES);
}

#[test]
fn large_documents_are_bounded_by_their_bytes() {
    let cache = Cache::default();
    let plan = plan("/feedback/rate");
    for title in 0..MAX_ENTRIES {
        let large = document(title).replace("\"paths\"", &format!("\"x\":\"{}\",\"paths\"", "x".repeat(4 << 20)));
        cache.enrich(large.as_bytes(), &plan).unwrap();
    }
    let sizes: usize = cache.entries.lock().unwrap().iter().map(|entry| entry.size()).sum();
    assert!(sizes <= MAX_BYTES, "{sizes}");
    assert_eq!(cache.entries.lock().unwrap().len(), 3);
}

#[test]
fn a_cache_in_use_is_not_waited_for() {
    let cache = Cache::default();
    let plan = plan("/feedback/rate");
    let held = cache.entries.lock().unwrap();
    assert!(cache.enrich(document(1).as_bytes(), &plan).is_ok());
    assert!(held.is_empty());
}
