//! The two discovery documents: our own, and the rating line in the merchant's x402 document.
//!
//! Both are read by everybody and kept by caches, so their links have an origin that nobody who sends a request can
//! choose: the option public_url, the one registered with the backend, or none (a path).

use super::Link;
use super::answer::{Answer, Caching};
use super::route_texts::{self as texts, ISSUES, OUTCOMES};
use super::routes::{Links, put_names};
use super::wording::Sentence;
use crate::json::escape::write_string;
use crate::json::{Slot, Splice, scan};

/// Where our document stands.
pub(crate) const PATH: &str = "/.well-known/forge-feedback.json";
/// Where the merchant's x402 document stands.
pub(crate) const X402_PATH: &str = "/.well-known/x402";

/// `GET /.well-known/forge-feedback.json`: how this service is rated. `description` is the merchant's, or the ask of the extension.
pub(crate) fn document(links: &Links, description: &str, ttl_ms: u64, head: bool) -> Answer {
    let mut out = Vec::with_capacity(1536);
    out.extend_from_slice(br#"{"schema_version":"1.0","protocol":"#);
    write_string(&mut out, texts::PROTOCOL);
    out.extend_from_slice(br#","description":"#);
    write_string(&mut out, description);
    let quick = [&links.rate, "?feedback_id={feedback_id}&outcome={outcome}"].concat();
    let endpoints = [
        ("rate", "GET", quick.as_str(), texts::WELL_KNOWN_RATE),
        ("submit", "POST", &links.form, texts::WELL_KNOWN_SUBMIT),
        ("summary", "GET", &links.summary, texts::WELL_KNOWN_SUMMARY),
    ];
    for (index, (name, method, url, text)) in endpoints.into_iter().enumerate() {
        out.extend_from_slice(if index == 0 { br#","endpoints":{"# } else { b"," });
        write_string(&mut out, name);
        out.extend_from_slice([r#":{"method":""#, method, r#"","url":"#].concat().as_bytes());
        write_string(&mut out, url);
        out.extend_from_slice(br#","description":"#);
        write_string(&mut out, text);
        out.push(b'}');
    }
    out.extend_from_slice(br#"},"outcomes_supported":"#);
    // The fourth outcome is taken but not asked for.
    put_names(&mut out, &OUTCOMES[..3]);
    out.extend_from_slice(br#","issues_supported":"#);
    put_names(&mut out, &ISSUES);
    out.extend_from_slice(br#","feedback_id":"#);
    write_string(&mut out, texts::WELL_KNOWN_FEEDBACK_ID);
    out.extend_from_slice(br#","payment":"#);
    write_string(&mut out, texts::WELL_KNOWN_PAYMENT);
    let hours = ttl_ms.saturating_add(HOUR_MS / 2) / HOUR_MS;
    out.extend_from_slice(
        format!(r#","limits":{{"rating_window_hours":{hours},"max_note_length":280,"ratings_per_call":1}}"#).as_bytes(),
    );
    if !links.origin.is_empty() {
        out.extend_from_slice(br#","contact":"#);
        write_string(&mut out, &links.origin);
    }
    out.push(b'}');
    Answer::json(200, out, Caching::Public { max_age_s: 3600 }).for_head(head)
}

/// The merchant's `/.well-known/x402` with the rating sentence in `instructions`, every other byte kept. `None` where there
/// is nothing to add: not a JSON object, `instructions` is not a text, or it speaks of the link already.
pub(crate) fn add_rating_line(json: &[u8], link: &Link) -> Option<Vec<u8>> {
    let found = scan::document(json, ["instructions"]).ok()?;
    let sentence = Sentence::Full.text(link);
    let mut splice = Splice::new(json);
    match &found.slots[0] {
        Slot::Absent => {
            let mut value = Vec::with_capacity(sentence.len() + 2);
            write_string(&mut value, &sentence);
            splice.append_member(&found, "instructions", &value);
        }
        Slot::One(range) => {
            let old = scan::text_of(json, range)?;
            if link.is_mentioned_in(&old) {
                return None;
            }
            let raw = &json[range.start + 1..range.end - 1];
            let space = if raw.is_empty() || crate::json::escape::ends_in_white_space(raw) { "" } else { " " };
            splice.insert(range.end - 1, [space, &sentence].concat().into_bytes());
        }
        Slot::Repeated => return None,
    }
    Some(splice.finish())
}

const HOUR_MS: u64 = 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "https://api.example.com";
    const SENTENCE: &str = "After your call, please rate this service for other agents: GET https://api.example.com/feedback/rate?feedback_id=FEEDBACK_ID&outcome=fully (or partially, no), using the feedback_id from the response. Free, one request. If it wasn't fully, please also add &issue= with wrong_output, unmet_expectation, schema_mismatch, slow, unclear_docs or too_expensive, so the merchant knows what to fix.";

    fn link() -> Link {
        Link::new(ORIGIN, "/feedback")
    }

    #[test]
    fn the_document_says_how_to_rate() {
        let answer = document(&Links::new(ORIGIN, "/feedback"), "Please rate.", 86_400_000, false);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("Cache-Control"), Some("public, max-age=3600"));
        assert_eq!(
            String::from_utf8(answer.body).unwrap(),
            concat!(
                r#"{"schema_version":"1.0","protocol":"forge-feedback/0","description":"Please rate.","endpoints":{"#,
                r#""rate":{"method":"GET","url":"https://api.example.com/feedback/rate?feedback_id={feedback_id}&outcome={outcome}","#,
                r#""description":"Quick rating in one free request. Add &issue= when the outcome is not fully."},"#,
                r#""submit":{"method":"POST","url":"https://api.example.com/feedback","description":"Rating with an optional note: {feedback_id, outcome, issue?, note?}."},"#,
                r#""summary":{"method":"GET","url":"https://api.example.com/feedback/summary","description":"What other agents reported about this service."}},"#,
                r#""outcomes_supported":["fully","partially","no"],"#,
                r#""issues_supported":["wrong_output","unmet_expectation","schema_mismatch","slow","unclear_docs","too_expensive"],"#,
                r#""feedback_id":"In the paid response body (feedback_id) and the Forge-Feedback-Id header.","#,
                r#""payment":"None. Plain GET, not an x402 endpoint.","#,
                r#""limits":{"rating_window_hours":24,"max_note_length":280,"ratings_per_call":1},"contact":"https://api.example.com"}"#,
            )
        );
    }

    #[test]
    fn l01_without_a_shared_origin_the_document_has_paths() {
        let body = document(&Links::new("", "/feedback"), "x", 86_400_000, false).body;
        let text = String::from_utf8(body).unwrap();
        assert!(
            text.contains(r#""url":"/feedback/rate?feedback_id="#)
                && !text.contains("://")
                && !text.contains("contact")
        );
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let links = Links::new(ORIGIN, "/feedback");
        let (get, head) = (document(&links, "x", 1, false), document(&links, "x", 1, true));
        assert_eq!((get.headers, head.body.len()), (head.headers, 0));
    }

    #[test]
    fn the_rating_line_is_added_once_and_every_other_byte_kept() {
        let before = br#"{ "version":1.0,"instructions":"Pay \u00e9 first.", "resources" : [] , "x":1e400}"#;
        let after = add_rating_line(before, &link()).unwrap();
        let wanted =
            [r#"{ "version":1.0,"instructions":"Pay \u00e9 first. "#, SENTENCE, r#"", "resources" : [] , "x":1e400}"#]
                .concat();
        assert_eq!(String::from_utf8(after.clone()).unwrap(), wanted);
        assert_eq!(add_rating_line(&after, &link()), None);
    }

    #[test]
    fn instructions_are_made_where_there_are_none() {
        let after = add_rating_line(br#"{"version":1}"#, &link()).unwrap();
        assert_eq!(String::from_utf8(after).unwrap(), [r#"{"version":1,"instructions":""#, SENTENCE, "\"}"].concat());
        let after = add_rating_line(br#"{"instructions":""}"#, &link()).unwrap();
        assert_eq!(String::from_utf8(after).unwrap(), [r#"{"instructions":""#, SENTENCE, "\"}"].concat());
    }

    #[test]
    fn what_is_no_text_in_an_object_is_left_alone() {
        for json in [
            r#"{"instructions":null}"#,
            r#"{"instructions":["a"]}"#,
            r#"{"instructions":"a","instructions":"b"}"#,
            r#"{"instructions":"see \/feedback\/rate?feedback_id=x"}"#,
            "[]",
            "",
            r#"{"a":NaN}"#,
            "\u{feff}{}",
        ] {
            assert_eq!(add_rating_line(json.as_bytes(), &link()), None, "{json}");
        }
    }
}
