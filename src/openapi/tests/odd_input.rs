//! Input that is no document, half of one, or larger and stranger than any.

use super::*;

#[test]
fn g15_responses_null_gets_additions_only() {
    let document = r#"{"openapi":"3.1.0","info":{},"paths":{"/a":{"get":{"x-payment-info":{},"responses":null},"put":null,"post":{"responses":{"402":null,"200":null}}}}}"#;
    let text = whole(document);
    assert!(text.contains(r#""responses":null,"description":"Rate: GET"#), "{text}");
    assert!(text.contains(r#""put":null,"post":{"responses":{"402":null,"200":null},"description":"#), "{text}");
}

#[test]
fn g16_paths_null_is_served_unchanged() {
    for paths in [r#","paths":null"#, "", r#","paths":[]"#] {
        let document = format!(r#"{{"openapi":"3.1.0","info":{{}}{paths}}}"#);
        assert_eq!(enrich(document.as_bytes(), &plan()).err(), Some(Skip::NotOpenapi));
    }
}

#[test]
fn p39_yaml_is_unchanged_and_said_so() {
    for text in ["openapi: 3.1.0\npaths: {}\n", "# x\r\nswagger: '2.0'\r\n", "---\n\"openapi\": 3.0.0\n"] {
        let skip = enrich(text.as_bytes(), &plan()).unwrap_err();
        assert_eq!(skip, Skip::Yaml);
        assert!(skip.to_string().contains("YAML"));
    }
}

#[test]
fn what_is_not_a_document_is_skipped_with_a_reason() {
    for (text, skip) in [
        ("", Skip::NotJson),
        ("<html>", Skip::NotJson),
        (r#"{"openapi":"3.1.0","#, Skip::NotJson),
        ("\u{feff}{}", Skip::NotJson),
        ("[]", Skip::NotOpenapi),
        ("null", Skip::NotOpenapi),
        (r#"{"openapi":"4.0.0","paths":{}}"#, Skip::NotOpenapi),
        (r#"{"openapi":"3.10.0","paths":{}}"#, Skip::NotOpenapi),
        (r#"{"openapi":3.1,"paths":{}}"#, Skip::NotOpenapi),
        (r#"{"swagger":"1.2","paths":{}}"#, Skip::NotOpenapi),
        (r#"{"openapi":"3.1.0","paths":{},"p\u0061ths":{}}"#, Skip::DuplicateKey),
    ] {
        assert_eq!(enrich(text.as_bytes(), &plan()).err(), Some(skip), "{text}");
    }
    let large = format!(r#"{{"openapi":"3.1.0","paths":{{}},"x":"{}"}}"#, "x".repeat(5 << 20));
    assert_eq!(enrich(large.as_bytes(), &plan()).err(), Some(Skip::TooLarge));
}

#[test]
fn copies_are_bounded() {
    let filler = "x".repeat(1 << 20);
    let paths: Vec<String> = (0..20)
        .map(|n| format!(r##""/p{n}":{{"get":{{"responses":{{"402":{{}},"200":{{"content":{{"application/json":{{"schema":{{"$ref":"#/components/schemas/S"}}}}}}}}}}}}}}"##))
        .collect();
    for (closed, allows) in [("", true), (r#","additionalProperties":false"#, false)] {
        let document = format!(
            r#"{{"openapi":"3.1.0","info":{{}},"paths":{{{}}},"components":{{"schemas":{{"S":{{"type":"object","description":"{filler}"{closed}}}}}}}}}"#,
            paths.join(",")
        );
        let made = enrich(document.as_bytes(), &plan()).unwrap();
        assert!(made.text.len() < 10 << 20, "{}", made.text.len());
        assert!(made.rules.allows_body("GET", "/p0", 200));
        assert_eq!(made.rules.allows_body("GET", "/p19", 200), allows);
        assert_eq!(made.warnings.len(), 13, "{:?}", made.warnings);
    }
}

#[test]
fn p35_depth_needs_no_stack() {
    let nested = format!("{}{{}}{}", r#"{"allOf":["#.repeat(20_000), "]}".repeat(20_000));
    let answer = format!(
        r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"/a":{{"get":{{"responses":{{"402":{{}},"200":{{"content":{{"application/json":{{"schema":{nested}}}}}}}}}}}}}}}}}"#
    );
    let thread = std::thread::Builder::new().stack_size(128 * 1024);
    let made = thread.spawn(move || enrich(answer.as_bytes(), &plan()).unwrap()).unwrap().join().unwrap();
    assert!(!made.rules.allows_body("GET", "/a", 200));
}

#[test]
fn every_prefix_of_a_document_is_refused_and_none_panics() {
    let document = r##"{"openapi":"3.1.0","info":{},"paths":{"/a":{"get":{"responses":{"402":{},"200":{"$ref":"#/x"}}}}},"x":{}}"##;
    for cut in 0..document.len() {
        assert!(enrich(&document.as_bytes()[..cut], &plan()).is_err(), "{cut}");
    }
}

/// Values of a document swapped for others, and references put anywhere: nothing panics, JSON stays JSON, twice is once.
#[test]
fn documents_put_together_at_random_neither_panic_nor_break() {
    let pieces = [
        r##"{"$ref":"#/components/schemas/A"}"##,
        r##"{"$ref":"#/paths/~1a/get"}"##,
        r##"{"$ref":"#/paths/~1a/get/responses/200","description":"d"}"##,
        r##"{"$ref":"#/paths/~1a/get/responses/200/content/application~1json","title":"t"}"##,
        r##"{"$ref":"#"}"##,
        r#"{"type":"object","properties":{"a":{"$ref":"x"}},"required":["a"]}"#,
        r#"{"schema":{"type":"object","additionalProperties":false}}"#,
        r#"{"content":{"application/json":{"schema":{}},"*/*":{"schema":true}},"headers":{}}"#,
        r#"{"parameters":[],"responses":{"402":{},"2XX":{}},"x-payment-info":{"outputSchema":{}}}"#,
        r#"{"allOf":[{},{"type":"object"}]}"#,
        "{}",
        "[]",
        "null",
        "true",
        "1.10",
        r#""text""#,
    ];
    let mut state = 7_u64;
    let mut pick = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for round in 0..500 {
        let mut text = r##"{"openapi":"3.1.0","info":{},"paths":{"/a":{"parameters":@,"get":{"description":@,"parameters":@,"requestBody":{"content":{"application/json":{"schema":@}}},"responses":{"402":@,"200":{"content":{"application/json":{"schema":{"allOf":@,"properties":@}}}},"201":@,"202":{"content":{"application/json":@}},"203":{"content":{"application/json":{"schema":@}},"headers":@}}},"post":@},"/b":@},"components":{"schemas":{"A":@}}}"##.to_owned();
        while let Some(at) = text.find('@') {
            text.replace_range(at..=at, pieces[pick(pieces.len())]);
        }
        let made = enrich(text.as_bytes(), &asking(round % 2 == 0)).unwrap();
        assert!(crate::json::scan::is_valid(&made.text), "{text}");
        assert!(enrich(&made.text, &asking(true)).unwrap().text == made.text, "{text}");
    }
}
