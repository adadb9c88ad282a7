//! Heads as Node has them into heads as the engine reads them.
//!
//! A request's head is `method\ntarget\nclient address\nname\nvalue\nname\nvalue`, in Latin-1; a response's is its route pattern and
//! the lines. They come in a buffer that Node uses again and again, one behind the other, a small body behind them; lib/wire.js
//! writes it.

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

/// Shows `work` the response whose head is `flat`.
pub fn with_response<T>(flat: &[u8], status: u32, body: Body<'_>, work: impl FnOnce(&ResponseHead<'_>) -> T) -> T {
    let end = memchr::memchr(b'\n', flat).unwrap_or(flat.len());
    let lines = lines(flat.get(end + 1..).unwrap_or_default());
    let status = u16::try_from(status).unwrap_or(0);
    work(&ResponseHead { status, route: &flat[..end], headers: &lines, body, ..ResponseHead::default() })
}

/// The body of `size` bytes behind the heads, or the one that is handed over by itself; lib/wire.js has the numbers.
pub fn body<'a>(behind: &'a [u8], size: i32, apart: Option<&'a [u8]>) -> Body<'a> {
    match (usize::try_from(size), apart) {
        (Ok(size), _) => Body::Whole(&behind[..behind.len().min(size)]),
        (Err(_), Some(body)) => Body::Whole(body),
        (Err(_), None) if size == NONE => Body::None,
        (Err(_), None) => Body::Unread,
    }
}

/// There is no body, or none that could be held.
const NONE: i32 = -2;

/// The first `length` bytes and the rest; a length that is too long is the buffer's.
pub fn split(bytes: &[u8], length: u32) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len().min(length as usize))
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
