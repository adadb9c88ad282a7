//! `X-Operator-Contact`: an address a client's operator may be reached under, as inert text.
//!
//! The proposal leaves the header for later because of what it opens: a server that called every address it is told
//! could be aimed at anybody. So the text is checked, reported to the merchant once a sequence has escalated, and that is all:
//! nothing here or behind it resolves, calls, mails or echoes it.

use crate::http::head::{HeaderLine, find};

/// The contact of a request, if it is a plausible one: `mailto:` or `https:`, visible ASCII, at most 256 bytes, one line.
pub fn operator_contact<'a>(headers: &[HeaderLine<'a>]) -> Option<&'a str> {
    find(headers, "x-operator-contact").single().and_then(checked)
}

/// A contact that may be reported.
pub fn checked(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let rest = text.strip_prefix("mailto:").or_else(|| text.strip_prefix("https://"))?;
    let plausible = !rest.is_empty() && text.len() <= MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
    // What could end an attribute or a tag where a merchant's dashboard forgets to escape.
    (plausible && !text.contains(['<', '>', '"', '\'', '\\', '`'])).then_some(text)
}

const MAX: usize = 256;
