//! Every document of `documents/`, enriched in each way it can be asked for: what every enrichment promises,
//! checked on bytes. Whether the result is valid OpenAPI is for others to say: `scripts/openapi_validate.sh`.

use std::path::Path;

use forge_x402::openapi::{BodyLayout, Context, Feedback, Plan, enrich};

fn documents() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi/documents");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() >= 12, "{} documents", found.len());
    found
}

/// Every layout and every way of asking for context, each at least once.
fn plans() -> [Plan; 3] {
    [(BodyLayout::Flat, true, None), (BodyLayout::Flat, false, Some(false)), (BodyLayout::Nested, true, Some(true))]
        .map(|(body_layout, rate_hint, required)| Plan {
            feedback: Some(Feedback {
                sentence: "Please rate: GET https://api.example.com/feedback/rate?feedback_id=FEEDBACK_ID.".into(),
                rate_url: "https://api.example.com/feedback/rate".into(),
                base_path: "/feedback".into(),
                body_layout,
                rate_hint,
                inject_body: true,
            }),
            context: required.map(|required| Context { ask: "Please add.".into(), required, search_query: true }),
            json_types: vec!["application/json".into()],
            also_paid: Vec::new(),
        })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_document_only_grows_and_is_still_json() {
    for (name, plain) in documents() {
        for plan in plans() {
            let made = enrich(&plain, &plan).unwrap();
            assert!(made.text.len() > plain.len(), "{name}");
            let parsed: serde_json::Value = serde_json::from_slice(&made.text).unwrap();
            assert!(parsed["x-forge-feedback"].is_object(), "{name}");
        }
    }
}

#[test]
fn twice_is_once() {
    for (name, plain) in documents() {
        for plan in plans() {
            let once = enrich(&plain, &plan).unwrap();
            assert!(enrich(&once.text, &plan).unwrap().text == once.text, "{name}");
        }
    }
}

#[test]
fn shared_parts_and_webhooks_keep_their_bytes() {
    for (name, plain) in documents() {
        let plain = text(&plain);
        for plan in plans() {
            let made = enrich(plain.as_bytes(), &plan).unwrap();
            for part in ["components", "definitions", "webhooks", "x-numbers", "servers", "tags"] {
                if let Some(part) = top_level(plain, part) {
                    assert!(text(&made.text).contains(part), "{name}: {part}");
                }
            }
        }
    }
}

#[test]
fn without_references_every_byte_of_the_merchant_is_kept_in_order() {
    for name in
        ["unicode-and-numbers-3.1.json", "handwritten-3.1.json", "swagger-2.0-base-path.json", "ranges-3.0.json"]
    {
        let (_, plain) = documents().into_iter().find(|(known, _)| known == name).unwrap();
        for plan in plans() {
            let made = enrich(&plain, &plan).unwrap();
            let mut kept = made.text.iter();
            assert!(plain.iter().all(|byte| kept.any(|made| made == byte)), "{name}");
        }
    }
}

#[test]
fn the_description_of_every_paid_operation_ends_with_the_sentence() {
    for (name, plain) in documents() {
        let plan = &plans()[0];
        let made = enrich(&plain, plan).unwrap();
        let parsed: serde_json::Value = serde_json::from_slice(&made.text).unwrap();
        for (path, item) in parsed["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let paid = !operation["responses"]["402"].is_null() || operation["x-payment-info"].is_object();
                let said = operation["description"].as_str().is_some_and(|text| text.contains("Please rate: GET"));
                assert_eq!(paid, said, "{name} {method} {path}");
            }
        }
    }
}

/// The bytes of a top-level member, key and value.
fn top_level<'t>(document: &'t str, name: &str) -> Option<&'t str> {
    let parsed: serde_json::Value = serde_json::from_str(document).ok()?;
    parsed.get(name)?;
    let start = document.rfind(&format!("\"{name}\""))?;
    let value = document[start..].find(':')? + start + 1;
    let mut stream = serde_json::Deserializer::from_str(&document[value..]).into_iter::<serde_json::Value>();
    stream.next()?.ok()?;
    Some(&document[start..value + stream.byte_offset()])
}
