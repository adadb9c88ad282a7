//! How far a JSON string is plain text: many bytes at a time, because long texts are most of a large body.
//!
//! SSE2 where every processor has it, else words of eight bytes. Both are tested on every platform that can run them.

/// The position of the first quote, backslash or control character at or after `at`. Near the end of the text, where
/// no whole block is left, it may be an earlier one: the caller goes on byte by byte.
pub(super) fn end(text: &[u8], at: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    return end_by(text, at, stop_in_sixteen);
    #[cfg(not(target_arch = "x86_64"))]
    return end_by(text, at, stop_in_eight);
}

/// `stop` gives the index of the first byte of a block that is not plain.
fn end_by<const N: usize>(text: &[u8], mut at: usize, stop: impl Fn(&[u8; N]) -> Option<usize>) -> usize {
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk) {
        if let Some(index) = stop(block) {
            return at + index;
        }
        at += N;
    }
    at
}

#[cfg(target_arch = "x86_64")]
fn stop_in_sixteen(block: &[u8; 16]) -> Option<usize> {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64, and the load asks for no alignment.
    let stops = unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x22));
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x5c));
        let control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8(0x1f)), _mm_set1_epi8(0x1f));
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)) as u32
    };
    // A branch, so that the next block need not wait for this one's count.
    (stops != 0).then(|| stops.trailing_zeros() as usize)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn stop_in_eight(block: &[u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let word = u64::from_le_bytes(*block);
    // Sets the high bit of each byte below the limit. A borrow can set further ones, but only above a true one.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let quote = below(word ^ (ONES * u64::from(b'"')), 1);
    let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
    let stops = (quote | backslash | below(word, 0x20)) & (ONES << 7);
    (stops != 0).then(|| stops.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte value at every place of a block, alone and with another one behind it.
    fn check<const N: usize>(stop: impl Fn(&[u8; N]) -> Option<usize>) {
        let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
        for filler in [b'x', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
            for byte in 0..=255u8 {
                for place in 0..N {
                    for second in [filler, b'"', 0, 0x1f, 0x80] {
                        let mut block = [filler; N];
                        block[place] = byte;
                        block[(place + 1).min(N - 1)] = second;
                        let wanted = block.iter().position(|byte| !is_plain(byte));
                        assert_eq!(stop(&block), wanted, "{block:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn eight_bytes_stop_where_one_by_one_would() {
        check(stop_in_eight);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn sixteen_bytes_stop_where_one_by_one_would() {
        check(stop_in_sixteen);
    }

    #[test]
    fn the_end_of_the_text_is_never_passed() {
        for length in 0..70 {
            let text = vec![b'x'; length];
            for at in 0..=length + 1 {
                let stopped = end(&text, at);
                assert!(stopped == at || stopped <= length, "{length} {at}");
                assert!(length.saturating_sub(stopped) < 16);
            }
        }
    }
}
