//! The request headers an event may tell: a short fixed list, each value cleaned and cut.
//!
//! Never Authorization, Cookie or a payment header. `sentry-release` is taken out of `baggage`.

use std::ops::Range;

use super::event::Text;
use super::event::text::{write_key, write_text};

/// Characters kept of a value, except the two signature headers: those are whole, or absent above 4,096 bytes, because
/// part of a signature proves nothing.
pub const MAX_VALUE: usize = 512;

/// The captured headers of one request, written once for all its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    json: Vec<u8>,
    /// Where in `json` the user agent stands, with its quotes.
    user_agent: Range<usize>,
}

impl Captured {
    /// Picks what may be told out of all header lines, names in any case. The first line of a name counts.
    pub fn from_headers<'a>(headers: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Captured {
        let mut found: [Option<&'a [u8]>; NAMES.len()] = [None; NAMES.len()];
        let mut baggage = None;
        for (name, value) in headers {
            if let Some(at) = NAMES.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
                found[at].get_or_insert(value);
            } else if name.eq_ignore_ascii_case(b"baggage") {
                baggage.get_or_insert(value);
            }
        }
        let mut captured = Captured::default();
        let values: usize = found.iter().flatten().map(|value| value.len()).sum();
        if values > 0 {
            captured.json.reserve(values + ROOM);
        }
        for (name, value) in NAMES.iter().zip(found) {
            if let Some(value) = value {
                captured.add(name, value);
            }
        }
        if let Some(release) = baggage.and_then(sentry_release) {
            captured.add("sentry-release", release.as_bytes());
        }
        if !captured.json.is_empty() {
            captured.json.push(b'}');
        }
        captured
    }

    /// A JSON object text, empty if there was nothing to tell.
    pub fn as_json(&self) -> &[u8] {
        &self.json
    }

    /// The user agent as captured.
    pub fn user_agent(&self) -> Option<Text<'_>> {
        (!self.user_agent.is_empty()).then(|| Text::Written(&self.json[self.user_agent.clone()]))
    }

    fn add(&mut self, name: &str, value: &[u8]) {
        let signature = matches!(name, "signature" | "signature-input");
        if signature && value.len() > MAX_SIGNATURE {
            return;
        }
        let value = trimmed(value);
        if value.is_empty() {
            return;
        }
        if self.json.is_empty() {
            self.json.push(b'{');
        }
        write_key(&mut self.json, name);
        let limit = if signature { MAX_SIGNATURE } else { MAX_VALUE };
        let start = self.json.len();
        write_text(&mut self.json, &Text::Plain(value), limit);
        if name == "user-agent" {
            self.user_agent = start..self.json.len();
        }
    }
}

fn trimmed(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte <= b' ' || *byte == 0x7f;
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

/// The first `sentry-release` of a baggage header, percent-decoded; nothing if its escapes are broken.
fn sentry_release(baggage: &[u8]) -> Option<String> {
    if baggage.len() > MAX_BAGGAGE {
        return None;
    }
    let member = baggage.split(|byte| *byte == b',').find_map(|member| {
        let at = member.iter().position(|byte| *byte == b'=')?;
        (member[..at].trim_ascii() == b"sentry-release").then_some(&member[at + 1..])
    })?;
    let value = member.split(|byte| *byte == b';').next()?.trim_ascii();
    // Not a form: a plus sign (build metadata of a release) is itself.
    let mut decoded = Vec::with_capacity(value.len());
    let mut at = 0;
    while at < value.len() {
        if value[at] == b'%' {
            let digit = |at: usize| char::from(*value.get(at)?).to_digit(16);
            decoded.push((digit(at + 1)? * 16 + digit(at + 2)?) as u8);
            at += 3;
        } else {
            decoded.push(value[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

const NAMES: [&str; 13] = [
    "user-agent",
    "x-client-id",
    "x-session-id",
    "x-wallet-address",
    "x-solana-wallet-address",
    "referer",
    "access-control-expose-headers",
    "payment-retry",
    "cf-worker",
    "signature-agent",
    "signature-input",
    "signature",
    "x-agent-id",
];
const MAX_SIGNATURE: usize = 4_096;
const MAX_BAGGAGE: usize = 8_192;
/// For names and quotes: most requests have two or three of the headers.
const ROOM: usize = 64;

#[cfg(test)]
mod tests;
