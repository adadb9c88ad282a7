//! The rating routes on the merchant's origin: which requests are ours, and what each is answered with.
//!
//! Only the exact path is ours, compared as raw bytes: `//feedback`, `/feedback/`, `%2Ffeedback` and `/Feedback` belong
//! to the merchant. Everything here is a pure function; [`admit`] says what may go to the backend, the answer
//! that comes back is turned into ours by [`super::relay`].

use super::answer::{Answer, Caching};
use super::limits::{Limits, Refused};
use super::route_texts::{self as texts, ISSUES, OUTCOMES};
use super::submission::{Fault, Submission};
use crate::json::escape::write_string;

/// The paths that are ours, made once from `base_path`.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    base: Vec<u8>,
    well_known: bool,
}

/// What a request to one of our paths wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Form { head: bool },
    Submit,
    Rate,
    Summary { head: bool },
    WellKnown { head: bool },
    Preflight(Place),
    WrongMethod(Place),
}

/// One of our paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Base,
    Rate,
    Summary,
    WellKnown,
}

impl Paths {
    /// `base_path` is checked by the options: absolute, not the root. `well_known` is the option `discovery`.
    pub fn new(base_path: &str, well_known: bool) -> Self {
        Paths { base: base_path.as_bytes().to_vec(), well_known }
    }

    /// Finds the route of a request, `None` where it is the merchant's.
    pub fn recognise(&self, method: &[u8], target: &[u8]) -> Option<Route> {
        let place = self.place(target)?;
        let head = method == b"HEAD";
        Some(match (place, method) {
            (_, b"OPTIONS") => Route::Preflight(place),
            (Place::Base, b"GET" | b"HEAD") => Route::Form { head },
            (Place::Base, b"POST") => Route::Submit,
            // HEAD must not change anything, and a rating does.
            (Place::Rate, b"GET") => Route::Rate,
            (Place::Summary, b"GET" | b"HEAD") => Route::Summary { head },
            (Place::WellKnown, b"GET" | b"HEAD") => Route::WellKnown { head },
            _ => Route::WrongMethod(place),
        })
    }

    fn place(&self, target: &[u8]) -> Option<Place> {
        if let Some(rest) = target.strip_prefix(&self.base[..]) {
            match path_of(rest) {
                b"" => return Some(Place::Base),
                b"/rate" => return Some(Place::Rate),
                b"/summary" => return Some(Place::Summary),
                _ => {}
            }
        }
        (self.well_known && path_of(target) == super::wellknown::PATH.as_bytes()).then_some(Place::WellKnown)
    }
}

impl Place {
    /// The value of Allow, and of Access-Control-Allow-Methods.
    pub fn methods(self) -> &'static str {
        match self {
            Place::Base => "GET, HEAD, POST, OPTIONS",
            Place::Rate => "GET, OPTIONS",
            Place::Summary | Place::WellKnown => "GET, HEAD, OPTIONS",
        }
    }
}

/// The raw query of a target, without its `?`.
pub(crate) fn query_of(target: &[u8]) -> &[u8] {
    target.iter().position(|&byte| byte == b'?').map_or(b"", |mark| &target[mark + 1..])
}

fn path_of(target: &[u8]) -> &[u8] {
    target.split(|&byte| byte == b'?').next().unwrap_or_default()
}

/// The URLs that our own answers name. The origin is one that all callers may share: the option public_url or the
/// origin registered with the backend, empty where neither is known; never one that came with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    pub origin: String,
    pub form: String,
    pub rate: String,
    pub summary: String,
}

impl Links {
    pub fn new(shared_origin: &str, base_path: &str) -> Self {
        let form = [shared_origin, base_path].concat();
        Links {
            rate: [&form, "/rate"].concat(),
            summary: [&form, "/summary"].concat(),
            form,
            origin: shared_origin.to_owned(),
        }
    }
}

