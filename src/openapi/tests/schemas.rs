//! Which schemas take the fields, and how those are described in them.

use super::*;

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
