//! Operations, responses and what a document gains once.

use super::*;

#[test]
fn g08_a_closed_object_that_is_not_described_as_paid_takes_none() {
    let document = r#"{"openapi":"3.1.0","info":{},"paths":{"/closed":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"type":"object","additionalProperties":false}}}}}}},"/open":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"type":"object"}}}}}}}}}"#;
    let made = enrich(document.as_bytes(), &plan()).unwrap();
    assert!(!made.rules.allows_body("GET", "/closed", 200));
    assert!(made.rules.allows_body("GET", "/open", 200));
}

#[test]
fn g11_rules_are_the_same_before_and_after_the_document_was_served() {
    let document = r##"{"openapi":"3.0.3","info":{},"paths":{"/closed":{"get":{"x-payment-info":{},"responses":{"200":{"content":{"application/json":{"schema":{"type":"object","additionalProperties":false}}}}}}},"/one":{"get":{"responses":{"402":{},"200":{"content":{"application/json":{"schema":{"oneOf":[]}}}}}}},"/own":{"get":{"responses":{"402":{},"200":{"content":{"application/json":{"schema":{"properties":{"feedback_id":{}}}}}}}}}}}"##;
    let given_at_open = enrich(document.as_bytes(), &plan()).unwrap();
    let served = enrich(&given_at_open.text, &plan()).unwrap();
    assert_eq!(served.text, given_at_open.text, "twice is once");
    for (path, allows) in [("/closed", true), ("/one", false), ("/own", false), ("/unknown", true)] {
        assert_eq!(given_at_open.rules.allows_body("GET", path, 200), allows, "{path}");
        assert_eq!(served.rules.allows_body("GET", path, 200), allows, "{path} of the enriched document");
    }
    assert!(Rules::default().allows_body("GET", "/closed", 200));
}