/// `GET {base}`: how to rate, as JSON.
pub(crate) fn form(links: &Links, head: bool) -> Answer {
    let mut out = Vec::with_capacity(2048);
    put(&mut out, &[r#"{"protocol":""#, texts::PROTOCOL, r#"","cost":"free","ratings_are_public_at":"#]);
    write_string(&mut out, &links.summary);
    put(&mut out, &[r#","feedback_id":"#]);
    write_string(&mut out, texts::FORM_FEEDBACK_ID);
    put(&mut out, &[r#","quick":{"method":"GET","url":"#]);
    write_string(&mut out, &[&links.rate, "?feedback_id=FEEDBACK_ID&outcome=OUTCOME"].concat());
    put(&mut out, &[r#","optional_param":"issue=ISSUE"},"detailed":{"method":"POST","url":"#]);
    write_string(&mut out, &links.form);
    put(
        &mut out,
        &[
            r#","content_type":"application/json","body":{"feedback_id":"FEEDBACK_ID","outcome":"OUTCOME","issue":""#,
            texts::FORM_ISSUE,
            r#"","note":""#,
            texts::FORM_NOTE,
            r#""}},"fields":{"outcome":{"required":true,"values":"#,
        ],
    );
    put_values(&mut out, &OUTCOMES);
    put(&mut out, &[r#"},"issue":{"required":false,"values":"#]);
    put_values(&mut out, &ISSUES);
    put(&mut out, &[r#"},"note":{"required":false,"max_length":280,"post_only":true}}}"#]);
    Answer::json(200, out, Caching::NoStore).for_head(head)
}

/// The answer to a method that a path of ours does not have.
pub(crate) fn wrong_method(place: Place) -> Answer {
    Answer::empty(405, Caching::NoStore).with("Allow", place.methods())
}

/// The answer to OPTIONS, so that an agent in a browser may rate from any page.
pub(crate) fn preflight(place: Place) -> Answer {
    Answer::empty(204, Caching::NoStore)
        .with("Allow", place.methods())
        .with("Access-Control-Allow-Methods", place.methods())
        .with("Access-Control-Allow-Headers", "Content-Type, *")
        .with("Access-Control-Max-Age", "86400")
}

/// Decides about a rating before the backend hears of it: its form, the client's and the id's limits, the id itself.
/// `is_valid` verifies an id; it is asked at most once. `client` is the
/// caller's address as the host gives it, empty where it gives none.
pub(crate) fn admit(
    parsed: Result<Submission, Fault>,
    links: &Links,
    limits: &mut Limits,
    client: &[u8],
    now_ms: u64,
    is_valid: impl FnOnce(&str) -> bool,
) -> Result<Submission, Answer> {
    let submission = parsed.map_err(|fault| refuse(fault, links))?;
    // Before the id is looked at: who guesses too often learns nothing more.
    limits.client_may_ask(client, now_ms).map_err(rate_limited)?;
    if !is_valid(&submission.feedback_id) {
        limits.count_wrong_id(client, now_ms).map_err(rate_limited)?;
        return Err(unknown_id());
    }
    limits.count_submission(&submission.feedback_id, now_ms).map_err(rate_limited)?;
    Ok(submission)
}

/// 400 with what would be right, 413 for a body over the limit.
pub(crate) fn refuse(fault: Fault, links: &Links) -> Answer {
    if fault == Fault::BodyTooLarge {
        return error(413, fault.name());
    }
    let mut out = Vec::with_capacity(512);
    put(&mut out, &[r#"{"recorded":false,"error":""#, fault.name(), r#"","allowed":{"outcome":"#]);
    put_names(&mut out, &OUTCOMES);
    put(&mut out, &[r#","issue":"#]);
    put_names(&mut out, &ISSUES);
    put(&mut out, &[r#"},"example":"#]);
    write_string(&mut out, &[&links.rate, "?feedback_id=FEEDBACK_ID&outcome=fully"].concat());
    out.push(b'}');
    Answer::json(400, out, Caching::NoStore)
}

/// Malformed, forged and expired ids alike.
pub(crate) fn unknown_id() -> Answer {
    error(404, "unknown_or_expired_feedback_id")
}

pub(crate) fn rate_limited(refused: Refused) -> Answer {
    error(429, "rate_limited").retry_after(refused.retry_after_s)
}

/// The backend is not there, not configured, or as many raters wait for it as may.
pub(crate) fn feedback_unavailable(retry_after_s: Option<u32>) -> Answer {
    let answer = error(503, "feedback_unavailable");
    retry_after_s.map_or(answer.clone(), |seconds| answer.retry_after(seconds))
}

pub(crate) fn summary_unavailable(retry_after_s: Option<u32>, head: bool) -> Answer {
    let answer = Answer::json(503, br#"{"error":"summary_unavailable"}"#.to_vec(), Caching::NoStore);
    retry_after_s.map_or(answer.clone(), |seconds| answer.retry_after(seconds)).for_head(head)
}

/// `GET {base}/summary`, with the JSON that the backend gave.
pub(crate) fn summary(json: &[u8], head: bool) -> Answer {
    Answer::json(200, json.to_vec(), Caching::Public { max_age_s: 30 }).for_head(head)
}

fn error(status: u16, name: &str) -> Answer {
    Answer::json(status, [r#"{"recorded":false,"error":""#, name, r#""}"#].concat().into_bytes(), Caching::NoStore)
}

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// `{"name":"meaning",…}`.
fn put_values(out: &mut Vec<u8>, values: &[(&str, &str)]) {
    for (index, (name, meaning)) in values.iter().enumerate() {
        out.push(if index == 0 { b'{' } else { b',' });
        write_string(out, name);
        out.push(b':');
        write_string(out, meaning);
    }
    out.push(b'}');
}

/// `["name",…]`.
pub(super) fn put_names(out: &mut Vec<u8>, values: &[(&str, &str)]) {
    for (index, (name, _)) in values.iter().enumerate() {
        out.push(if index == 0 { b'[' } else { b',' });
        write_string(out, name);
    }
    out.push(b']');
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
