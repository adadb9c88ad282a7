//! Heads as Node has them into heads as the engine reads them.
//!
//! A request's head is `method\ntarget\nclient address\nname\nvalue\nname\nvalue`, in Latin-1; a response's is the lines alone.

use forge_x402::{Body, HeaderLine, RequestHead, ResponseHead};
use memchr::memchr_iter;

/// Shows `work` the request whose head is `flat`.
pub fn with_request<T>(flat: &[u8], work: impl FnOnce(&RequestHead<'_>) -> T) -> T {
    let mut rest = flat;
    let mut next = || {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let (part, left) = rest.split_at(end);
        rest = left.get(1..).unwrap_or_default();
        part
    };
    let (method, target, client_ip) = (next(), next(), next());
    let lines = lines(rest);
    work(&RequestHead { method, target, client_ip, headers: &lines, ..RequestHead::default() })
}

/// The lines of `name\nvalue\nname\nvalue`; a name without a value is none.
pub fn lines(flat: &[u8]) -> Vec<HeaderLine<'_>> {
    let mut lines = Vec::with_capacity(24);
    let (mut start, mut name) = (0, None);
    for end in memchr_iter(b'\n', flat).chain([flat.len()]) {
        let part = &flat[start..end];
        start = end + 1;
        match name.take() {
            None => name = Some(part),
            Some(name) => lines.push((name, part)),
        }
    }
    lines
}

/// `body_none`: there is no body, or none that could be held.
pub fn response_head<'a>(
    status: u32,
    route: &'a [u8],
    headers: &'a [HeaderLine<'a>],
    body: Option<&'a [u8]>,
    body_none: bool,
) -> ResponseHead<'a> {
    let body = match body {
        Some(body) => Body::Whole(body),
        None if body_none => Body::None,
        None => Body::Unread,
    };
    ResponseHead { status: u16::try_from(status).unwrap_or(0), route, headers, body, ..ResponseHead::default() }
}