#[test]
fn g17_numbers_escapes_and_order_are_kept() {
    let plain =
        r#"{"z":[1.10, 1e5,-0,12345678901234567890,1E400],"type":"object","example":{"k":"\u00e9\/\ud83d","k":2}}"#;
    let (text, _) = schema(plain);
    assert_eq!(text, format!(r#"{},"properties":{{{FIELDS}}}}}"#, plain.strip_suffix('}').unwrap()));
}

#[test]
fn p38_a_shared_response_is_copied() {
    let components =
        r#"{"responses":{"Ok":{"description":"shared","content":{"application/json":{"schema":{"type":"object"}}}}}}"#;
    let (text, made) = response(r##"{"$ref":"#/components/responses/Ok"}"##, components);
    assert_eq!(
        text,
        format!(
            r#"{{"description":"shared","content":{{"application/json":{{"schema":{{"type":"object","properties":{{{FIELDS}}}}}}}}},{HEADERS}}}"#
        )
    );
    assert!(made.rules.allows_body("GET", "/a", 200));
}

#[test]
fn p38_a_path_item_by_reference_and_webhooks_are_untouched_but_learned_from() {
    let document = r##"{"openapi":"3.1.0","info":{},"paths":{"/a":{"$ref":"#/components/pathItems/P"},"/b":{"$ref":"https://example.com/p.json"}},"webhooks":{"w":{"post":{"responses":{"402":{},"200":{"content":{"application/json":{"schema":{"type":"object"}}}}}}}},"components":{"pathItems":{"P":{"get":{"description":"D","responses":{"402":{},"200":{"content":{"application/json":{"schema":{"type":"object","maxProperties":1}}}}}}}}}}"##;
    let made = enrich(document.as_bytes(), &plan()).unwrap();
    let text = String::from_utf8(made.text).unwrap();
    let paths = r##""/a":{"$ref":"#/components/pathItems/P"},"/b":{"$ref":"https://example.com/p.json"}"##;
    for part in [paths, &document[document.find(r#""webhooks""#).unwrap()..document.len() - 1]] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!made.rules.allows_body("GET", "/a", 200));
    assert!(made.warnings.contains(&"/a: the path is a $ref; left as it is".to_owned()), "{:?}", made.warnings);
}

#[test]
fn p39_ranges_default_and_extensions_among_the_responses() {
    let object = r#"{"description":"","content":{"application/json":{"schema":{"type":"object"}}}}"#;
    let strict = r#"{"description":"","content":{"application/json":{"schema":{"oneOf":[]}}}}"#;
    let document = format!(
        r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"/a":{{"get":{{"x-payment-info":{{}},"responses":{{"2XX":{object},"201":{strict},"204":{{"description":""}},"default":{strict},"404":{object},"x-note":{object}}}}}}}}}}}"#
    );
    let made = enrich(document.as_bytes(), &plan()).unwrap();
    let text = String::from_utf8(made.text).unwrap();
    let described = r#""schema":{"type":"object","properties":{"feedback_id""#;
    assert_eq!(text.matches(described).count(), 1, "only 2XX: {text}");
    assert!(text.contains(&format!(r#""default":{strict},"404":{object},"x-note":{object}}}"#)), "{text}");
    for (status, allows) in [(200, true), (201, false), (202, true), (204, false), (404, false), (500, false)] {
        assert_eq!(made.rules.allows_body("GET", "/a", status), allows, "{status}");
    }
}

#[test]
fn p39_pointers_into_paths_still_resolve() {
    let document = r##"{"openapi":"3.1.0","info":{},"paths":{"/r":{"get":{"responses":{"402":{},"200":{"description":"r","content":{"application/json":{"schema":{"type":"object"}}}}}}},"/s t":{"get":{"responses":{"402":{},"200":{"$ref":"#/paths/~1r/get/responses/200"},"201":{"description":"","content":{"application/json":{"schema":{"$ref":"#/paths/~1r/get/responses/200/content/application~1json/schema"}}}}}}}}}"##;
    let made = enrich(document.as_bytes(), &plan()).unwrap();
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    let text = String::from_utf8(made.text).unwrap();
    let copy = format!(
        r#"{{"description":"r","content":{{"application/json":{{"schema":{{"type":"object","properties":{{{FIELDS}}}}}}}}},{HEADERS}}}"#
    );
    assert_eq!(text.matches(&copy).count(), 2, "{text}");
    assert!(made.rules.allows_body("GET", "/s%20t", 201));
}

#[test]
fn a_document_that_is_ours_already_keeps_its_text() {
    for extension in [r#""x-forge-feedback":{}"#, r#""x-forge-agent-context":null"#] {
        let document = format!(
            r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"/a":{{"get":{{"responses":{{"402":{{}}}}}}}}}},{extension}}}"#
        );
        assert_eq!(whole(&document), document);
    }
}

#[test]
fn an_unpaid_operation_and_its_security_are_untouched() {
    let document = r#"{"openapi":"3.1.0","info":{},"paths":{"/a":{"get":{"security":[],"description":"D","x-payment-info":null,"responses":{"200":{"content":{"application/json":{"schema":{"type":"object"}}}}}}}}}"#;
    assert!(whole(document).contains(&document[document.find(r#""/a""#).unwrap()..document.len() - 2]));
}

#[test]
fn an_operation_is_paid_if_the_host_says_so() {
    let document = r#"{"openapi":"3.1.0","info":{},"paths":{"/a/{id}":{"get":{"summary":"S","responses":{}}}}}"#;
    let said = Plan { also_paid: vec!["GET /a/{id}".into()], ..plan() };
    let text = String::from_utf8(enrich(document.as_bytes(), &said).unwrap().text).unwrap();
    assert!(text.contains(r#""responses":{},"description":"S. Rate: GET"#), "{text}");
}

#[test]
fn descriptions_end_with_the_sentence_once() {
    let operation = |members: &str| {
        let text = whole(&format!(
            r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"/a":{{"get":{{{members}"responses":{{"402":{{}}}}}}}}}}}}"#
        ));
        let start = text.find(r#"{"get":{"#).unwrap() + 8;
        let end = text.find(r#"}},"/feedback""#).unwrap();
        text[start..end].replace("Rate: GET https://api.example.com/feedback/rate?x=1.", "ASK")
    };
    assert_eq!(operation(r#""description":"D","#), r#""description":"D ASK","responses":{"402":{}}"#);
    assert_eq!(operation(r#""description":"D\n","#), r#""description":"D\nASK","responses":{"402":{}}"#);
    assert_eq!(operation(r#""description":"","#), r#""description":"ASK","responses":{"402":{}}"#);
    assert_eq!(operation(r#""summary":"S!","#), r#""summary":"S!","responses":{"402":{}},"description":"S! ASK""#);
    assert_eq!(operation(""), r#""responses":{"402":{}},"description":"ASK""#);
    for kept in [r#""description":5,"#, r#""description":"a","description":"b","#] {
        assert_eq!(operation(kept), format!(r#"{kept}"responses":{{"402":{{}}}}"#));
    }
    let mine = r#""description":"Rate at https:\/\/api.example.com/feedback/rate","#;
    assert_eq!(operation(mine), format!(r#"{mine}"responses":{{"402":{{}}}}"#));
}

#[test]
fn media_types_that_are_not_json_are_untouched() {
    for (media, touched) in [
        ("application/json", true),
        ("Application/JSON; charset=utf-8", true),
        ("*/*", true),
        ("application/*", true),
        ("application/vnd.api+json", false),
        ("application/problem+json", false),
        ("text/csv", false),
        ("application/x-ndjson", false),
    ] {
        let content = format!(r#"{{"content":{{"{media}":{{"schema":{{"type":"object"}}}}}},"description":""}}"#);
        let (text, made) = response(&content, "{}");
        assert_eq!(text.contains("feedback_url"), touched, "{media}");
        assert!(made.rules.allows_body("GET", "/a", 200), "{media}");
    }
}

#[test]
fn one_json_schema_that_does_not_fit_decides_for_the_whole_response() {
    let plain = r#"{"content":{"application/json":{"schema":{"type":"object"}},"application/json; v=2":{"schema":{"oneOf":[]}}},"description":""}"#;
    let (text, made) = response(plain, "{}");
    assert_eq!(text, format!("{},{HEADERS}}}", plain.strip_suffix('}').unwrap()));
    assert!(!made.rules.allows_body("GET", "/a", 200));
}

#[test]
fn openapi_3_2_shared_media_types_and_additional_operations() {
    let document = r##"{"openapi":"3.2.0","info":{},"paths":{"/a":{"query":{"responses":{"402":{},"200":{"content":{"application/json":{"$ref":"#/components/mediaTypes/M"}}}}},"additionalOperations":{"COPY":{"responses":{"402":{},"200":{"content":{"application/json":{"itemSchema":{}}}}}}}}},"components":{"mediaTypes":{"M":{"schema":{"type":"object"}}}}}"##;
    let made = enrich(document.as_bytes(), &plan()).unwrap();
    let text = String::from_utf8(made.text).unwrap();
    assert!(
        text.contains(&format!(r#"{{"application/json":{{"schema":{{"type":"object","properties":{{{FIELDS}}}}}}}}}"#)),
        "{text}"
    );
    assert!(text.ends_with(r#"outcome={outcome}","submit":"https://api.example.com/feedback","id_header":"Forge-Feedback-Id","outcomes":["fully","partially","no","not_evaluated"],"issues":["wrong_output","unmet_expectation","schema_mismatch","slow","unclear_docs","too_expensive"]}}"#));
    assert!(text.contains(r#""components":{"mediaTypes":{"M":{"schema":{"type":"object"}}}}"#));
    assert!(made.rules.allows_body("QUERY", "/a", 200));
    assert!(!made.rules.allows_body("COPY", "/a", 200));
}

#[test]
fn swagger_2_describes_in_its_own_way() {
    let document = r##"{"swagger":"2.0","basePath":"/api","info":{},"produces":["application/json"],"paths":{"/a":{"get":{"responses":{"402":{"description":""},"200":{"description":"ok","schema":{"$ref":"#/definitions/A"}},"201":{"$ref":"#/responses/R"}}},"put":{"produces":["text/csv"],"responses":{"402":{"description":""},"200":{"description":"","schema":{"type":"object"}}}}}},"definitions":{"A":{"type":"object"}},"responses":{"R":{"description":"r","schema":{"type":"file"}}}}"##;
    let made = enrich(document.as_bytes(), &plan()).unwrap();
    let text = String::from_utf8(made.text).unwrap();
    let header = r#""headers":{"Forge-Feedback-Id":{"description":"Names this call in a rating. The same as feedback_id in the body.","type":"string","pattern":"^[A-Za-z0-9_-]{22}$"}}"#;
    assert!(text.contains(&format!(
        r#""200":{{"description":"ok","schema":{{"type":"object","properties":{{{FIELDS}}}}},{header}}},"201":{{"description":"r","schema":{{"type":"file"}},{header}}}"#
    )), "{text}");
    assert!(text.contains(&format!(r#""200":{{"description":"","schema":{{"type":"object"}},{header}}}"#)), "{text}");
    assert!(made.rules.allows_body("GET", "/api/a", 200));
    assert!(!made.rules.allows_body("GET", "/api/a", 201));
    assert_eq!(made.warnings.len(), 4, "the file, and three routes that basePath does not reach: {:?}", made.warnings);
    assert!(!text.contains(r#""/feedback":"#));
}

#[test]
fn swagger_2_paths_are_below_its_base_path() {
    let document = r#"{"swagger":"2.0","basePath":"/api/","info":{},"paths":{}}"#;
    let mut below = plan();
    below.feedback.as_mut().unwrap().base_path = "/api/feedback".into();
    let text = String::from_utf8(enrich(document.as_bytes(), &below).unwrap().text).unwrap();
    assert!(text.contains(r#""paths":{"/feedback":{"get":{"operationId":"forgeFeedbackForm""#), "{text}");
}

#[test]
fn rating_routes_are_described_where_the_servers_are_not() {
    let of = |servers: &str| whole(&format!(r#"{{"openapi":"3.1.0","info":{{}},{servers}"paths":{{}}}}"#));
    let overriding = r#""/feedback":{"servers":[{"url":"https://api.example.com"}],"get""#;
    for servers in [
        r#""servers":[{"url":"https://api.example.com/v1"}],"#,
        r#""servers":[{"url":"https://other.example.com"}],"#,
        r#""servers":[{"url":"/"},{"url":"/{v}"}],"#,
    ] {
        assert!(of(servers).contains(overriding), "{servers}");
    }
    for servers in
        ["", r#""servers":[],"#, r#""servers":[{"url":"/"}],"#, r#""servers":[{"url":"https://api.example.com/"}],"#]
    {
        assert!(of(servers).contains(r#""/feedback":{"get""#), "{servers}");
    }
}

#[test]
fn a_merchants_own_path_at_one_of_ours_is_not_overwritten() {
    for own in ["/feedback/rate", "/feedback/rate/"] {
        let document = format!(r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"{own}":{{"get":{{}}}}}}}}"#);
        let made = enrich(document.as_bytes(), &plan()).unwrap();
        let text = String::from_utf8(made.text).unwrap();
        assert_eq!(text.matches(r#""/feedback/rate"#).count(), 1, "{text}");
        assert!(text.contains(&format!(r#""{own}":{{"get":{{}}}},"/feedback":"#)), "{text}");
        assert_eq!(
            made.warnings,
            ["/feedback/rate: the document has its own path where the rating route is; left as it is"]
        );
    }
}

#[test]
fn guidance_of_the_merchant_is_continued() {
    let text = whole(r#"{"openapi":"3.1.0","info":{"x-guidance":"Use me."},"paths":{}}"#);
    assert!(text.contains(r#""x-guidance":"Use me. Rate: GET https"#), "{text}");
}

#[test]
fn the_output_schema_of_the_payment_takes_or_forbids_the_fields() {
    let document = |schema: &str| {
        format!(
            r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"/a":{{"get":{{"x-payment-info":{{"price":1.10,"outputSchema":{schema}}},"responses":{{"200":{{"description":""}}}}}}}}}}}}"#
        )
    };
    let text = whole(&document(r#"{"type":"object"}"#));
    assert!(
        text.contains(&format!(
            r#"{{"price":1.10,"outputSchema":{{"type":"object","properties":{{{FIELDS}}}}}}},"responses""#
        )),
        "{text}"
    );
    let strict = enrich(document(r#"{"oneOf":[]}"#).as_bytes(), &plan()).unwrap();
    assert!(!strict.rules.allows_body("GET", "/a", 200));
    let bazaar = r#"{"input":{"type":"http"},"output":{}}"#;
    assert!(whole(&document(bazaar)).contains(&format!(r#""outputSchema":{bazaar}}}"#)));
}

#[test]
fn nested_fields_are_one_object() {
    let mut nested = plan();
    nested.feedback.as_mut().unwrap().body_layout = BodyLayout::Nested;
    let document = |schema: &str| {
        format!(
            r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"/a":{{"get":{{"responses":{{"402":{{}},"200":{{"content":{{"application/json":{{"schema":{schema}}}}}}}}}}}}}}}}}"#
        )
    };
    let made = enrich(document(r#"{"properties":{"feedback_id":{}}}"#).as_bytes(), &nested).unwrap();
    let text = String::from_utf8(made.text).unwrap();
    assert!(
        text.contains(&format!(
            r#"{{"properties":{{"feedback_id":{{}},"forge_feedback":{{"type":"object","properties":{{{FIELDS}}}}}}}}}"#
        )),
        "{text}"
    );
    for (rest, allows) in [(r#"{"type":"string"}"#, false), (r#"{"type":"object"}"#, true)] {
        let made = enrich(document(&format!(r#"{{"additionalProperties":{rest}}}"#)).as_bytes(), &nested).unwrap();
        assert_eq!(made.rules.allows_body("GET", "/a", 200), allows, "{rest}");
    }
}

#[test]
fn without_fields_in_bodies_schemas_are_left_alone() {
    let mut headers_only = plan();
    headers_only.feedback.as_mut().unwrap().inject_body = false;
    let schema = r#"{"schema":{"type":"object"}}"#;
    let document = format!(
        r#"{{"openapi":"3.1.0","info":{{}},"paths":{{"/a":{{"get":{{"responses":{{"402":{{}},"200":{{"content":{{"application/json":{schema}}}}}}}}}}}}}}}"#
    );
    let text = String::from_utf8(enrich(document.as_bytes(), &headers_only).unwrap().text).unwrap();
    assert!(text.contains(&format!(r#"{{"content":{{"application/json":{schema}}},{HEADERS}}}"#)), "{text}");
}
