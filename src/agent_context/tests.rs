use super::*;
use serde_json::Value;
use std::borrow::Cow;

fn vectors(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../tests/fixtures/forge-vectors.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

fn fields_of(context: &AgentContext) -> Value {
    Value::Object(context.fields().map(|(name, value)| (name.to_owned(), value.into())).collect())
}

/// What was cut out of a body, as `{"field":"text"}`; a first element stands for its array.
fn raw_fields(raw: &Raw) -> Value {
    let given = FIELDS.iter().zip(&raw.0).filter_map(|(name, given)| Some(((*name).to_owned(), given.text()?.into())));
    Value::Object(given.collect())
}

fn cut(body: &str) -> Option<(String, Raw)> {
    let (kept, raw) = cut_body(body.as_bytes()).into_option()?;
    Some((String::from_utf8(kept).unwrap(), raw))
}

fn kept(body: &str) -> String {
    cut(body).unwrap().0
}

fn taken(query: &str) -> (String, Value) {
    let (kept, raw) = take_query(query.as_bytes(), &[]);
    (String::from_utf8(kept.into_owned()).unwrap(), raw_fields(&raw))
}

fn typed(text: &str) -> Raw {
    Raw([Given::Text(text.to_owned()), Given::Nothing, Given::Nothing, Given::Nothing])
}

#[test]
fn the_take_query_vectors_hold() {
    let vectors = vectors("take_query");
    assert_eq!(vectors.len(), 17);
    for vector in vectors {
        let query = vector["query"].as_str().unwrap();
        assert_eq!(taken(query), (vector["kept"].as_str().unwrap().to_owned(), vector["raw"].clone()), "{query}");
    }
}

#[test]
fn the_agent_context_vectors_hold() {
    let vectors = vectors("agent_context");
    assert_eq!(vectors.len(), 24);
    for vector in vectors {
        let body = format!(r#"{{"agent_context":{}}}"#, vector["raw"]);
        let (rest, raw) = cut(&body).unwrap();
        assert_eq!(rest, "{}");
        assert_eq!(fields_of(&normalise(&raw, true)), vector["parsed"], "{body}");
        assert_eq!(fields_of(&normalise(&raw, false)), vector["parsed_no_query"], "{body}");
        // The vectors name issues only where the value is an object.
        if let Some(wanted) = vector["issues"].as_array() {
            assert_eq!(issues(&raw, true), *wanted, "{body}");
        }
    }
}

#[test]
fn a_query_without_context_is_not_copied() {
    for query in ["", "a=1", "city=Oslo&units=metric", "a%20b=1&agent=2&agent_types=x", "%61=1", "agent_type=%zz"] {
        assert!(matches!(take_query(query.as_bytes(), &[]).0, Cow::Borrowed(_)), "{query}");
    }
}

#[test]
fn names_count_however_they_are_escaped() {
    for name in ["agent%5Ftype", "%61gent_type", "agent%5ftyp%65", "%61%67%65%6e%74%5f%74%79%70%65"] {
        assert_eq!(
            taken(&format!("x=%7e&{name}=a&y=+")),
            ("x=%7e&y=+".to_owned(), serde_json::json!({"agent_type": "a"}))
        );
    }
    // A plus is a space, and an escape is read once.
    assert_eq!(taken("agent+type=a&agent%255Ftype=b").0, "agent+type=a&agent%255Ftype=b");
}

#[test]
fn bytes_that_are_no_text_stay() {
    let query = b"a=\xff&agent_type=\xff&agent_type=x&b=\xc3";
    let (kept, raw) = take_query(query, &[]);
    assert_eq!((&kept[..], raw), (&b"a=\xff&agent_type=\xff&b=\xc3"[..], typed("x")));
}

#[test]
fn d06_a_parameter_that_is_the_merchants_own_stays() {
    let (kept, raw) = take_query(b"agent_type=blue&agent_client=awal", &["agent_type"]);
    assert_eq!(&kept[..], b"agent_type=blue");
    assert_eq!(raw_fields(&raw), serde_json::json!({"client": "awal"}));
}

#[test]
fn a_target_loses_its_question_mark_with_its_last_parameter() {
    let target = |target: &str| take_target(target.as_bytes(), &[]).map(|(kept, _)| String::from_utf8(kept).unwrap());
    assert_eq!(target("/weather?agent_type=x").as_deref(), Some("/weather"));
    assert_eq!(target("/weather?a=1&agent_type=x").as_deref(), Some("/weather?a=1"));
    assert_eq!(target("/weather?&agent_type=x").as_deref(), Some("/weather"));
    assert_eq!(target("/w%20?b=%zz??&agent_type=x&&").as_deref(), Some("/w%20?b=%zz??&&"));
    for untouched in ["/weather", "/weather?", "/weather?a=1", "/agent_type=x"] {
        assert_eq!(target(untouched), None, "{untouched}");
    }
}

#[test]
fn d04_only_the_member_goes_wherever_it_stands() {
    let member = r#""agent_context" : {"agent_type":"x"}"#;
    for (before, after) in [
        ("{@}", "{}"),
        ("{ @ }", "{  }"),
        (r#"{@,"a":1.10}"#, r#"{"a":1.10}"#),
        ("{\n  @,\n  \"a\": 1e5\n}\n", "{\n  \"a\": 1e5\n}\n"),
        (r#"{"a":"\/\u00e9", @ , "b":[1 , 2]}"#, r#"{"a":"\/\u00e9" , "b":[1 , 2]}"#),
        (r#"{"a":-0,@}"#, r#"{"a":-0}"#),
        ("{\"a\":-0 ,\n @\n}", "{\"a\":-0\n}"),
        (r#"{@,@}"#, "{}"),
        (r#"{@,@,"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
        (r#"{"a":1,@,@,"b":2,@}"#, r#"{"a":1,"b":2}"#),
        (r#"{@,"a":1,@,"b":2,@}"#, r#"{"a":1,"b":2}"#),
    ] {
        assert_eq!(kept(&before.replace('@', member)), after, "{before}");
    }
}

#[test]
fn p33_numbers_escapes_and_duplicates_beside_the_member_keep_their_bytes() {
    let rest = "\"n\":1e2,\"l\":123456789012345678901234567890,\"z\":-0,\"u\":18446744073709551616,\"o\":1e400,\
                \"d\":1,\"d\":2,\"s\":\"\\/\\u00e9\\ud800\",\n    \"t\":\ttrue";
    assert_eq!(kept(&format!("{{{rest},\"agent_context\":{{}}}}\n")), format!("{{{rest}}}\n"));
    assert_eq!(kept(&format!("{{\"agent_context\":{{}},{rest}}}\n")), format!("{{{rest}}}\n"));
}

#[test]
fn the_member_goes_whatever_its_type_and_counts_only_as_an_object() {
    for value in ["null", "1", "\"claude\"", "[{\"agent_type\":\"x\"}]", "true", "{}"] {
        let (rest, raw) = cut(&format!(r#"{{"a":1,"agent_context":{value}}}"#)).unwrap();
        assert_eq!((rest.as_str(), raw), (r#"{"a":1}"#, Raw::default()), "{value}");
    }
}

#[test]
fn a_key_counts_by_what_it_reads_and_of_two_the_last() {
    let body =
        r#"{"agent\u005fcontext":{"agent_type":"a"},"b":2,"agent_context":{"agent\u005Ftype":"x","agent_type":"y"}}"#;
    assert_eq!(cut(body), Some((r#"{"b":2}"#.to_owned(), typed("y"))));
    assert_eq!(
        cut(r#"{"agent_context":{"agent_type":"a"},"agent_context":5}"#),
        Some(("{}".to_owned(), Raw::default()))
    );
}

#[test]
fn a_member_elsewhere_than_at_the_top_is_the_merchants() {
    for body in [
        r#"{"a":{"agent_context":{}}}"#,
        r#"{"a":"agent_context"}"#,
        r#"{"Agent_context":{}}"#,
        r#"{"agent_context\\u":1}"#,
    ] {
        assert_eq!(cut_body(body.as_bytes()), BodyCut::Absent, "{body}");
    }
}

#[test]
fn d05_what_is_not_json_or_no_object_keeps_its_bytes() {
    for body in [
        r#"{"agent_context":{},"a":NaN}"#,
        r#"{"agent_context":{}"#,
        r#"{"agent_context":{}}x"#,
        r#"{"agent_context":{},}"#,
        "\u{feff}{\"agent_context\":{}}",
        r#"[{"agent_context":{}}]"#,
        r#""agent_context""#,
    ] {
        assert_eq!(cut_body(body.as_bytes()), BodyCut::Unreadable, "{body}");
    }
    assert_eq!(cut_body(b"{\"agent_context\":{},\"a\":\"\xff\"}"), BodyCut::Unreadable);
    for body in ["", "{}", "[]", "{", "agent context"] {
        assert_eq!(cut_body(body.as_bytes()), BodyCut::Absent, "{body}");
    }
}

#[test]
fn p35_a_shallow_member_goes_beside_a_deep_one_and_a_deep_one_goes_too() {
    for depth in [127, 128, 129, 100_000] {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let small = std::thread::Builder::new().stack_size(64 * 1024);
        let check = move || {
            let (rest, raw) =
                cut(&format!(r#"{{"agent_context":{{"agent_type":"x","y":{deep}}},"deep":{deep}}}"#)).unwrap();
            assert_eq!((rest, raw), (format!(r#"{{"deep":{deep}}}"#), typed("x")));
            let (rest, raw) = cut(&format!(r#"{{"deep":{deep},"agent_context":{{"agent_type":{deep}}}}}"#)).unwrap();
            assert_eq!((rest, &raw.0[0]), (format!(r#"{{"deep":{deep}}}"#), &Given::NotText));
        };
        small.spawn(check).unwrap().join().unwrap();
    }
}

#[test]
fn p20_a_body_of_the_largest_size_is_cut_like_a_small_one() {
    for size in [2 * 1024, 1024 * 1024] {
        let rest = format!(r#""data":"{}""#, "x".repeat(size));
        assert_eq!(kept(&format!(r#"{{{rest},"agent_context":{{}}}}"#)), format!("{{{rest}}}"));
    }
}

#[test]
fn body_counts_before_query_field_by_field() {
    let given = |text: &str| Given::Text(text.to_owned());
    let body = Raw([given("a"), Given::NotText, Given::Nothing, Given::NotText]);
    let query = Raw([given("b"), given("c"), given("d"), Given::Nothing]);
    assert_eq!(body.over(query), Raw([given("a"), given("c"), given("d"), Given::NotText]));
}

#[test]
fn d20_limits_count_utf16_units_and_never_cut_a_pair() {
    let astral = "\u{1f600}".repeat(80);
    let context = normalise(&typed(&astral), true);
    assert_eq!(context.agent_type.unwrap(), "\u{1f600}".repeat(40));
    let context = normalise(&typed(&format!("x{astral}")), true);
    assert_eq!(context.agent_type.unwrap(), format!("x{}", "\u{1f600}".repeat(39)));
    assert_eq!(normalise(&typed("\u{1b}]0;x\u{7}\u{202e}bot"), true).agent_type.as_deref(), Some("]0;x bot"));
}

#[test]
fn e01_a_lone_surrogate_becomes_a_replacement_character() {
    let (_, raw) = cut(r#"{"agent_context":{"agent_type":"a\ud800b"}}"#).unwrap();
    assert_eq!(normalise(&raw, true).agent_type.as_deref(), Some("a\u{fffd}b"));
}

#[test]
fn the_ask_stands_in_an_extension_of_its_own() {
    let extension = |required, search| String::from_utf8(extension(required, search)).unwrap();
    assert_eq!(
        extension(false, true),
        r#"{"info":{"agent_context":"Please add: agent_context {agent_type, search_query} in your paid request's JSON body (without a body: agent_type, agent_search_query query parameters). search_query: share the query you used to find this service, or \"direct\" if you did not search.","optional":true}}"#
    );
    assert_eq!(
        extension(true, false),
        r#"{"info":{"agent_context":"Required before payment: agent_context {agent_type} in your paid request's JSON body (without a body: agent_type query parameter).","optional":false}}"#
    );
}

#[test]
fn the_required_mode_says_what_is_missing() {
    let both = Raw([Given::Text("codex".into()), Given::Nothing, Given::Nothing, Given::Text("direct".into())]);
    assert_eq!(missing_answer(&both, true), None);
    assert_eq!(missing_answer(&typed("codex"), false), None);
    let answer = String::from_utf8(missing_answer(&typed("codex"), true).unwrap()).unwrap();
    assert_eq!(
        answer,
        r#"{"error":"agent_context_required","issues":["search_query must be a non-empty string of at most 200 characters"],"message":"Required before payment: agent_context {agent_type, search_query} in your paid request's JSON body (without a body: agent_type, agent_search_query query parameters). search_query: share the query you used to find this service, or \"direct\" if you did not search."}"#
    );
    let nothing: Value = serde_json::from_slice(&missing_answer(&Raw::default(), true).unwrap()).unwrap();
    assert_eq!(nothing["issues"].as_array().unwrap().len(), 2);
    // A copied example is right in shape and still tells nothing.
    assert!(issues(&typed("Your agent name"), false).is_empty());
    assert!(missing_answer(&typed("Your agent name"), false).is_some());
    let invalid: Value = serde_json::from_slice(&invalid_answer()).unwrap();
    assert_eq!(invalid["error"], "agent_context_invalid");
}
