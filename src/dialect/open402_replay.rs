//! The replay fields of an open402 request: `X-x402-Timestamp` and `X-x402-Nonce`.
//!
//! A client sends one pair on the unpaid and on the paid leg of a call, so only the paid leg may use a nonce up.

use crate::http::head::{HeaderLine, Line, find};

/// The pair as a request carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayFields<'a> {
    /// Unix milliseconds.
    pub timestamp_ms: u64,
    /// 1 to 128 visible ASCII characters.
    pub nonce: &'a [u8],
}

/// What is wrong with the pair; the text is what the answer's `detail` says.
pub(crate) type Detail = &'static str;

impl<'a> ReplayFields<'a> {
    /// Reads the pair.
    ///
    /// # Errors
    /// What is missing or malformed, in the words ag402 uses for it.
    pub fn find(headers: &[HeaderLine<'a>]) -> Result<ReplayFields<'a>, &'static str> {
        let timestamp = match find(headers, "x-x402-timestamp") {
            Line::Absent => return Err(MISSING_TIMESTAMP),
            Line::Many(_) => return Err(BAD_TIMESTAMP),
            Line::One(value) => milliseconds(value).ok_or(BAD_TIMESTAMP)?,
        };
        let nonce = match find(headers, "x-x402-nonce") {
            Line::Absent | Line::One(b"") => return Err(MISSING_NONCE),
            Line::One(value) if value.len() > MAX_NONCE => return Err(LONG_NONCE),
            Line::One(value) if value.iter().all(u8::is_ascii_graphic) => value,
            _ => return Err(BAD_NONCE),
        };
        Ok(ReplayFields { timestamp_ms: timestamp, nonce })
    }
}

/// The two headers a client adds to both legs of one call. `unix_ms` is its clock, `random` 16 fresh random bytes.
///
/// The timestamp is in seconds with three decimals, the nonce 32 lower-case hex digits.
pub fn replay_headers(unix_ms: u64, random: [u8; 16]) -> [(&'static str, String); 2] {
    [
        ("X-x402-Timestamp", format!("{}.{:03}", unix_ms / 1000, unix_ms % 1000)),
        ("X-x402-Nonce", format!("{:032x}", u128::from_be_bytes(random))),
    ]
}

/// Unix seconds with optional decimals, as milliseconds.
fn milliseconds(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str, most| (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds, 12) || !digits(decimals, 20) {
        return None;
    }
    let thousandths: u64 = format!("{decimals:0<3}").get(..3)?.parse().ok()?;
    Some(seconds.parse::<u64>().ok()? * 1000 + thousandths)
}

const MAX_NONCE: usize = 128;
const MISSING_TIMESTAMP: Detail = "Missing X-x402-Timestamp header";
const MISSING_NONCE: Detail = "Missing X-x402-Nonce header";
const BAD_TIMESTAMP: Detail = "Invalid timestamp format";
const BAD_NONCE: Detail = "Invalid nonce format";
const LONG_NONCE: Detail = "Nonce too long (max 128)";
