//! What an origin is: `http://` or `https://`, an ASCII host, an optional port, at most 256 bytes, nothing else.
//!
//! Strict on purpose: an origin becomes part of a link that agents follow, so whatever two URL parsers
//! could read differently (user info, backslashes, percent escapes, control characters) is no origin.

/// Longest origin taken, in bytes.
pub(crate) const MAX: usize = 256;

/// `text` as an origin, without a trailing slash; `None` where it is anything more than an origin.
pub(crate) fn exact(text: &str) -> Option<&str> {
    let origin = text.strip_suffix('/').unwrap_or(text);
    (of_url(origin)? == origin).then_some(origin)
}

/// The origin an absolute URL begins with.
pub(crate) fn of_url(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let origin = &url[..url.len() - rest.len() + authority.len()];
    (origin.len() <= MAX && is_authority(authority)).then_some(origin)
}

fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((address, rest)) if address.parse::<std::net::Ipv6Addr>().is_ok() => {
                ("v6", rest.strip_prefix(':').or(rest.is_empty().then_some("0")))
            }
            _ => return false,
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("0")),
        },
    };
    let host_ok = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        && host.bytes().any(|byte| byte.is_ascii_alphanumeric());
    host_ok
        && port.is_some_and(|port| {
            (1..=5).contains(&port.len())
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && port.parse::<u16>().is_ok()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_taken_from_the_front_of_a_url() {
        assert_eq!(of_url("https://api.example.com:8443/weather?city=Oslo"), Some("https://api.example.com:8443"));
        assert_eq!(of_url("http://127.0.0.1:4021/x"), Some("http://127.0.0.1:4021"));
        assert_eq!(of_url("http://[::1]:80"), Some("http://[::1]:80"));
        assert_eq!(of_url("https://a.example#x"), Some("https://a.example"));
    }

    #[test]
    fn what_two_parsers_could_read_differently_is_no_origin() {
        for url in [
            "ftp://a",
            "//a",
            "https://",
            "https://user@a",
            "https://a:b@c",
            "https://a\\@b",
            "https://a%2eb",
            "https://a b",
            "https://\u{e9}.example",
            "https://a:",
            "https://a:99999",
            "https://a:8x",
            "https://[::1",
            "https://[x]",
            "https://.",
            "HTTPS://a",
            "https://a\n",
        ] {
            assert_eq!(of_url(url), None, "{url}");
        }
        assert_eq!(of_url(&format!("https://{}", "a".repeat(249))), None);
    }

    #[test]
    fn d22_a_path_is_not_part_of_an_origin() {
        assert_eq!(exact("https://a.example/"), Some("https://a.example"));
        assert_eq!(exact("https://a.example/x"), None);
        assert_eq!(exact("https://a.example?x"), None);
        assert_eq!(exact("https://a.example//"), None);
    }
}
