//! What an API key is, and how one is read from a file, so that every binding signs ids with the same bytes.

/// Why a text cannot be an API key. The message never repeats the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    Empty,
    NotUtf8,
    /// A control character inside: a line break, NUL, a tab.
    Control,
    /// White space at an end: it would be lost in the Authorization header, but not in the signature.
    Space,
}

impl std::fmt::Display for KeyFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            KeyFault::Empty => "is empty",
            KeyFault::NotUtf8 => "is not UTF-8 text",
            KeyFault::Control => "contains a control character (a line break, NUL or tab)",
            KeyFault::Space => "begins or ends with white space",
        })
    }
}

/// The key a file holds: its text without the one newline (LF or CRLF) that editors and `echo` put at the end.
pub(crate) fn from_file(content: &[u8]) -> Result<&str, KeyFault> {
    let text = std::str::from_utf8(content).map_err(|_| KeyFault::NotUtf8)?;
    let line = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    check(line)
}

/// A key given as an option: taken exactly as it is, or refused.
pub(crate) fn check(key: &str) -> Result<&str, KeyFault> {
    if key.is_empty() {
        Err(KeyFault::Empty)
    } else if key.chars().any(char::is_control) {
        Err(KeyFault::Control)
    } else if key.trim() != key || key.starts_with('\u{feff}') {
        Err(KeyFault::Space)
    } else {
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p36_a_file_loses_one_trailing_newline_and_nothing_else() {
        for content in ["forge-test-key", "forge-test-key\n", "forge-test-key\r\n"] {
            assert_eq!(from_file(content.as_bytes()), Ok("forge-test-key"));
        }
        assert_eq!(from_file(b"a key with inner spaces\n"), Ok("a key with inner spaces"));
        assert_eq!(from_file("cl\u{e9}\n".as_bytes()), Ok("cl\u{e9}"));
        for (content, fault) in [
            (&b"key\n\n"[..], KeyFault::Control),
            (b"key\r\n\r\n", KeyFault::Control),
            (b"key\r", KeyFault::Control),
            (b"k\0ey\n", KeyFault::Control),
            (b"k\tey", KeyFault::Control),
            (b"key \n", KeyFault::Space),
            (b"\xef\xbb\xbfkey\n", KeyFault::Space),
            (b"\xff\xfek\0", KeyFault::NotUtf8),
            (b"\n", KeyFault::Empty),
            (b"", KeyFault::Empty),
        ] {
            assert_eq!(from_file(content), Err(fault), "{content:?}");
        }
    }

    #[test]
    fn d21_a_key_with_a_newline_or_spaces_around_it_is_a_fault() {
        for (key, fault) in [
            ("key\n", KeyFault::Control),
            ("ke\ny", KeyFault::Control),
            ("k\u{85}ey", KeyFault::Control),
            (" key", KeyFault::Space),
            ("key ", KeyFault::Space),
            ("", KeyFault::Empty),
        ] {
            assert_eq!(check(key), Err(fault), "{key:?}");
            assert!(!fault.to_string().contains("key"), "a message never shows the key");
        }
        assert_eq!(check("forge test key"), Ok("forge test key"));
    }
}
