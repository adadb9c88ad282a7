use super::*;
use crate::feedback::submission;

const ID: &str = "AbCdEfGhIjKlMnOpQrStUv";
const CLIENT: &[u8] = b"192.0.2.1";

fn links() -> Links {
    Links::new("https://api.example.com", "/feedback")
}

fn route(method: &str, target: &str) -> Option<Route> {
    Paths::new("/feedback", true).recognise(method.as_bytes(), target.as_bytes())
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

fn rating(query: &str) -> Result<Submission, Fault> {
    submission::from_query(query.as_bytes())
}

#[test]
fn the_routes_are_told_by_path_and_method() {
    for (method, target, wanted) in [
        ("GET", "/feedback", Route::Form { head: false }),
        ("HEAD", "/feedback?x=1", Route::Form { head: true }),
        ("POST", "/feedback", Route::Submit),
        ("GET", "/feedback/rate?feedback_id=x&outcome=no", Route::Rate),
        ("GET", "/feedback/summary", Route::Summary { head: false }),
        ("HEAD", "/feedback/summary?", Route::Summary { head: true }),
        ("GET", "/.well-known/forge-feedback.json", Route::WellKnown { head: false }),
        ("OPTIONS", "/feedback/rate", Route::Preflight(Place::Rate)),
        ("HEAD", "/feedback/rate", Route::WrongMethod(Place::Rate)),
        ("POST", "/feedback/rate", Route::WrongMethod(Place::Rate)),
        ("PUT", "/feedback", Route::WrongMethod(Place::Base)),
        ("get", "/feedback", Route::WrongMethod(Place::Base)),
        ("DELETE", "/feedback/summary", Route::WrongMethod(Place::Summary)),
    ] {
        assert_eq!(route(method, target), Some(wanted), "{method} {target}");
    }
}

#[test]
fn p11_only_the_exact_path_is_ours() {
    for target in [
        "/",
        "",
        "/weather",
        "//feedback",
        "/feedback/",
        "/feedback//rate",
        "/feedback/rate/",
        "/feedback/rate/x",
        "/feedbackrate",
        "/Feedback",
        "/feedback/RATE",
        "%2Ffeedback",
        "/%66eedback",
        "/feedback%2Frate",
        "/feedback%5Crate",
        "/feedback\\rate",
        "/x/..%2ffeedback",
        "/x/../feedback",
        "/./feedback",
        "/feedback;x=1",
        "/feedback/rate;x",
        "/feedback#x",
        "/feedback/summary%20",
        "http://api.example.com/feedback",
        "/feedback/rate%3Ffeedback_id=x",
        "/x?/feedback",
        "/.well-known/Forge-feedback.json",
    ] {
        assert_eq!(route("GET", target), None, "{target}");
    }
    assert_eq!(Paths::new("/feedback", false).recognise(b"GET", b"/.well-known/forge-feedback.json"), None);
    assert_eq!(Paths::new("/a/b", false).recognise(b"GET", b"/a/b/rate"), Some(Route::Rate));
}

#[test]
fn the_form_says_all_of_it() {
    let answer = form(&links(), false);
    assert_eq!(
        text(&answer),
        concat!(
            r#"{"protocol":"forge-feedback/0","cost":"free","ratings_are_public_at":"https://api.example.com/feedback/summary","#,
            r#""feedback_id":"Returned by paid responses as the feedback_id body field and the Forge-Feedback-Id header.","#,
            r#""quick":{"method":"GET","url":"https://api.example.com/feedback/rate?feedback_id=FEEDBACK_ID&outcome=OUTCOME","optional_param":"issue=ISSUE"},"#,
            r#""detailed":{"method":"POST","url":"https://api.example.com/feedback","content_type":"application/json","#,
            r#""body":{"feedback_id":"FEEDBACK_ID","outcome":"OUTCOME","issue":"ISSUE (optional)","note":"NOTE (optional, max 280 chars, no user data)"}},"#,
            r#""fields":{"outcome":{"required":true,"values":{"fully":"The call accomplished what you called it for.","#,
            r#""partially":"It helped, but only partly.","no":"It did not accomplish what you called it for.","not_evaluated":"You did not check the result."}},"#,
            r#""issue":{"required":false,"values":{"wrong_output":"The result is incorrect or poor quality.","#,
            r#""unmet_expectation":"It worked as built, but not what the description or schema led you to expect.","#,
            r#""schema_mismatch":"The response shape did not match the declared schema.","slow":"Too slow for the task.","#,
            r#""unclear_docs":"Hard to work out how to call it.","too_expensive":"The price was not worth the result."}},"#,
            r#""note":{"required":false,"max_length":280,"post_only":true}}}"#,
        )
    );
    assert_eq!(
        answer.headers,
        [
            ("Cache-Control", "no-store".to_owned()),
            ("X-Robots-Tag", "noindex".to_owned()),
            ("Access-Control-Allow-Origin", "*".to_owned()),
            ("Content-Length", answer.body.len().to_string()),
            ("Content-Type", "application/json; charset=utf-8".to_owned()),
        ]
    );
    let head = form(&links(), true);
    assert_eq!((head.status, head.headers, head.body.len()), (200, answer.headers, 0));
}

#[test]
fn d18_without_an_origin_the_links_are_paths() {
    let form = form(&Links::new("", "/feedback"), false);
    assert!(text(&form).contains(r#""url":"/feedback/rate?feedback_id="#) && !text(&form).contains("://"));
}

#[test]
fn a_method_that_is_not_there_gets_405_with_allow() {
    for (place, allow) in [
        (Place::Base, "GET, HEAD, POST, OPTIONS"),
        (Place::Rate, "GET, OPTIONS"),
        (Place::Summary, "GET, HEAD, OPTIONS"),
        (Place::WellKnown, "GET, HEAD, OPTIONS"),
    ] {
        let answer = wrong_method(place);
        assert_eq!((answer.status, answer.header("Allow"), answer.body.len()), (405, Some(allow), 0));
        assert_eq!(answer.header("Content-Length"), Some("0"));
    }
}

#[test]
fn d13_p06_a_page_may_ask_before_it_rates() {
    let answer = preflight(Place::Base);
    assert_eq!((answer.status, answer.body.len(), answer.header("Content-Length")), (204, 0, None));
    for (name, value) in [
        ("Access-Control-Allow-Origin", "*"),
        ("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS"),
        ("Access-Control-Allow-Headers", "Content-Type, *"),
        ("Access-Control-Max-Age", "86400"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    for answer in
        [refuse(Fault::MissingOutcome, &links()), unknown_id(), feedback_unavailable(None), summary(b"{}", false)]
    {
        assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("*"));
    }
}

#[test]
fn a_faulty_rating_is_told_what_would_be_right() {
    let answer = refuse(Fault::InvalidOutcome, &links());
    assert_eq!(answer.status, 400);
    assert_eq!(
        text(&answer),
        concat!(
            r#"{"recorded":false,"error":"invalid_outcome","allowed":{"outcome":["fully","partially","no","not_evaluated"],"#,
            r#""issue":["wrong_output","unmet_expectation","schema_mismatch","slow","unclear_docs","too_expensive"]},"#,
            r#""example":"https://api.example.com/feedback/rate?feedback_id=FEEDBACK_ID&outcome=fully"}"#,
        )
    );
    let answer = refuse(Fault::BodyTooLarge, &links());
    assert_eq!((answer.status, text(&answer)), (413, r#"{"recorded":false,"error":"body_too_large"}"#));
}

#[test]
fn f01_a_wrong_id_gets_404_and_never_reaches_the_backend() {
    let mut limits = Limits::new();
    let refused = admit(rating("feedback_id=x&outcome=no"), &links(), &mut limits, CLIENT, 0, |_| false).unwrap_err();
    assert_eq!(
        (refused.status, text(&refused)),
        (404, r#"{"recorded":false,"error":"unknown_or_expired_feedback_id"}"#)
    );
}

#[test]
fn f02_after_thirty_wrong_ids_a_client_learns_nothing_more() {
    let mut limits = Limits::new();
    for _ in 0..30 {
        let refused =
            admit(rating("feedback_id=x&outcome=no"), &links(), &mut limits, CLIENT, 0, |_| false).unwrap_err();
        assert_eq!(refused.status, 404);
    }
    let right = || rating(&format!("feedback_id={ID}&outcome=no"));
    let refused = admit(right(), &links(), &mut limits, CLIENT, 1_500, |_| panic!("not looked at")).unwrap_err();
    assert_eq!((refused.status, text(&refused)), (429, r#"{"recorded":false,"error":"rate_limited"}"#));
    assert_eq!(refused.header("Retry-After"), Some("59"));
    assert!(admit(right(), &links(), &mut limits, b"192.0.2.2", 1_500, |id| id == ID).is_ok());
    assert!(admit(right(), &links(), &mut limits, CLIENT, 60_000, |id| id == ID).is_ok());
}

#[test]
fn e12_two_hundred_ratings_of_one_id_make_ten_backend_calls() {
    let mut limits = Limits::new();
    let mut statuses = Vec::new();
    for _ in 0..200 {
        let admitted =
            admit(rating(&format!("feedback_id={ID}&outcome=no")), &links(), &mut limits, CLIENT, 7, |_| true);
        statuses.push(admitted.map_or_else(|refused| refused.status, |_| 200));
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 10);
    assert!(statuses[10..].iter().all(|status| *status == 429));
}

#[test]
fn a_faulty_form_counts_against_nobody() {
    let mut limits = Limits::new();
    for _ in 0..100 {
        let refused =
            admit(rating("feedback_id=x"), &links(), &mut limits, CLIENT, 0, |_| panic!("not looked at")).unwrap_err();
        assert_eq!(refused.status, 400);
    }
    assert!(admit(rating(&format!("feedback_id={ID}&outcome=no")), &links(), &mut limits, CLIENT, 0, |_| true).is_ok());
}

#[test]
fn what_is_not_to_be_had_says_so() {
    assert_eq!(text(&feedback_unavailable(None)), r#"{"recorded":false,"error":"feedback_unavailable"}"#);
    let busy = feedback_unavailable(Some(3));
    assert_eq!(
        (busy.status, busy.header("Retry-After"), busy.header("Access-Control-Expose-Headers")),
        (503, Some("3"), Some("Retry-After"))
    );
    let gone = summary_unavailable(None, false);
    assert_eq!(
        (gone.status, text(&gone), gone.header("Cache-Control")),
        (503, r#"{"error":"summary_unavailable"}"#, Some("no-store"))
    );
    assert_eq!(summary_unavailable(None, true).body, b"");
}

#[test]
fn a_summary_may_be_kept_for_half_a_minute_byte_for_byte() {
    let answer = summary(br#"{ "fully":1.10 }"#, false);
    assert_eq!((answer.status, text(&answer)), (200, r#"{ "fully":1.10 }"#));
    assert_eq!(
        (answer.header("Cache-Control"), answer.header("X-Robots-Tag")),
        (Some("public, max-age=30"), Some("noindex"))
    );
    assert_eq!(summary(b"{}", true).header("Content-Length"), Some("2"));
}
