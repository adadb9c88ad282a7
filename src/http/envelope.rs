//! Header values that carry JSON in base64 (x402 transport, HTTP).
//!
//! Reads the four strict spellings (standard and URL alphabet, padded and not), never a forgiving one: white
//! space, commas, stray bits are somebody else's header. Writes one: standard alphabet, padded, one line,
//! which is all that the JavaScript clients accept.

use base64_simd::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// The decoded bytes, `None` where the value is not strict base64.
pub(crate) fn decode(value: &[u8]) -> Option<Vec<u8>> {
    let url = memchr::memchr2(b'-', b'_', value).is_some();
    let padded = value.last() == Some(&b'=');
    match (url, padded) {
        (false, true) => STANDARD.decode_to_vec(value),
        (false, false) => STANDARD_NO_PAD.decode_to_vec(value),
        (true, true) => URL_SAFE.decode_to_vec(value),
        (true, false) => URL_SAFE_NO_PAD.decode_to_vec(value),
    }
    .ok()
}

pub(crate) fn encode(bytes: &[u8]) -> Vec<u8> {
    STANDARD.encode_to_string(bytes).into_bytes()
}

/// Length of [`encode`]'s answer for that many bytes.
pub(crate) fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p05_four_strict_spellings_are_read_and_one_is_written() {
        let text = br#"{"a":"?>~~"}"#;
        let spellings = [
            STANDARD.encode_to_string(text),
            STANDARD_NO_PAD.encode_to_string(text),
            URL_SAFE.encode_to_string(text),
            URL_SAFE_NO_PAD.encode_to_string(text),
        ];
        for spelling in &spellings {
            assert_eq!(decode(spelling.as_bytes()).unwrap(), text, "{spelling}");
        }
        assert_eq!(encode(text), spellings[0].as_bytes());
        assert_eq!(encoded_len(text.len()), spellings[0].len());
    }

    #[test]
    fn a25_anything_else_is_not_ours() {
        for value in [
            "eyJh Ig==",
            "eyJhIg==\n",
            "eyJhIg==,eyJhIg==",
            "eyJhIg==eyJh",
            "eyJhIh==",
            "eyJ-Ig/=",
            "\"eyJhIg==\"",
            "eyJhIg=",
        ] {
            assert_eq!(decode(value.as_bytes()), None, "{value}");
        }
    }
}
