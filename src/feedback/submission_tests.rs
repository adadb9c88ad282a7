use super::*;
use serde_json::{Value, json};

const ID: &str = "AbCdEfGhIjKlMnOpQrStUv";

#[test]
fn the_submission_vectors_hold() {
    let all: Value = serde_json::from_str(include_str!("../../tests/fixtures/forge-vectors.json")).unwrap();
    let vectors = all["submission"].as_array().unwrap();
    assert_eq!(vectors.len(), 18);
    for vector in vectors {
        let allow_note = vector["allow_note"].as_bool().unwrap();
        let parsed = if allow_note {
            from_body(vector["body"].to_string().as_bytes())
        } else {
            let text = |(name, value): (&String, &Value)| format!("{name}={}", value.as_str().unwrap());
            let query: Vec<String> = vector["body"].as_object().unwrap().iter().map(text).collect();
            from_query(query.join("&").as_bytes())
        };
        match parsed {
            Ok(read) => {
                let read = json!({"feedback_id": read.feedback_id, "outcome": read.outcome, "issue": read.issue, "note": read.note});
                assert_eq!((read, Value::Null), (vector["submission"].clone(), vector["error"].clone()));
            }
            Err(fault) => {
                assert_eq!((Value::Null, json!(fault.name())), (vector["submission"].clone(), vector["error"].clone()))
            }
        }
    }
}

#[test]
fn a_query_is_read_first_value_first() {
    let read = from_query(b"feedback_id=i&outcome=fully&outcome=no&issue=&issue=slow").unwrap();
    assert_eq!((read.outcome, read.issue), ("fully", None));
    assert_eq!(from_query(b"outcome=&outcome=no&feedback_id=i"), Err(Fault::MissingOutcome));
    let read = from_query(b"feedback%5Fid=a+b%20%zz&outcome=not%5Fevaluated").unwrap();
    assert_eq!((read.feedback_id.as_str(), read.outcome), ("a b %zz", "not_evaluated"));
    for (query, fault) in [
        (&b""[..], Fault::MissingFeedbackId),
        (b"feedback_id", Fault::MissingFeedbackId),
        (b"feedback_id=i&Outcome=no", Fault::MissingOutcome),
        (b"feedback_id=i&outcome=no%20", Fault::InvalidOutcome),
        (b"feedback_id=i&outcome=no&issue=cheap", Fault::InvalidIssue),
        (b"feedback_id=i&outcome=no&note=x", Fault::NoteRequiresPost),
        (b"feedback_id=i&outcome=\xff", Fault::InvalidOutcome),
    ] {
        assert_eq!(from_query(query), Err(fault), "{query:?}");
    }
}

#[test]
fn faults_are_looked_for_in_the_protocols_order() {
    for (body, fault) in [
        (r#"{"outcome":"x","issue":"x","note":5}"#, Fault::MissingFeedbackId),
        (r#"{"feedback_id":"i","issue":"x","note":5}"#, Fault::MissingOutcome),
        (r#"{"feedback_id":"i","outcome":5,"issue":"x","note":5}"#, Fault::InvalidOutcome),
        (r#"{"feedback_id":"i","outcome":"no","issue":"x","note":5}"#, Fault::InvalidIssue),
        (r#"{"feedback_id":"i","outcome":"no","note":5}"#, Fault::InvalidNote),
    ] {
        assert_eq!(from_body(body.as_bytes()), Err(fault), "{body}");
    }
}

#[test]
fn d14_a_deeply_nested_body_is_refused_on_a_small_stack() {
    let nested = |depth: usize| {
        format!(r#"{{"feedback_id":"i","outcome":"no","x":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth))
    };
    assert!(from_body(nested(31).as_bytes()).is_ok());
    let small = std::thread::Builder::new().stack_size(64 * 1024);
    let check = move || {
        for depth in [32, 127, 128, 129, 8_000] {
            assert_eq!(from_body(nested(depth).as_bytes()), Err(Fault::InvalidJsonBody), "{depth}");
        }
        assert_eq!(from_body("[".repeat(16 * 1024).as_bytes()), Err(Fault::InvalidJsonBody));
    };
    small.spawn(check).unwrap().join().unwrap();
    // Brackets in a text are no nesting.
    let note = format!(r#"{{"feedback_id":"i","outcome":"no","note":"\"{}"}}"#, "[".repeat(100));
    assert_eq!(from_body(note.as_bytes()).unwrap().note.unwrap().len(), 101);
}

#[test]
fn d15_sixteen_kibibytes_are_read_and_one_more_is_too_large() {
    let sized = |size: usize| {
        let frame = r#"{"feedback_id":"i","outcome":"no","x":""}"#;
        frame.replace(r#""""#, &format!(r#""{}""#, "x".repeat(size - frame.len())))
    };
    assert_eq!(sized(BODY_LIMIT).len(), BODY_LIMIT);
    assert!(from_body(sized(BODY_LIMIT).as_bytes()).is_ok());
    assert_eq!(from_body(sized(BODY_LIMIT + 1).as_bytes()), Err(Fault::BodyTooLarge));
}

#[test]
fn what_is_not_a_json_object_is_refused() {
    for body in [
        &b""[..],
        b"{",
        b"[]",
        b"null",
        b"\"x\"",
        b"{\"a\":NaN}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\xff\"}",
        b"feedback_id=i",
    ] {
        assert_eq!(from_body(body), Err(Fault::InvalidJsonBody), "{body:?}");
    }
}

#[test]
fn a_note_is_trimmed_and_counted_in_utf16_units() {
    let note = |note: &str| {
        from_body(json!({"feedback_id": "i", "outcome": "no", "note": note}).to_string().as_bytes())
            .map(|read| read.note)
    };
    assert_eq!(note(" ok \n"), Ok(Some("ok".to_owned())));
    assert_eq!(note(&format!("  {}  ", "x".repeat(280))), Ok(Some("x".repeat(280))));
    assert_eq!(note(&"x".repeat(281)), Err(Fault::InvalidNote));
    assert_eq!(note(&"\u{1f600}".repeat(140)), Ok(Some("\u{1f600}".repeat(140))));
    assert_eq!(note(&"\u{1f600}".repeat(141)), Err(Fault::InvalidNote));
}

#[test]
fn the_backend_gets_the_rating_as_json() {
    let read = from_body(
        r#"{"outcome":"no","feedback_id":"AbCdEfGhIjKlMnOpQrStUv","issue":"slow","note":"caf\u00e9 \ud800"}"#
            .as_bytes(),
    )
    .unwrap();
    let headers = br#"{"user-agent":"agent/1","referer":"\""}"#;
    assert_eq!(
        String::from_utf8(read.forward(Via::Post, Some(b"\tagent/1"), headers)).unwrap(),
        r#"{"feedback_id":"AbCdEfGhIjKlMnOpQrStUv","outcome":"no","issue":"slow","note":"caf\u00e9 \ufffd","via":"POST","user_agent":"agent/1","request_headers":{"user-agent":"agent/1","referer":"\""}}"#
    );
    let read = from_query(format!("feedback_id={ID}&outcome=fully").as_bytes()).unwrap();
    assert_eq!(
        String::from_utf8(read.forward(Via::Get, None, b"")).unwrap(),
        r#"{"feedback_id":"AbCdEfGhIjKlMnOpQrStUv","outcome":"fully","issue":null,"note":null,"via":"GET","user_agent":null}"#
    );
}
