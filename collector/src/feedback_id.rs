//! Feedback ids: 22 characters of base64url = issue time (4 bytes), randomness (6), MAC (6).
//!
//! Checks only; ids are minted where the call is answered. The MAC key is the *text* of the derived key, not its bytes.
//! Order of reasons: malformed, bad signature, expired.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// How far in the future an issue time may lie: clocks differ.
const SKEW_MS: i64 = 300_000;
pub const LENGTH: usize = 22;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Malformed,
    BadSignature,
    Expired,
}

/// base64url-nopad(HMAC-SHA256(api_key, "forge-feedback-id/v1")): 43 ASCII characters, used as text.
pub fn signing_key(api_key: &str) -> String {
    URL_SAFE_NO_PAD.encode(mac(api_key.as_bytes(), b"forge-feedback-id/v1"))
}

/// The issue time in unix milliseconds if any of `signing_keys` signed this id and it is younger than `ttl_ms`.
pub fn verify<'a>(
    id: &str,
    signing_keys: impl IntoIterator<Item = &'a str>,
    ttl_ms: i64,
    now_ms: i64,
) -> Result<i64, Reason> {
    let bytes = decode(id).ok_or(Reason::Malformed)?;
    let (signed, tag) = bytes.split_at(10);
    let genuine = signing_keys
        .into_iter()
        .fold(false, |found, key| found | bool::from(mac(key.as_bytes(), signed)[..6].ct_eq(tag)));
    if !genuine {
        return Err(Reason::BadSignature);
    }
    let issued_ms = i64::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) * 1000;
    if issued_ms > now_ms.saturating_add(SKEW_MS) || now_ms.saturating_sub(issued_ms) > ttl_ms {
        return Err(Reason::Expired);
    }
    Ok(issued_ms)
}

/// Whether the text has the shape of an id; says nothing about who signed it.
pub fn is_well_formed(id: &str) -> bool {
    decode(id).is_some()
}

fn decode(id: &str) -> Option<[u8; 16]> {
    if id.len() != LENGTH {
        return None;
    }
    // The engine refuses padding and set trailing bits, so only the canonical spelling decodes.
    let mut bytes = [0u8; 16];
    match URL_SAFE_NO_PAD.decode_slice(id, &mut bytes) {
        Ok(16) => Some(bytes),
        _ => None,
    }
}

fn mac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// For tests and examples: the id that a merchant's server would mint.
#[doc(hidden)]
pub fn mint(signing_key: &str, issued_s: u32, random: [u8; 6]) -> String {
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&issued_s.to_be_bytes());
    bytes[4..10].copy_from_slice(&random);
    let tag = mac(signing_key.as_bytes(), &bytes[..10]);
    bytes[10..].copy_from_slice(&tag[..6]);
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests;
