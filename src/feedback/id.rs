//! Feedback ids: 22 characters that only this merchant's key can make, checked without a look-up.
//!
//! 16 bytes in base64url without padding: issue time (unix seconds, u32 big endian), 6 random bytes, and the first
//! 6 bytes of HMAC-SHA256 over those ten. The MAC key is the *text* of base64url(HMAC-SHA256(api_key,
//! "forge-feedback-id/v1")), 43 ASCII characters, not its decoded bytes. Not bound to route or payer: the backend
//! knows which call an id was given to.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Characters of an id.
pub const LEN: usize = 22;

/// An id as it travels: 22 ASCII characters of base64url.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FeedbackId([u8; LEN]);

impl FeedbackId {
    pub fn as_str(&self) -> &str {
        // SAFETY: the bytes are private and come from mint or parse only, which make them of base64url's alphabet.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }

    /// The same characters as bytes, for texts that are written as bytes.
    pub(crate) fn as_bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl std::fmt::Debug for FeedbackId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is known of a text that claims to be an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Ours and alive; with its issue time in unix milliseconds (of whole seconds).
    Valid {
        issued_ms: u64,
    },
    /// Not 22 characters of canonical base64url.
    Malformed,
    BadSignature,
    /// Issued more than 300 s in the future, or longer ago than the ttl.
    Expired,
}

/// The signing keys: ids are made with the first, checked with all (key rotation).
pub(crate) struct Keys {
    macs: Vec<Hmac<Sha256>>,
}

impl Keys {
    pub fn new<'a>(api_key: &'a str, previous: impl IntoIterator<Item = &'a str>) -> Self {
        let derived = std::iter::once(api_key).chain(previous).map(|key| mac_from(signing_key(key).as_bytes()));
        Keys { macs: derived.collect() }
    }

    pub fn mint(&self, unix_ms: u64, random: [u8; 6]) -> FeedbackId {
        let mut bytes = [0u8; 16];
        // The seconds wrap in 2106; wrapping keeps ids valid for their ttl across it.
        bytes[..4].copy_from_slice(&((unix_ms / 1000) as u32).to_be_bytes());
        bytes[4..10].copy_from_slice(&random);
        let tag = self.macs.first().map(|mac| tag(mac, &bytes[..10])).unwrap_or_default();
        bytes[10..].copy_from_slice(&tag);
        let mut text = [0u8; LEN];
        let written = URL_SAFE_NO_PAD.encode_slice(bytes, &mut text);
        debug_assert_eq!(written, Ok(LEN));
        FeedbackId(text)
    }

    /// Checks in the order malformed, bad signature, expired; every key is tried in constant time.
    pub fn verify(&self, text: &[u8], now_ms: u64, ttl_ms: u64) -> Verification {
        let Some(bytes) = canonical(text) else { return Verification::Malformed };
        let known =
            self.macs.iter().fold(0u8, |known, mac| known | tag(mac, &bytes[..10]).ct_eq(&bytes[10..]).unwrap_u8());
        if known == 0 {
            return Verification::BadSignature;
        }
        let issued_ms = u64::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) * 1000;
        if issued_ms > now_ms + MAX_SKEW_MS || now_ms.saturating_sub(issued_ms) > ttl_ms {
            return Verification::Expired;
        }
        Verification::Valid { issued_ms }
    }
}

/// A text in the shape of an id, whoever made it: what [`canonical`] decodes, told without decoding it.
pub(crate) fn parse(text: &[u8]) -> Option<FeedbackId> {
    let text: &[u8; LEN] = text.try_into().ok()?;
    // Two blocks that overlap, each looked at as a whole.
    let (first, last) = (text.first_chunk::<16>()?, text.last_chunk::<16>()?);
    // 16 bytes leave two bits for the last character; its other four are zero.
    let canonical = matches!(text[LEN - 1], b'A' | b'Q' | b'g' | b'w');
    (is_base64url(first) & is_base64url(last) & canonical).then_some(FeedbackId(*text))
}

fn is_base64url(block: &[u8; 16]) -> bool {
    let fits = |byte: u8| {
        (byte | 0x20).wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10 || byte == b'-' || byte == b'_'
    };
    block.iter().fold(true, |all, &byte| all & fits(byte))
}

/// The text that keys the MAC, derived from an API key.
pub(crate) fn signing_key(api_key: &str) -> String {
    let mac = mac_from(api_key.as_bytes()).chain_update(b"forge-feedback-id/v1");
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

/// The sixteen bytes, where encoding them again gives the same text.
fn canonical(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != LEN {
        return None;
    }
    // The strict engine refuses stray bits in the last character, so the text is the only one for its bytes.
    let mut bytes = [0u8; 16];
    (URL_SAFE_NO_PAD.decode_slice_unchecked(text, &mut bytes).ok()? == bytes.len()).then_some(bytes)
}

fn mac_from(key: &[u8]) -> Hmac<Sha256> {
    // HMAC takes keys of any length; the type cannot say so.
    Hmac::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&Default::default()))
}

fn tag(mac: &Hmac<Sha256>, message: &[u8]) -> [u8; 6] {
    let full = mac.clone().chain_update(message).finalize().into_bytes();
    let mut short = [0u8; 6];
    short.copy_from_slice(&full[..6]);
    short
}

/// How far in the future an issue time may lie before the id counts as expired (RFC-less; the peers' value).
const MAX_SKEW_MS: u64 = 300_000;

#[cfg(test)]
#[path = "id_tests.rs"]
mod tests;
