//! Heads as Node has them into heads as the engine reads them.

use forge_x402::{Body, HeaderLine, ResponseHead};

/// The lines of `name\nvalue\nname\nvalue`.
pub fn lines(flat: &[u8]) -> Vec<HeaderLine<'_>> {
    let mut parts = flat.split(|&byte| byte == b'\n');
    let mut lines = Vec::with_capacity(24);
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        lines.push((name, value));
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
