//! What a Cache-Control and an Access-Control-Expose-Headers line must say once an answer carries a one-call id.

use std::borrow::Cow;

use super::head::{self, HeaderLine, Line, find};

/// The new Cache-Control value for an answer that is one caller's alone; `None` where it says so already.
/// `public` becomes `private` in place, everything else is kept (RFC 9111 section 5.2.2).
pub(crate) fn private(headers: &[HeaderLine<'_>]) -> Option<Cow<'static, [u8]>> {
    let directives: Vec<&[u8]> = head::all(headers, "cache-control").flat_map(directives).collect();
    if directives.is_empty() {
        return Some(b"private"[..].into());
    }
    if directives.iter().any(|one| is(one, "private") || is(one, "no-store")) {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(32);
    let mut said = false;
    for one in directives {
        let kept: &[u8] = if is(one, "public") { b"private" } else { one };
        let says_private = is(kept, "private");
        if !(said && says_private) {
            push(&mut out, kept);
        }
        said |= says_private;
    }
    if !said {
        push(&mut out, b"private");
    }
    Some(out.into())
}

/// The new Access-Control-Expose-Headers value that lets a page read `name`; `None` where nothing is to be done:
/// CORS is not in use, or the name stands there already.
pub(crate) fn expose(headers: &[HeaderLine<'_>], request_has_origin: bool, name: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for value in head::all(headers, "access-control-expose-headers") {
        if head::lists(value, name) {
            return None;
        }
        push(&mut out, value);
    }
    let in_use = !out.is_empty() || request_has_origin || find(headers, "access-control-allow-origin") != Line::Absent;
    in_use.then(|| {
        push(&mut out, name.as_bytes());
        out
    })
}

fn push(out: &mut Vec<u8>, part: &[u8]) {
    if !out.is_empty() && !part.is_empty() {
        out.extend_from_slice(b", ");
    }
    out.extend_from_slice(part);
}

/// The directives of one value; a comma inside a quoted string does not end one.
fn directives(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    value
        .split(move |&byte| {
            quoted ^= byte == b'"';
            byte == b',' && !quoted
        })
        .map(head::trim)
        .filter(|one| !one.is_empty())
}

/// Whether a directive is `name`, with or without an argument.
fn is(directive: &[u8], name: &str) -> bool {
    let bare = directive.split(|&byte| byte == b'=').next().unwrap_or_default();
    head::trim(bare).eq_ignore_ascii_case(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_private(values: &[&str]) -> Option<String> {
        let lines: Vec<HeaderLine> = values.iter().map(|value| (&b"Cache-Control"[..], value.as_bytes())).collect();
        private(&lines).map(|value| String::from_utf8(value.into_owned()).unwrap())
    }

    #[test]
    fn c26_an_answer_with_an_id_is_private() {
        assert_eq!(made_private(&[]).as_deref(), Some("private"));
        assert_eq!(made_private(&["public, max-age=60"]).as_deref(), Some("private, max-age=60"));
        assert_eq!(made_private(&["max-age=60"]).as_deref(), Some("max-age=60, private"));
        assert_eq!(made_private(&["Public", "ext=\"a, public\""]).as_deref(), Some("private, ext=\"a, public\""));
        assert_eq!(made_private(&["no-store"]), None);
        assert_eq!(made_private(&["max-age=1, Private"]), None);
    }

    #[test]
    fn c42_the_id_header_can_be_read_by_a_page() {
        let name = "Forge-Feedback-Id";
        assert_eq!(expose(&[], false, name), None);
        assert_eq!(expose(&[], true, name).unwrap(), name.as_bytes());
        assert_eq!(expose(&[(b"access-control-allow-origin", b"*")], false, name).unwrap(), name.as_bytes());
        assert_eq!(
            expose(&[(b"Access-Control-Expose-Headers", b"PAYMENT-RESPONSE")], false, name).unwrap(),
            b"PAYMENT-RESPONSE, Forge-Feedback-Id"
        );
        assert_eq!(expose(&[(b"Access-Control-Expose-Headers", b"x, forge-feedback-id")], true, name), None);
    }
}
