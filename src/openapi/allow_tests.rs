use super::*;

fn rules(routes: &[(&str, &str, bool)]) -> Rules {
    let mut rules = Rules::default();
    for (method, path, allowed) in routes {
        rules.add(method, path, &RouteRule { exact: vec![(200, *allowed)], ..RouteRule::default() });
    }
    rules
}

#[test]
fn the_most_specific_path_wins_whatever_the_order() {
    let mut routes = [
        ("GET", "/users/{id}", true),
        ("GET", "/users/me", false),
        ("GET", "/{any}/{id}", false),
        ("GET", "/files/{name}.json", false),
        ("GET", "/files/{name}", true),
        ("GET", "/files/report-{year}.json", true),
    ];
    for _ in 0..2 {
        let rules = rules(&routes);
        for (path, allows) in [
            ("/users/me", false),
            ("/users/7", true),
            ("/users/7/", true),
            ("/users/me?x=/users/7", false),
            ("/teams/7", false),
            ("/files/a.json", false),
            ("/files/a.txt", true),
            ("/files/report-2026.json", true),
            ("/files/report-.json", false),
            ("/files/.json", true),
            ("/users/", true),
            ("/users/7/posts", true),
        ] {
            assert_eq!(rules.allows_body("GET", path, 200), allows, "{path}");
        }
        routes.reverse();
    }
}

#[test]
fn a_method_of_a_less_specific_path_is_found_behind_a_more_specific_one() {
    let rules = rules(&[("GET", "/users/me", true), ("PUT", "/users/{id}", false)]);
    assert!(!rules.allows_body("PUT", "/users/me", 200));
    assert!(rules.allows_body("GET", "/users/me", 200));
    assert!(rules.allows_body("DELETE", "/users/me", 200));
}

#[test]
fn head_follows_get() {
    let described = rules(&[("GET", "/a", false), ("HEAD", "/b", true), ("GET", "/b", false)]);
    assert!(!described.allows_body("HEAD", "/a", 200));
    assert!(described.allows_body("HEAD", "/b", 200));
}

#[test]
fn escapes_in_paths_are_compared_as_what_they_read() {
    let rules = rules(&[("GET", "/caf%C3%A9", false), ("GET", "/a b", false)]);
    for path in ["/caf%C3%A9", "/caf%c3%a9", "/café", "/a%20b"] {
        assert!(!rules.allows_body("GET", path, 200), "{path}");
    }
    assert!(rules.allows_body("GET", "/caf%C3", 200));
    assert!(rules.allows_body("GET", "/%", 200));
}

#[test]
fn the_root_and_odd_paths() {
    let rules = rules(&[("GET", "/", false)]);
    assert!(!rules.allows_body("GET", "/", 200));
    assert!(!rules.allows_body("GET", "/?a=1", 200));
    for path in ["*", "//x", "/a", "/{id}"] {
        assert!(rules.allows_body("GET", path, 200), "{path}");
    }
}

#[test]
fn two_routes_of_one_shape_both_have_to_agree() {
    let rules = rules(&[("GET", "/a/{x}", true), ("GET", "/a/{y}", false)]);
    assert!(!rules.allows_body("GET", "/a/1", 200));
}

#[test]
fn a_status_is_looked_up_exactly_then_by_range_then_by_default() {
    let rule = RouteRule { exact: vec![(201, true)], range: Some(false), default: Some(true), ..RouteRule::default() };
    assert!(rule.allows(201));
    assert!(!rule.allows(200));
    assert!(rule.allows(404));
    assert!(RouteRule::default().allows(200));
}

#[test]
fn a_path_too_deep_to_learn_costs_nothing() {
    let mut rules = Rules::default();
    let deep = "/a".repeat(100_000);
    rules.add("GET", &deep, &RouteRule { range: Some(false), ..RouteRule::default() });
    assert!(rules.allows_body("GET", &deep, 200));
}

#[test]
fn e14_a_request_is_named_by_its_path_in_the_document() {
    let rules = rules(&[("GET", "/users/{id}", true), ("GET", "/users/me", true)]);
    assert_eq!(rules.template("GET", "/users/7?x=1"), Some("/users/{id}"));
    assert_eq!(rules.template("HEAD", "/users/me/"), Some("/users/me"));
    assert_eq!(rules.template("POST", "/users/7"), None);
}

thread_local! {
    /// Nodes that look-ups of this thread have visited.
    pub(super) static VISITED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[test]
fn g13_a_look_up_visits_the_segments_of_the_path_however_many_routes_there_are() {
    for routes in [10, 1_001, 20_000] {
        let mut rules = Rules::default();
        let closed = RouteRule { range: Some(false), ..RouteRule::default() };
        for index in 0..routes {
            rules.add("GET", &format!("/v1/things{index}/{{id}}/parts"), &closed);
            rules.add("GET", &format!("/v1/{{kind}}/all/{index}"), &closed);
        }
        for (path, most) in [("/v1/things7/x/parts", 5), ("/v1/none/all/7", 5), ("/v1/nothing/of/it", 3), ("/v2/x", 1)]
        {
            VISITED.set(0);
            rules.allows_body("GET", path, 200);
            assert!(VISITED.get() <= most, "{path} among {routes}: {} nodes", VISITED.get());
        }
        assert!(
            !rules.allows_body("GET", "/v1/things7/x/parts", 200) && !rules.allows_body("GET", "/v1/none/all/7", 200)
        );
    }
}
