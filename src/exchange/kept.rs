//! What the first look at a response's head came to, for the second one: the host shows the same head again with the body,
//! and a header of a kilobyte need not be decoded, checked and written twice.
//!
//! Only a head that is the same byte for byte counts; a host that has changed it in between is answered anew.

use super::ResponseHead;
use crate::feedback::challenge::Extra;
use crate::verdict::Edit;

/// The head that was judged and the edits that the head alone led to.
#[derive(Debug)]
pub(super) struct Kept {
    status: u16,
    /// Names and values of all lines, end to end.
    bytes: Vec<u8>,
    /// Lengths of names and values.
    lengths: Vec<(usize, usize)>,
    pub edits: Vec<Edit>,
    /// The extensions besides the ask that the edited challenge carries.
    pub extras: Vec<Extra>,
}

impl Kept {
    pub fn new(response: &ResponseHead<'_>, edits: Vec<Edit>, extras: Vec<Extra>) -> Kept {
        let lengths = response.headers.iter().map(|(name, value)| (name.len(), value.len())).collect();
        let bytes = response.headers.iter().flat_map(|&(name, value)| [name, value]).collect::<Vec<_>>().concat();
        Kept { status: response.status, bytes, lengths, edits, extras }
    }

    /// Whether this is the head that was judged.
    pub fn is_of(&self, response: &ResponseHead<'_>) -> bool {
        let mut rest = &self.bytes[..];
        let mut goes_on = |part: &[u8]| rest.split_off(..part.len()).is_some_and(|kept| kept == part);
        self.status == response.status
            && self.lengths.len() == response.headers.len()
            && self.lengths.iter().zip(response.headers).all(|(lengths, (name, value))| {
                *lengths == (name.len(), value.len()) && goes_on(name) && goes_on(value)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::HeaderLine;

    fn is_kept(first: &[HeaderLine<'_>], second: &[HeaderLine<'_>]) -> bool {
        let head = |headers| ResponseHead { status: 402, headers, ..ResponseHead::default() };
        Kept::new(&head(first), Vec::new(), Vec::new()).is_of(&head(second))
    }

    #[test]
    fn only_the_same_bytes_are_the_same_head() {
        let first: [HeaderLine<'_>; 2] = [(b"a", b"bc"), (b"d", b"")];
        assert!(is_kept(&first, &first));
        for second in [
            &[(&b"ab"[..], &b"c"[..]), (b"d", b"")][..],
            &[(b"a", b"bd"), (b"d", b"")],
            &[(b"A", b"bc"), (b"d", b"")],
            &[(b"a", b"bc")],
            &[(b"a", b"bc"), (b"d", b""), (b"", b"")],
            &[(b"a", b"bcd"), (b"", b"")],
        ] {
            assert!(!is_kept(&first, second), "{second:?}");
        }
        let other = ResponseHead { status: 401, headers: &first, ..ResponseHead::default() };
        let one = ResponseHead { status: 402, ..other };
        assert!(!Kept::new(&one, Vec::new(), Vec::new()).is_of(&other));
    }
}
