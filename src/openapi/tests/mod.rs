//! Documents in, documents and rules out: the cases G and P37 to P39, and what the room promises.

mod documents;
mod odd_input;
mod requests;
mod schemas;

use super::*;

fn plan() -> Plan {
    Plan {
        feedback: Some(Feedback {
            sentence: "Rate: GET https://api.example.com/feedback/rate?x=1.".into(),
            rate_url: "https://api.example.com/feedback/rate".into(),
            base_path: "/feedback".into(),
            body_layout: BodyLayout::Flat,
            rate_hint: false,
            inject_body: true,
        }),
        context: None,
        json_types: vec!["application/json".into()],
        also_paid: Vec::new(),
    }
}

fn asking(required: bool) -> Plan {
    Plan { context: Some(Context { ask: "Please add.".into(), required, search_query: true }), ..plan() }
}

const FIELDS: &str = r#""feedback_id":{"type":"string","pattern":"^[A-Za-z0-9_-]{22}$"},"feedback_url":{"type":"string","format":"uri-reference","description":"Quick rating URL; append fully, partially or no."}"#;
const HEADERS: &str = r#""headers":{"Forge-Feedback-Id":{"description":"Names this call in a rating. The same as feedback_id in the body.","schema":{"type":"string","pattern":"^[A-Za-z0-9_-]{22}$"}}}"#;

/// The document around the responses of one operation, before and after what is added to it elsewhere.
struct Frame {
    before: &'static str,
    after: String,
}

fn frame(components: &str) -> Frame {
    Frame {
        before: r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/a":{"get":{"description":"D.","responses":{"402":{"description":"pay"},"200":"#,
        after: format!("}}}}}}}},\"components\":{components}}}"),
    }
}

/// The text that stands for the 200 response in the enriched document; every other byte is checked too.
fn response(answer: &str, components: &str) -> (String, Enriched) {
    let Frame { before, after } = frame(components);
    let made = enrich(format!("{before}{answer}{after}").as_bytes(), &plan()).unwrap();
    let text = String::from_utf8(made.text.clone()).unwrap();
    let sentence = " Rate: GET https://api.example.com/feedback/rate?x=1.";
    let before = before
        .replace(r#""D.""#, &format!(r#""D.{sentence}""#))
        .replace(r#""version":"1""#, &format!(r#""version":"1","x-guidance":"{}""#, sentence.trim_start()));
    let rest = text.strip_prefix(&before).expect("what stands before is kept");
    let (paths_end, document_end) =
        (r#"}}},"/feedback":"#, format!("}},\"components\":{components},\"x-forge-feedback\":{{"));
    let inside = rest.split_once(paths_end).expect("the operation ends as before").0;
    assert!(rest.contains(&document_end), "components are kept: {rest}");
    (inside.to_owned(), made)
}

fn schema(schema: &str) -> (String, Enriched) {
    schema_with(schema, "{}")
}

fn schema_with(schema: &str, components: &str) -> (String, Enriched) {
    let answer = format!(r#"{{"description":"ok","content":{{"application/json":{{"schema":{schema}}}}}}}"#);
    let (text, made) = response(&answer, components);
    let text = text.strip_prefix(r#"{"description":"ok","content":{"application/json":{"schema":"#).unwrap();
    let text = text.strip_suffix(&format!("}}}},{HEADERS}}}")).expect("the header is described in any case");
    (text.to_owned(), made)
}

fn header_only(plain: &str, components: &str, reason: &str) {
    let (text, made) = schema_with(plain, components);
    assert_eq!(text, plain);
    assert!(!made.rules.allows_body("GET", "/a", 200), "{plain}");
    assert_eq!(made.warnings, [format!("GET /a 200: {reason}; left as it is")], "{plain}");
}

fn allowed(plain: &str, components: &str, expected: &str) {
    let (text, made) = schema_with(plain, components);
    assert_eq!(text, expected);
    assert!(made.rules.allows_body("GET", "/a", 200), "{plain}");
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
}

fn whole(document: &str) -> String {
    String::from_utf8(enrich(document.as_bytes(), &plan()).unwrap().text).unwrap()
}
