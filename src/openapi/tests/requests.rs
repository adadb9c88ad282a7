//! Agent context in requests.

use super::*;

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
