//! Documents in, documents and rules out: the cases G and P37 to P39, and what the room promises.

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

#[test]
fn g01_enum_and_const_are_header_only() {
    header_only(r#"{"type":"object","enum":[{"a":1}]}"#, "{}", "the schema uses enum");
    header_only(r#"{"type":"object","const":{"a":1}}"#, "{}", "the schema uses const");
}

#[test]
fn g02_pattern_properties_are_header_only() {
    header_only(
        r#"{"type":"object","patternProperties":{"^f":{"type":"number"}}}"#,
        "{}",
        "the schema uses patternProperties",
    );
}

#[test]
fn g03_a_map_of_numbers_is_header_only() {
    let reason = "additionalProperties does not admit the added values";
    header_only(r#"{"type":"object","additionalProperties":{"type":"number"}}"#, "{}", reason);
    header_only(r#"{"type":"object","additionalProperties":{"type":"string","maxLength":3}}"#, "{}", reason);
    header_only(
        r##"{"type":"object","additionalProperties":{"$ref":"#/components/schemas/N"}}"##,
        r#"{"schemas":{"N":{"type":"integer"}}}"#,
        reason,
    );
    header_only(r#"{"type":"object","additionalProperties":{"anyOf":[{"type":"string"}]}}"#, "{}", reason);
}

#[test]
fn g03_a_map_that_admits_our_values_takes_them() {
    for rest in ["true", "{}", r#"{"type":"string"}"#, r#"{"type":["string","number"],"title":"T","x-a":1}"#] {
        allowed(
            &format!(r#"{{"type":"object","additionalProperties":{rest}}}"#),
            "{}",
            &format!(r#"{{"type":"object","additionalProperties":{rest},"properties":{{{FIELDS}}}}}"#),
        );
    }
}

#[test]
fn g04_unevaluated_properties_are_header_only() {
    header_only(
        r#"{"allOf":[{"type":"object","properties":{"a":{}}}],"unevaluatedProperties":false}"#,
        "{}",
        "the schema uses unevaluatedProperties",
    );
    header_only(
        r#"{"type":"object","unevaluatedProperties":{"type":"number"}}"#,
        "{}",
        "the schema uses unevaluatedProperties",
    );
}

#[test]
fn g05_property_names_and_counts_are_header_only() {
    header_only(r#"{"type":"object","propertyNames":{"maxLength":3}}"#, "{}", "the schema uses propertyNames");
    header_only(r#"{"type":"object","maxProperties":2}"#, "{}", "the schema uses maxProperties");
}

#[test]
fn every_other_keyword_that_may_exclude_members_is_header_only() {
    for keyword in ["oneOf", "anyOf", "not", "if", "then", "else", "$dynamicRef", "$recursiveRef", "discriminator"] {
        header_only(&format!(r#"{{"type":"object","{keyword}":[]}}"#), "{}", &format!("the schema uses {keyword}"));
    }
    for keyword in ["dependentSchemas", "dependencies", "$id"] {
        header_only(&format!(r#"{{"type":"object","{keyword}":{{}}}}"#), "{}", &format!("the schema uses {keyword}"));
    }
    header_only(r#"{"\u0061nyOf":[]}"#, "{}", "the schema uses anyOf");
}

#[test]
fn g07_a_plain_object_takes_the_fields() {
    allowed(
        r#"{ "type": "object", "properties": { "a": {"type":"number", "maximum": 1.10} } }"#,
        "{}",
        &format!(r#"{{ "type": "object", "properties": {{ "a": {{"type":"number", "maximum": 1.10}},{FIELDS} }} }}"#),
    );
    allowed(r#"{"type":"object"}"#, "{}", &format!(r#"{{"type":"object","properties":{{{FIELDS}}}}}"#));
    allowed("{}", "{}", &format!(r#"{{"properties":{{{FIELDS}}}}}"#));
    allowed(r#"{"properties":{}}"#, "{}", &format!(r#"{{"properties":{{{FIELDS}}}}}"#));
}

#[test]
fn g08_a_closed_object_takes_the_fields_because_they_are_described() {
    allowed(
        r#"{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}"#,
        "{}",
        &format!(
            r#"{{"type":"object","properties":{{"a":{{}},{FIELDS}}},"required":["a"],"additionalProperties":false}}"#
        ),
    );
}

#[test]
fn g08_a_closed_object_that_is_not_described_as_paid_takes_none() {
    let document = r#"{"openapi":"3.1.0","info":{},"paths":{"/closed":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"type":"object","additionalProperties":false}}}}}}},"/open":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"type":"object"}}}}}}}}}"#;
    let made = enrich(document.as_bytes(), &plan()).unwrap();
    assert!(!made.rules.allows_body("GET", "/closed", 200));
    assert!(made.rules.allows_body("GET", "/open", 200));
}

#[test]
fn g09_an_object_or_null_takes_the_fields() {
    allowed(
        r#"{"type":["object","null"]}"#,
        "{}",
        &format!(r#"{{"type":["object","null"],"properties":{{{FIELDS}}}}}"#),
    );
}

#[test]
fn what_is_not_an_object_takes_none() {
    for plain in [r#"{"type":"array","items":{}}"#, r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#] {
        header_only(plain, "{}", "the schema is not an object");
    }
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
fn g17_numbers_escapes_and_order_are_kept() {
    let plain =
        r#"{"z":[1.10, 1e5,-0,12345678901234567890,1E400],"type":"object","example":{"k":"\u00e9\/\ud83d","k":2}}"#;
    let (text, _) = schema(plain);
    assert_eq!(text, format!(r#"{},"properties":{{{FIELDS}}}}}"#, plain.strip_suffix('}').unwrap()));
}

#[test]
fn p37_a_shared_schema_is_copied_and_stays_as_it_is() {
    let components = r##"{"schemas":{"W":{"type":"object", "required":["t"], "properties":{"t":{"$ref":"#/components/schemas/W"}}},"V":{"$ref":"#/components/schemas/W"}}}"##;
    let copy = format!(
        r##"{{"type":"object", "required":["t"], "properties":{{"t":{{"$ref":"#/components/schemas/W"}},{FIELDS}}}}}"##
    );
    allowed(r##"{"$ref":"#/components/schemas/W"}"##, components, &copy);
    allowed(r##"{"$ref":"#/components/schemas/V"}"##, components, &copy);
}

#[test]
fn p37_a_part_of_all_of_that_is_closed_is_header_only() {
    let components = r##"{"schemas":{"A":{"type":"object","properties":{"a":{}},"additionalProperties":false},"B":{"type":"object"},"C":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}"##;
    let reason = "a part of allOf admits no further members";
    header_only(
        r##"{"allOf":[{"$ref":"#/components/schemas/B"},{"$ref":"#/components/schemas/A"}]}"##,
        components,
        reason,
    );
    header_only(r##"{"allOf":[{"$ref":"#/components/schemas/C"}]}"##, components, reason);
    header_only(r#"{"allOf":[{"type":"object","maxProperties":1}]}"#, "{}", "the schema uses maxProperties");
}

#[test]
fn p37_all_of_open_objects_takes_the_fields() {
    let components = r##"{"schemas":{"B":{"type":"object","properties":{"b":{}}},"C":{"allOf":[{"$ref":"#/components/schemas/B"},{"properties":{"c":{}}}],"required":["b"]}}}"##;
    allowed(
        r##"{"$ref":"#/components/schemas/C"}"##,
        components,
        &format!(
            r##"{{"allOf":[{{"$ref":"#/components/schemas/B"}},{{"properties":{{"c":{{}}}}}}],"required":["b"],"properties":{{{FIELDS}}}}}"##
        ),
    );
}

#[test]
fn p37_unevaluated_properties_around_a_reference_are_header_only() {
    header_only(
        r##"{"$ref":"#/components/schemas/A","unevaluatedProperties":false}"##,
        r#"{"schemas":{"A":{"type":"object"}}}"#,
        "$ref has other keywords beside it",
    );
}

#[test]
fn p38_a_text_beside_a_reference_goes_into_the_copy() {
    let components = r#"{"schemas":{"A":{"type":"object","title":"A","properties":{}}}}"#;
    allowed(
        r##"{"$ref":"#/components/schemas/A","title":"B","description":"mine"}"##,
        components,
        &format!(r#"{{"type":"object","title":"B","properties":{{{FIELDS}}},"description":"mine"}}"#),
    );
    header_only(
        r##"{"$ref":"#/components/schemas/A","nullable":true}"##,
        components,
        "$ref has other keywords beside it",
    );
}

#[test]
fn p38_boolean_schemas_are_untouched() {
    allowed("true", "{}", "true");
    header_only("false", "{}", "the schema uses false");
    header_only("null", "{}", "the schema has a form that is not known");
    header_only("[]", "{}", "the schema has a form that is not known");
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
fn references_that_cannot_be_followed_are_header_only() {
    let schemas = r##"{"schemas":{"A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"},"Loop":{"allOf":[{"$ref":"#/components/schemas/Loop"}]},"Id":{"type":"object","properties":{"x":{"$anchor":"here"}}},"E":{}}}"##;
    let deep = "references or allOf go in a circle or more than 16 deep";
    header_only(r##"{"$ref":"#/components/schemas/A"}"##, schemas, deep);
    header_only(r##"{"$ref":"#/components/schemas/Loop"}"##, schemas, deep);
    header_only(r#"{"$ref":"other.json#/A"}"#, schemas, "$ref leaves the document");
    header_only(r#"{"$ref":"https://example.com/a.json"}"#, schemas, "$ref leaves the document");
    header_only(r##"{"$ref":"#/components/schemas/None"}"##, schemas, "$ref points to nothing in the document");
    header_only(r##"{"$ref":"#anchor"}"##, schemas, "$ref points to nothing in the document");
    header_only(r#"{"$ref":1}"#, schemas, "the schema has a form that is not known");
    header_only(r##"{"$ref":"#/components/schemas/E","title":"t"}"##, schemas, "$ref has other keywords beside it");
}

#[test]
fn a_schema_that_names_itself_is_not_copied_but_an_open_one_still_takes_fields() {
    let schemas = r##"{"schemas":{"Id":{"type":"object","properties":{"x":{"$anchor":"here"}}},"Closed":{"type":"object","additionalProperties":false,"properties":{"x":{"$anchor":"there"}}},"Named":{"type":"object","required":["$id","a"],"properties":{"$id":{"type":"string"}}}}}"##;
    let (text, made) = schema_with(r##"{"$ref":"#/components/schemas/Id"}"##, schemas);
    assert_eq!(text, r##"{"$ref":"#/components/schemas/Id"}"##);
    assert!(made.rules.allows_body("GET", "/a", 200));
    header_only(
        r##"{"$ref":"#/components/schemas/Closed"}"##,
        schemas,
        "the shared schema has $id or $anchor and cannot be copied",
    );
    allowed(
        r##"{"$ref":"#/components/schemas/Named"}"##,
        schemas,
        &format!(r#"{{"type":"object","required":["$id","a"],"properties":{{"$id":{{"type":"string"}},{FIELDS}}}}}"#),
    );
}

#[test]
fn sixteen_hops_are_followed_and_seventeen_are_not() {
    let mut schemas: Vec<String> =
        (1..=17).map(|n| format!(r##""S{n}":{{"$ref":"#/components/schemas/S{}"}}"##, n + 1)).collect();
    schemas.push(r#""S18":{"type":"object"}"#.to_owned());
    let components = format!(r#"{{"schemas":{{{}}}}}"#, schemas.join(","));
    allowed(
        r##"{"$ref":"#/components/schemas/S3"}"##,
        &components,
        &format!(r#"{{"type":"object","properties":{{{FIELDS}}}}}"#),
    );
    header_only(
        r##"{"$ref":"#/components/schemas/S2"}"##,
        &components,
        "references or allOf go in a circle or more than 16 deep",
    );
}

#[test]
fn the_merchants_own_members_of_our_names_are_header_only() {
    header_only(
        r#"{"type":"object","properties":{"feedback_id":{"type":"integer"}}}"#,
        "{}",
        "the schema has its own feedback_id",
    );
    header_only(r#"{"type":"object","required":["feedback_url"]}"#, "{}", "the schema has its own feedback_url");
    header_only(r#"{"allOf":[{"properties":{"feedback_id":{}}}]}"#, "{}", "the schema has its own feedback_id");
}

#[test]
fn a_keyword_that_stands_twice_is_header_only() {
    header_only(r#"{"type":"object","type":"array"}"#, "{}", "the schema has type more than once");
    header_only(r#"{"properties":{},"properties":{}}"#, "{}", "the schema has properties more than once");
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

#[test]
fn agent_context_is_a_member_of_a_json_request() {
    let document = r##"{"openapi":"3.1.0","info":{},"paths":{"/a":{"post":{"requestBody":{"$ref":"#/components/requestBodies/B"},"responses":{"402":{}}}}},"components":{"requestBodies":{"B":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S"}}}}},"schemas":{"S":{"type":"object","required":["q"],"additionalProperties":false}}}}"##;
    let property = r#""agent_context":{"type":"object","description":"Please add.","properties":{"agent_type":{"type":"string","description":"Your agent name."},"search_query":{"type":"string","description":"The query you used to find this service, or direct if you did not search."}}}"#;
    for (required, list) in [(false, r#"["q"]"#), (true, r#"["q","agent_context"]"#)] {
        let text = String::from_utf8(enrich(document.as_bytes(), &asking(required)).unwrap().text).unwrap();
        let body = format!(
            r#""requestBody":{{"content":{{"application/json":{{"schema":{{"type":"object","required":{list},"additionalProperties":false,"properties":{{{property}}}}}}}}}}}"#
        );
        assert!(text.contains(&body), "{text}");
        assert!(text.contains(&document[document.find(r#""components""#).unwrap()..document.len() - 1]), "{text}");
    }
}

#[test]
fn agent_context_is_query_parameters_where_there_is_no_json_body() {
    let document = r#"{"openapi":"3.1.0","info":{},"paths":{"/a":{"get":{"parameters":[{"name":"q","in":"query"},{"name":"agent_type","in":"query"}],"responses":{"402":{}}},"post":{"requestBody":{"content":{"application/json":{"schema":{"type":"array"}}}},"responses":{"402":{}}}}}}"#;
    let made = enrich(document.as_bytes(), &asking(false)).unwrap();
    let text = String::from_utf8(made.text.clone()).unwrap();
    assert!(
        text.contains(
            r#"{"name":"agent_type","in":"query"},{"name":"agent_search_query","in":"query","required":false"#
        )
    );
    assert!(text.contains(r#""parameters":[{"name":"agent_type","in":"query","required":false,"x-forge"#), "{text}");
    assert!(made.rules.declares_query("GET", "/a", "agent_type"));
    assert!(!made.rules.declares_query("GET", "/a", "agent_search_query"));
    assert!(!made.rules.declares_query("POST", "/a", "agent_type"));
    let served = enrich(&made.text, &asking(false)).unwrap();
    assert!(served.rules.declares_query("GET", "/a", "agent_type"));
    assert!(!served.rules.declares_query("GET", "/a", "agent_search_query"), "ours, not the merchant's");
    assert!(!served.rules.declares_query("POST", "/a", "agent_type"));
}

#[test]
fn agent_context_in_a_swagger_2_body() {
    let document = r##"{"swagger":"2.0","info":{},"paths":{"/a":{"post":{"parameters":[{"name":"b","in":"body","schema":{"type":"object"}}],"responses":{"402":{"description":""}}}}}}"##;
    let text = String::from_utf8(enrich(document.as_bytes(), &asking(true)).unwrap().text).unwrap();
    assert!(text.contains(r#""in":"body","schema":{"type":"object","properties":{"agent_context":"#), "{text}");
    assert!(text.contains(r#","required":["agent_context"]}}],"responses""#), "{text}");
}

#[test]
fn context_alone_adds_no_ratings() {
    let document = r#"{"openapi":"3.1.0","info":{},"paths":{"/a":{"get":{"responses":{"402":{},"200":{"content":{"application/json":{"schema":{"type":"object"}}}}}}}}}"#;
    let text = String::from_utf8(enrich(document.as_bytes(), &Plan { feedback: None, ..asking(false) }).unwrap().text)
        .unwrap();
    assert!(text.ends_with(r#","x-forge-agent-context":{"ask":"Please add."}}"#), "{text}");
    assert!(!text.contains("feedback"), "{text}");
    assert!(text.contains(r#""name":"agent_type""#));
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
