use super::*;

fn answer(status: u16, body: &str) -> Answer {
    Answer::Http { status, retry_after_ms: None, body: body.as_bytes().to_vec() }
}

fn registered(value: &str) -> Project {
    project(&answer(200, &serde_json::json!({ "publicOrigin": value }).to_string()))
}

#[test]
fn e18_an_https_origin_is_taken() {
    for (given, origin) in [
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/", "https://api.example.com"),
        ("https://api.example.com:8443", "https://api.example.com:8443"),
        ("https://[2001:db8::1]:443", "https://[2001:db8::1]:443"),
        ("https://[2001:db8::1]", "https://[2001:db8::1]"),
    ] {
        assert_eq!(registered(given), Project::Registered(origin.into()));
    }
}

#[test]
fn e18_plain_http_and_hostile_values_are_not_origins() {
    let long = format!("https://{}.example.com", "a".repeat(260));
    for hostile in [
        "http://api.example.com",
        "HTTPS//api.example.com",
        "javascript:alert(1)",
        "https://",
        "https:///",
        "https://user@api.example.com",
        "https://user:pass@api.example.com",
        "https://api.example.com/path",
        "https://api.example.com//",
        "https://api.example.com?q",
        "https://api.example.com#f",
        "https://api.example.com:65536",
        "https://api.example.com:",
        "https://api.example.com:80a",
        "https://api.example.com\r\nX: y",
        "https://api example.com",
        "https://api.example.com\"",
        "https://bücher.example",
        "https://[::1",
        "https://[zz]",
        "//api.example.com",
        "",
        &long,
    ] {
        assert_eq!(registered(hostile), Project::NotAnOrigin, "{hostile:?}");
    }
}

#[test]
fn answers_that_are_no_project() {
    assert_eq!(project(&answer(200, "{}")), Project::NotRegistered);
    assert_eq!(project(&answer(200, r#"{"publicOrigin":null}"#)), Project::NotRegistered);
    for body in ["", "[]", "not json", r#"{"publicOrigin":1}"#] {
        assert_eq!(project(&answer(200, body)), Project::NotAnOrigin, "{body}");
    }
    assert_eq!(project(&answer(404, "")), Project::Refused(404));
    for status in [302, 408, 429, 500, 503] {
        assert_eq!(project(&answer(status, "")), Project::Unknown { retry_after_ms: None });
    }
    assert_eq!(project(&Answer::None("x".into())), Project::Unknown { retry_after_ms: None });
}

#[test]
fn readers_race_a_change_of_the_origin() {
    let origin = RegisteredOrigin::default();
    let names: [Arc<str>; 2] = ["https://a.example".into(), "https://b.example".into()];
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    if let Some(seen) = origin.get() {
                        assert!(names.contains(&seen));
                    }
                }
            });
        }
        scope.spawn(|| {
            for round in 0..20_000 {
                origin.set(names.get(round % 3).cloned());
            }
        });
    });
    assert_eq!(origin.all.lock().unwrap().len(), 2, "grows with different origins only");
}
