//! Project keys: `ffk_` and 43 characters, shown once, kept as SHA-256.

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

pub const PREFIX: &str = "ffk_";

/// A new key from 32 bytes of the operating system's randomness.
pub fn generate() -> Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness from the operating system: {error}"))?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

pub fn sha256(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// An existing key to take over: any visible ASCII of 16 to 256 characters, because a header has to carry it.
pub fn check_imported(key: &str) -> Result<()> {
    ensure!(
        (16..=256).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()),
        "the key must be 16 to 256 visible ASCII characters without spaces"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_is_ffk_and_43_characters_and_never_the_same() {
        let (one, two) = (super::generate().unwrap(), super::generate().unwrap());
        assert_eq!(one.len(), 47);
        assert!(one.starts_with("ffk_"));
        assert!(one[4..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        assert_ne!(one, two);
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        for bad in ["", "short", "has a space in the middle", "line\nbreak-in-the-key-text", "schlüssel-schlüssel"] {
            assert!(super::check_imported(bad).is_err(), "{bad:?}");
        }
        super::check_imported("ffk_test_0123456789abcdef").unwrap();
    }
}
