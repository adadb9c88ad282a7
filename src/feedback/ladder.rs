//! Sizes: what may be added to a header without making it too large for somebody on the way.
//!
//! The numbers are the measured limits of real peers, with room left: a page of nginx's header buffer, aiohttp's line,
//! Node's whole head, and the client's echo of the challenge in one 8 KB request line. A head that starts below
//! a safe size ends below it; one that already lies near a limit gets nothing.

/// Up to `.0` is safe; beyond it and up to `.1` nothing may be added any more.
type Zone = (usize, usize);

/// For one header value, in bytes.
pub(crate) const VALUE: [Zone; 3] = [(3_584, 4_096), (6_400, 8_192), (15_360, 16_384)];
/// For the whole head, in bytes.
pub(crate) const HEAD: [Zone; 3] = [(3_840, 4_096), (7_936, 8_192), (15_872, 16_384)];
/// An extension must stay under this, in bytes of JSON.
pub(crate) const EXTENSION: usize = 1_024;

/// Whether something of `before` bytes may become `after` bytes.
pub(crate) fn may_grow(zones: &[Zone], before: usize, after: usize) -> bool {
    match zones.iter().find(|(_, hard)| before <= *hard) {
        Some((safe, _)) => before <= *safe && after <= *safe,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a26_a_value_never_leaves_the_zone_it_started_in() {
        assert!(may_grow(&VALUE, 1_500, 3_584));
        assert!(!may_grow(&VALUE, 1_500, 3_585), "safe is the most");
        assert!(!may_grow(&VALUE, 3_585, 3_586), "inside a zone nothing is added");
        assert!(!may_grow(&VALUE, 4_096, 4_100));
        assert!(may_grow(&VALUE, 4_097, 6_400));
        assert!(!may_grow(&VALUE, 6_401, 6_402));
        assert!(may_grow(&VALUE, 8_193, 15_360));
        assert!(!may_grow(&VALUE, 16_385, 16_386));
        assert!(!may_grow(&HEAD, 3_841, 3_842));
    }
}
