//! Cleaning of text from outside: control characters, length, broken JSON escapes.

use std::borrow::Cow;

/// Control characters become spaces, white space at the ends goes, at most `limit` UTF-16 units stay (never half a pair).
/// Empty text is no text.
pub fn clean(text: &str, limit: usize) -> Option<String> {
    let mut out = String::with_capacity(text.len().min(limit));
    let mut units = 0;
    for character in text.trim_matches(|c: char| c.is_whitespace() || c.is_control()).chars() {
        units += character.len_utf16();
        if units > limit {
            break;
        }
        out.push(if character.is_control() { ' ' } else { character });
    }
    out.truncate(out.trim_end().len());
    (!out.is_empty()).then_some(out)
}

/// Length in UTF-16 units, the unit of the protocol's limits.
pub fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// JSON in which each `\ud800`-`\udfff` escape without its partner is `\ufffd`: a parser refuses the whole text otherwise.
pub fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    let bytes = json.as_bytes();
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let length = match (unit(bytes, at), unit(bytes, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                let out = out.get_or_insert_with(|| String::with_capacity(json.len()));
                out.push_str(&json[copied..at]);
                out.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        at += length;
    }
    match out {
        None => Cow::Borrowed(json),
        Some(mut out) => {
            out.push_str(&json[copied..]);
            Cow::Owned(out)
        }
    }
}

fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    if &escape[..2] != b"\\u" || !escape[2..].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{clean, replace_lone_surrogates};

    #[test]
    fn d20_controls_go_and_the_limit_counts_utf16_units() {
        assert_eq!(clean(" \u{1b}[31mred\u{7}\n ", 80).as_deref(), Some("[31mred"));
        assert_eq!(clean("a\tb\0c", 80).as_deref(), Some("a b c"));
        assert_eq!(clean("😀😀😀", 5).as_deref(), Some("😀😀"));
        assert_eq!(clean("abc   def", 5).as_deref(), Some("abc"));
        assert_eq!(clean(" \n ", 80), None);
    }

    #[test]
    fn e01_a_lone_surrogate_is_replaced_and_nothing_else() {
        for (input, output) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00\ud83d x""#, r#""\ufffd\ufffd x""#),
            (r#""\\ud83d \u00e9""#, r#""\\ud83d \u00e9""#),
            (r#""\ud83d\u0041""#, r#""\ufffd\u0041""#),
            (r#""\ud8""#, r#""\ud8""#),
        ] {
            assert_eq!(replace_lone_surrogates(input), output);
        }
    }
}
