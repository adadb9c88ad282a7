//! What the backend answered, turned into what the rater hears. Its answer is passed on only where it is the rater's business.

use super::answer::{Answer, Caching};
use super::routes;
use crate::json::scan;

/// Largest backend answer that is passed on, in bytes.
pub(crate) const ANSWER_LIMIT: usize = 256 * 1024;

/// The answer to a rating. `None`: the backend gave none in time.
pub(crate) fn rating(backend: Option<(u16, &[u8])>) -> Answer {
    let Some((status, body)) = backend else { return routes::feedback_unavailable(None) };
    let is_success = (200..300).contains(&status);
    if !is_success && !matches!(status, 400 | 404 | 409) {
        return routes::feedback_unavailable(None);
    }
    let is_object = body.len() <= ANSWER_LIMIT && scan::document(body, []).is_ok();
    match (is_success, is_object) {
        // These three cannot carry the object they came with.
        (true, true) if matches!(status, 204..=206) => Answer::json(200, body.to_vec(), Caching::NoStore),
        (_, true) => Answer::json(status, body.to_vec(), Caching::NoStore),
        (true, false) => Answer::json(200, br#"{"recorded":true}"#.to_vec(), Caching::NoStore),
        (false, false) => routes::feedback_unavailable(None),
    }
}

/// The summary that may be shown and kept; `None` where the backend gave none.
pub(crate) fn summary(backend: Option<(u16, &[u8])>) -> Option<&[u8]> {
    let (status, body) = backend?;
    let is_good = (200..300).contains(&status) && body.len() <= ANSWER_LIMIT && scan::is_valid(body);
    is_good.then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_answer_that_is_the_raters_business_is_passed_on() {
        for status in [200, 201, 202, 400, 404, 409] {
            let answer = rating(Some((status, br#" {"recorded":true,"n":1.10} "#)));
            assert_eq!((answer.status, &answer.body[..]), (status, &br#" {"recorded":true,"n":1.10} "#[..]));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        assert_eq!(rating(Some((204, b"{}"))).status, 200);
    }

    #[test]
    fn a_success_without_an_object_is_recorded() {
        for body in [&b""[..], b"[]", b"ok", b"{\"a\":", b"\xff"] {
            let answer = rating(Some((200, body)));
            assert_eq!((answer.status, &answer.body[..]), (200, &br#"{"recorded":true}"#[..]), "{body:?}");
        }
        assert_eq!(rating(Some((204, b""))).body, br#"{"recorded":true}"#);
    }

    #[test]
    fn everything_else_says_unavailable_and_nothing_of_the_backend() {
        let unavailable = br#"{"recorded":false,"error":"feedback_unavailable"}"#;
        for backend in [
            None,
            Some((401, &br#"{"error":"bad key"}"#[..])),
            Some((403, b"{}")),
            Some((429, b"{}")),
            Some((500, b"{\"trace\":1}")),
            Some((302, b"{}")),
            Some((100, b"{}")),
            Some((400, b"<html>")),
            Some((404, b"")),
            Some((409, b"[]")),
        ] {
            let answer = rating(backend);
            assert_eq!((answer.status, &answer.body[..]), (503, &unavailable[..]), "{backend:?}");
        }
        let large = [br#"{"a":""#, &vec![b'x'; ANSWER_LIMIT][..], br#""}"#].concat();
        assert_eq!(rating(Some((404, &large))).status, 503);
    }

    #[test]
    fn a_summary_is_any_json_of_a_success() {
        assert_eq!(summary(Some((200, b"[1.10]"))), Some(&b"[1.10]"[..]));
        for backend in [None, Some((404, &b"{}"[..])), Some((200, b"")), Some((200, b"<html>"))] {
            assert_eq!(summary(backend), None, "{backend:?}");
        }
    }
}
