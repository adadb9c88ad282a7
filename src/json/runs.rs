//! How far a run of bytes of one sort goes: the plain text of a string, digits, white space. Many bytes at a time, because
//! a loop that ends after an unforeseeable number of bytes costs more than its bytes.
//!
//! SSE2 where every processor has it, else words of eight bytes. Both are tested on every platform that can run them.

/// The first quote, backslash or control character at or after `at`: its position and itself. Where no whole block is
/// left it may be an earlier byte, and none behind the end: the caller goes on from there.
#[inline(always)]
pub(super) fn plain_end(text: &[u8], mut at: usize) -> (usize, Option<u8>) {
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk) {
        if let Some(index) = stop_in(block) {
            return (at + index, block.get(index).copied());
        }
        at += block.len();
    }
    #[cfg(target_arch = "x86_64")]
    if let (Some(last), left @ 1..) = (text.last_chunk::<16>(), text.len().saturating_sub(at)) {
        // The last block overlaps the one before it; what was looked at already does not count.
        let stops = stops_in_sixteen(last) >> (16 - left);
        return if stops == 0 { (text.len(), None) } else { byte_at(text, at + stops.trailing_zeros() as usize) };
    }
    byte_at(text, at)
}

fn byte_at(text: &[u8], at: usize) -> (usize, Option<u8>) {
    (at, text.get(at).copied())
}

#[cfg(target_arch = "x86_64")]
use stop_in_sixteen as stop_in;

#[cfg(not(target_arch = "x86_64"))]
use stop_in_eight as stop_in;

/// Whether no byte has its high bit set.
pub(super) fn is_ascii(text: &[u8]) -> bool {
    const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);
    let Some(last) = text.last_chunk::<16>() else { return text.is_ascii() };
    let (blocks, _) = text.as_chunks::<16>();
    // The last block may overlap the one before it.
    let mut all = *last;
    for block in blocks {
        for (all, byte) in all.iter_mut().zip(block) {
            *all |= byte;
        }
    }
    u128::from_ne_bytes(all) & HIGH == 0
}

/// The position of the first byte at or after `at` that is no digit.
pub(super) fn digits_end(text: &[u8], at: usize) -> usize {
    let mut at = match end_by(text, at, no_digit_in_eight) {
        Ok(end) => return end,
        Err(rest) => rest,
    };
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    at
}

/// The position of the first byte at or after `at` that is no white space of JSON.
#[inline(always)]
pub(crate) fn space_end(text: &[u8], at: usize) -> usize {
    // None or one is what nearly every place has.
    match text.get(at) {
        Some(b' ' | b'\n' | b'\r' | b'\t') => {}
        _ => return at,
    }
    match text.get(at + 1) {
        Some(b' ' | b'\n' | b'\r' | b'\t') => long_space_end(text, at + 2),
        _ => at + 1,
    }
}

#[inline(never)]
fn long_space_end(text: &[u8], mut at: usize) -> usize {
    // Indentation repeats itself, so a processor foresees where a short run ends; a block's answer it would wait for.
    for _ in 0..FORESEEN {
        match text.get(at) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
            _ => return at,
        }
    }
    #[cfg(target_arch = "x86_64")]
    match end_by(text, at, no_space_in_sixteen) {
        Ok(end) => return end,
        Err(rest) => at = rest,
    }
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// White space looked at byte by byte before it is looked at in blocks.
const FORESEEN: usize = 8;

/// Where `stop` first gives the index of a byte of a block; an error is the rest of the text, too short for a block.
#[inline(always)]
fn end_by<const N: usize>(
    text: &[u8],
    mut at: usize,
    stop: impl Fn(&[u8; N]) -> Option<usize>,
) -> Result<usize, usize> {
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk) {
        if let Some(index) = stop(block) {
            return Ok(at + index);
        }
        at += N;
    }
    Err(at)
}

#[cfg(target_arch = "x86_64")]
fn stop_in_sixteen(block: &[u8; 16]) -> Option<usize> {
    let stops = stops_in_sixteen(block);
    // A branch, so that the next block need not wait for this one's count.
    (stops != 0).then(|| stops.trailing_zeros() as usize)
}

