//! Header lines as the host gave them: look-up without case, values, sizes.

/// One header line: name and value, as bytes, exactly as on the wire.
pub type HeaderLine<'a> = (&'a [u8], &'a [u8]);

/// What stands under a header name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Absent,
    One(&'a [u8]),
    /// On more than one line, with the first value.
    Many(&'a [u8]),
}

impl<'a> Line<'a> {
    /// The value where exactly one line has it.
    pub fn single(self) -> Option<&'a [u8]> {
        match self {
            Line::One(value) => Some(value),
            _ => None,
        }
    }

    pub fn is_present(self) -> bool {
        self != Line::Absent
    }
}

/// Finds a header by its name, without case.
pub(crate) fn find<'a>(headers: &[HeaderLine<'a>], name: &str) -> Line<'a> {
    let mut found = Line::Absent;
    for &(line_name, value) in headers {
        if line_name.len() == name.len() && line_name.eq_ignore_ascii_case(name.as_bytes()) {
            found = match found {
                Line::Absent => Line::One(trim(value)),
                Line::One(first) | Line::Many(first) => return Line::Many(first),
            };
        }
    }
    found
}

/// Every value under a name, in order.
pub(crate) fn all<'h, 'a>(headers: &'h [HeaderLine<'a>], name: &'h str) -> impl Iterator<Item = &'a [u8]> + 'h {
    headers
        .iter()
        .filter(move |(line_name, _)| line_name.eq_ignore_ascii_case(name.as_bytes()))
        .map(|&(_, value)| trim(value))
}

/// Bytes of the whole head: each line with `: ` and CRLF, and 32 for the status line.
pub(crate) fn size(headers: &[HeaderLine<'_>]) -> usize {
    headers.iter().map(|(name, value)| line_size(name, value)).sum::<usize>() + STATUS_LINE
}

pub(crate) fn line_size(name: &[u8], value: &[u8]) -> usize {
    name.len() + value.len() + 4
}

/// Whether a comma-separated list header names `token`, without case.
pub(crate) fn lists(value: &[u8], token: &str) -> bool {
    value.split(|&byte| byte == b',').any(|part| trim(part).eq_ignore_ascii_case(token.as_bytes()))
}

/// A value without the white space around it (RFC 9110 section 5.5).
pub(crate) fn trim(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|byte| !b" \t".contains(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !b" \t".contains(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

/// "HTTP/1.1 402 Payment Required" and its CRLF, rounded up.
const STATUS_LINE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a43_names_are_found_without_case() {
        let headers: [HeaderLine; 2] = [(b"PayMent-Required", b" x "), (b"a", b"b")];
        assert_eq!(find(&headers, "payment-required"), Line::One(b"x"));
        assert_eq!(find(&headers, "payment-require"), Line::Absent);
    }

    #[test]
    fn a_second_line_is_told_apart() {
        let headers: [HeaderLine; 2] = [(b"a", b"1"), (b"A", b"2")];
        assert_eq!(find(&headers, "a"), Line::Many(b"1"));
        assert_eq!(all(&headers, "a").collect::<Vec<_>>(), [b"1", b"2"]);
    }

    #[test]
    fn size_is_the_head_on_the_wire() {
        assert_eq!(size(&[(b"a", b"bc")]), 32 + 7);
    }
}
