use super::*;

fn faults(json: &str) -> Vec<String> {
    parse(json.as_bytes()).1
}

/// A key that is obviously fake, and more options.
fn with(more: &str) -> Vec<String> {
    faults(&format!(r#"{{"api_key":"ffk_fake"{more}}}"#))
}

#[test]
fn a_key_alone_is_enough() {
    let (options, faults) = parse(br#"{"api_key":"ffk_fake"}"#);
    assert_eq!(faults, [""; 0]);
    assert!(options.feedback && options.describe_challenges && options.telemetry && !options.inject_text);
    assert_eq!((options.max_description, options.ttl_ms, options.base_path.as_str()), (500, 86_400_000, "/feedback"));
    assert_eq!(options.openapi.unwrap().paths, ["/openapi.json"]);
    assert_eq!(options.diagnostics, None);
}

#[test]
fn d21_p36_a_key_with_control_characters_is_refused() {
    for key in [r"a\nb", r"a\n", r"\u0000", " a", "a ", ""] {
        let got = faults(&format!(r#"{{"api_key":"{key}"}}"#));
        assert!(got.len() == 1 && got[0].starts_with("api_key: "), "{key:?}: {got:?}");
    }
    assert_eq!(faults(r#"{"api_key":"in ner"}"#), [""; 0]);
    assert_eq!(faults("{}").len(), 1);
}

#[test]
fn p36_a_key_file_loses_one_trailing_newline() {
    assert_eq!(key_of_file(b"ffk_fake\n").unwrap(), "ffk_fake");
    assert_eq!(key_of_file(b"ffk_fake\r\n").unwrap(), "ffk_fake");
    assert_eq!(key_of_file(b"ffk_fake").unwrap(), "ffk_fake");
    for bytes in [&b"ffk_fake\n\n"[..], b"ffk\0fake", b"\xff", b"", b"\n"] {
        assert!(key_of_file(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn d22_a_public_url_with_a_path_is_refused_with_the_way_out() {
    assert_eq!(
        with(r#","public_url":"https://api.example.com/v1""#),
        [
            r#"public_url: "https://api.example.com/v1" has more than an origin; use "https://api.example.com" and base_path for the path"#
        ]
    );
    assert_eq!(
        parse(br#"{"api_key":"k","public_url":"https://api.example.com/"}"#).0.public_url.unwrap(),
        "https://api.example.com"
    );
}

#[test]
fn d23_an_unknown_option_is_named_with_its_neighbour() {
    assert_eq!(
        with(r#","describeChallenge":true"#),
        ["describeChallenge: unknown option; did you mean describe_challenges?"]
    );
    assert_eq!(with(r#","zzzzzzzzzz":1"#), ["zzzzzzzzzz: unknown option; see the table of options"]);
    assert_eq!(with(r#","openapi":{"path":[]}"#), ["openapi.path: unknown option; did you mean paths?"]);
}

#[test]
fn a_message_says_what_came_what_goes_and_the_way_out() {
    assert_eq!(
        with(r#","max_description":501"#),
        ["max_description: 501 is too large; use 0 to 500 or leave it out (500)"]
    );
    assert_eq!(with(r#","feedback":"yes""#), [r#"feedback: "yes" does not go; use true or false or leave it out"#]);
    assert_eq!(
        with(r#","tone":"loud""#),
        [r#"tone: "loud" does not go; use "default" or "lifecycle" or leave it out"#]
    );
    assert_eq!(with(r#","base_path":"feedback/""#).len(), 1);
    assert_eq!(with(r#","json_types":["json"]"#).len(), 1);
    assert_eq!(with(r#","backend_url":"http://user:secret@x/""#).len(), 1);
    assert_eq!(
        faults("[]"),
        [
            "options: [] is not an object; give one JSON object",
            "api_key: is missing; give the project key, or api_key_file with the path of a file that holds it"
        ]
    );
}

#[test]
fn a_key_never_appears_in_a_message() {
    assert!(!faults(r#"{"api_key":["ffk_fake_secret"]}"#)[0].contains("secret"));
    assert!(!faults(r#"{"api_key":"ffk_fake_secret\n"}"#)[0].contains("secret"));
}

#[test]
fn every_option_of_the_list_is_known_here_with_its_default() {
    let list: serde_json::Value = serde_json::from_str(include_str!("../../options.json")).unwrap();
    let defaults = parse(br#"{"api_key":"ffk_fake"}"#).0;
    for row in list.as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        if name.starts_with("api_key") {
            continue;
        }
        let document = serde_json::json!({"api_key": "ffk_fake", name: row["default"]});
        let (options, faults) = parse(document.to_string().as_bytes());
        assert_eq!(faults, [""; 0], "{name}");
        assert_eq!(options, defaults, "{name}: the listed default is the default");
    }
    let mut reader = Reader::new(b"{}");
    read_all(&mut reader);
    let listed: Vec<&str> = list.as_array().unwrap().iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(reader.asked(), listed, "options.json lists the same names in the same order");
}