/// A bit for every byte of the block that ends a run.
#[cfg(target_arch = "x86_64")]
fn stops_in_sixteen(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64, and the load asks for no alignment.
    unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x22));
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x5c));
        let control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8(0x1f)), _mm_set1_epi8(0x1f));
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)) as u32
    }
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

fn no_digit_in_eight(block: &[u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let word = u64::from_le_bytes(*block) ^ (ONES * u64::from(b'0'));
    // A digit is below ten now; adding 0x76 to seven bits sets the high bit from ten on, and carries nowhere.
    let stops = (((word & (ONES * 0x7f)) + ONES * 0x76) | word) & (ONES << 7);
    (stops != 0).then(|| stops.trailing_zeros() as usize / 8)
}

#[cfg(target_arch = "x86_64")]
fn no_space_in_sixteen(block: &[u8; 16]) -> Option<usize> {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64, and the load asks for no alignment.
    let spaces = unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let space = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x20));
        let tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x09));
        let feed = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x0a));
        let carriage = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x0d));
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(space, tab), _mm_or_si128(feed, carriage))) as u32
    };
    let stops = !spaces & 0xffff;
    (stops != 0).then(|| stops.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte value at every place of a block, alone and with another one behind it.
    fn check<const N: usize>(stop: impl Fn(&[u8; N]) -> Option<usize>, fillers: &[u8], goes_on: impl Fn(&u8) -> bool) {
        for &filler in fillers {
            for byte in 0..=255u8 {
                for place in 0..N {
                    for second in [filler, b'"', 0, 0x1f, 0x80] {
                        let mut block = [filler; N];
                        block[place] = byte;
                        block[(place + 1).min(N - 1)] = second;
                        let wanted = block.iter().position(|byte| !goes_on(byte));
                        assert_eq!(stop(&block), wanted, "{block:?}");
                    }
                }
            }
        }
    }

    fn is_plain(byte: &u8) -> bool {
        *byte >= 0x20 && *byte != b'"' && *byte != b'\\'
    }

    const PLAIN: [u8; 11] = [b'x', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff];

    #[test]
    fn eight_bytes_stop_where_one_by_one_would() {
        check(stop_in_eight, &PLAIN, is_plain);
        check(no_digit_in_eight, b"0189", u8::is_ascii_digit);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn sixteen_bytes_stop_where_one_by_one_would() {
        check(stop_in_sixteen, &PLAIN, is_plain);
        check(no_space_in_sixteen, b" \t\n\r", |byte| b" \t\n\r".contains(byte));
    }

    #[test]
    fn runs_end_where_one_by_one_would_at_every_length() {
        for length in 0..70 {
            for (run, end) in [(b'7', digits_end as fn(&[u8], usize) -> usize), (b' ', |text, at| space_end(text, at))]
            {
                for behind in [&b""[..], b"}", b"}}}}}}}}}}}}}}}}}}}}"] {
                    let text = [vec![b'['], vec![run; length], behind.to_vec()].concat();
                    assert_eq!(end(&text, 1), 1 + length, "{length}");
                    assert_eq!(end(&text, text.len() + 1), text.len() + 1);
                }
            }
        }
    }

    #[test]
    fn one_high_bit_anywhere_is_seen() {
        for length in 0..70 {
            let mut text = vec![b'x'; length];
            assert!(is_ascii(&text));
            for place in 0..length {
                text[place] = 0x80;
                assert!(!is_ascii(&text), "{place} of {length}");
                text[place] = 0x7f;
            }
        }
    }

    #[test]
    fn the_end_of_the_text_is_never_passed() {
        for length in 0..70 {
            let text = vec![b'x'; length];
            for at in 0..=length + 1 {
                let (stopped, byte) = plain_end(&text, at);
                assert_eq!(byte, text.get(stopped).copied());
                assert!(stopped == at || stopped <= length, "{length} {at}");
                assert!(length.saturating_sub(stopped) < 16);
            }
        }
    }
}
