//! Rule 7: which response bodies may be edited at all, told from the head.

use super::head::{self, HeaderLine, Line, find};

/// Largest body that is read and edited, in bytes.
pub(crate) const BODY_LIMIT: usize = 1024 * 1024;

/// What a head allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The body may be edited if it turns out to be what it says. `length` is the one valid Content-Length.
    Open { length: Option<usize> },
    /// Encoded, partial, hashed, trailed, of another media type: its bytes stay.
    Closed(Why),
}

/// Why a body stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    MediaType,
    Encoded,
    Partial,
    Trailer,
    Hashed,
    Length,
    TooLarge,
}

/// The media types a caller wants to edit.
pub(crate) enum Wanted<'a> {
    /// UTF-8 JSON of one of these types.
    Json(&'a [String]),
    /// `text/plain` in UTF-8 or ASCII.
    PlainText,
}

/// `limit`: the largest body worth reading, in bytes.
pub(crate) fn judge(headers: &[HeaderLine<'_>], wanted: Wanted<'_>, limit: usize) -> Gate {
    if !media_type_fits(find(headers, "content-type"), &wanted) {
        return Gate::Closed(Why::MediaType);
    }
    let mut lengths = 0;
    let mut length = None;
    for &(name, value) in headers {
        // The first byte and the length settle most lines without a comparison of names.
        let why = match (name.len(), name.first().map(u8::to_ascii_lowercase)) {
            (16, Some(b'c')) if is(name, "content-encoding") => {
                (!is(head::trim(value), "identity")).then_some(Why::Encoded)
            }
            (13, Some(b'c')) if is(name, "content-range") => Some(Why::Partial),
            (7, Some(b't')) if is(name, "trailer") => Some(Why::Trailer),
            (14, Some(b'c')) if is(name, "content-digest") => Some(Why::Hashed),
            (11, Some(b'r')) if is(name, "repr-digest") => Some(Why::Hashed),
            (6, Some(b'd')) if is(name, "digest") => Some(Why::Hashed),
            (11, Some(b'c')) if is(name, "content-md5") => Some(Why::Hashed),
            (15, Some(b's')) if is(name, "signature-input") => Some(Why::Hashed),
            (14, Some(b'c')) if is(name, "content-length") => {
                lengths += 1;
                length = number(head::trim(value));
                (lengths > 1 || length.is_none()).then_some(Why::Length)
            }
            _ => None,
        };
        if let Some(why) = why {
            return Gate::Closed(why);
        }
    }
    if length.is_some_and(|length| length > limit) {
        return Gate::Closed(Why::TooLarge);
    }
    Gate::Open { length }
}

fn media_type_fits(line: Line<'_>, wanted: &Wanted<'_>) -> bool {
    let Some(value) = line.single() else { return false };
    let mut parts = value.split(|&byte| byte == b';');
    let essence = head::trim(parts.next().unwrap_or_default());
    let (type_fits, charsets): (bool, &[&str]) = match wanted {
        Wanted::Json(types) => (types.iter().any(|name| is(essence, name)), &["utf-8", "utf8"]),
        Wanted::PlainText => (is(essence, "text/plain"), &["utf-8", "utf8", "us-ascii"]),
    };
    type_fits
        && parts.all(|parameter| {
            let mut halves = parameter.splitn(2, |&byte| byte == b'=');
            let name = head::trim(halves.next().unwrap_or_default());
            let value = head::trim(halves.next().unwrap_or_default());
            let bare = value.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(value);
            !is(name, "charset") || charsets.iter().any(|charset| is(bare, charset))
        })
}

fn is(bytes: &[u8], name: &str) -> bool {
    bytes.eq_ignore_ascii_case(name.as_bytes())
}

fn number(value: &[u8]) -> Option<usize> {
    let digits = (1..=15).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    digits.then(|| value.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(headers: &[(&str, &str)]) -> Gate {
        let lines: Vec<HeaderLine> = headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        judge(&lines, Wanted::Json(&["application/json".to_owned()]), BODY_LIMIT)
    }

    #[test]
    fn plain_utf8_json_is_open() {
        for kind in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf8\"; x=y"] {
            assert_eq!(json(&[("Content-Type", kind)]), Gate::Open { length: None }, "{kind}");
        }
        assert_eq!(
            json(&[("content-type", "application/json"), ("CONTENT-LENGTH", "12")]),
            Gate::Open { length: Some(12) }
        );
    }

    #[test]
    fn c36_c37_c38_c39_structured_suffixes_are_not_json_by_default() {
        for kind in [
            "application/vnd.api+json",
            "application/vc+ld+json",
            "application/jose+json",
            "application/problem+json",
            "text/html",
            "application/json; charset=utf-16",
            "application/x-ndjson",
        ] {
            assert_eq!(json(&[("content-type", kind)]), Gate::Closed(Why::MediaType), "{kind}");
        }
        assert_eq!(
            json(&[("content-type", "application/json"), ("content-type", "application/json")]),
            Gate::Closed(Why::MediaType)
        );
    }

    #[test]
    fn a_body_that_somebody_has_hashed_encoded_or_cut_stays() {
        for (name, value, why) in [
            ("Content-Encoding", "gzip", Why::Encoded),
            ("content-range", "bytes 0-1/2", Why::Partial),
            ("Trailer", "x", Why::Trailer),
            ("Content-Digest", "sha-256=:x:", Why::Hashed),
            ("repr-digest", "x", Why::Hashed),
            ("Digest", "x", Why::Hashed),
            ("content-md5", "x", Why::Hashed),
            ("Signature-Input", "x", Why::Hashed),
            ("content-length", "x", Why::Length),
            ("content-length", "", Why::Length),
            ("content-length", "-1", Why::Length),
            ("content-length", "1048577", Why::TooLarge),
        ] {
            assert_eq!(
                json(&[("content-type", "application/json"), (name, value)]),
                Gate::Closed(why),
                "{name}: {value}"
            );
        }
        assert_eq!(
            json(&[
                ("content-type", "application/json"),
                ("content-encoding", "identity"),
                ("content-length", "1048576")
            ]),
            Gate::Open { length: Some(1_048_576) }
        );
        assert_eq!(
            json(&[("content-type", "application/json"), ("content-length", "2"), ("content-length", "2")]),
            Gate::Closed(Why::Length)
        );
    }
}
