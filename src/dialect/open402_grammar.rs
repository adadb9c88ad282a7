//! The grammar of authentication headers (RFC 9110 section 11), read strictly and as loose clients scan it.
//!
//! A field counts only where both readings give one value.

use super::open402::Fault;

/// One challenge of a header: its scheme, its parameters, and the text they stand in.
pub(super) struct Scheme<'a> {
    pub scheme: &'a [u8],
    text: &'a [u8],
    parameters: Vec<(&'a [u8], Vec<u8>)>,
}

/// Splits a header of one or more challenges (RFC 9110 section 11.6.1), aware of quotes.
pub(super) fn challenges(value: &[u8]) -> Result<Vec<Scheme<'_>>, Fault> {
    let mut found: Vec<Scheme<'_>> = Vec::with_capacity(2);
    let mut at = 0;
    loop {
        at += value[at..].iter().take_while(|byte| b" \t,".contains(byte)).count();
        if at == value.len() {
            return Ok(found);
        }
        let word = token(value, at);
        if word.is_empty() {
            return Err(Fault::Grammar);
        }
        let after = at + word.len();
        match (value.get(after), value.get(after + 1)) {
            (Some(b'='), Some(b'"')) => {
                let (content, end) = quoted(value, after + 1)?;
                let current = found.last_mut().ok_or(Fault::Grammar)?;
                current.parameters.push((word, content));
                let start = current.text.as_ptr() as usize - value.as_ptr() as usize;
                current.text = &value[start..end];
                at = end;
            }
            // A bare value is legal HTTP but no x402 client reads it; of other schemes it is skipped, as is token68.
            (Some(b'='), _) => {
                let current = found.last_mut().ok_or(Fault::Grammar)?;
                if current.scheme.eq_ignore_ascii_case(SCHEME) {
                    return Err(Fault::Grammar);
                }
                at = after + value[after..].iter().take_while(|byte| !b" \t,\"".contains(byte)).count();
            }
            (None | Some(b' ' | b'\t' | b','), _) => {
                found.push(Scheme { scheme: word, text: &value[at..after], parameters: Vec::new() });
                at = after;
            }
            // token68 characters of another scheme: `Negotiate a/b+c`.
            _ if found.last().is_some_and(|last| !last.scheme.eq_ignore_ascii_case(SCHEME)) => {
                at = after + value[after..].iter().take_while(|byte| !b" \t,\"".contains(byte)).count().max(1);
            }
            _ => return Err(Fault::Grammar),
        }
    }
}

/// The token at `at` (RFC 9110 section 5.6.2), empty where there is none.
fn token(value: &[u8], at: usize) -> &[u8] {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    &value[at..at + value[at..].iter().take_while(is_part).count()]
}

/// The content of the quoted string at `at`, unescaped, and the position behind its closing quote.
fn quoted(value: &[u8], at: usize) -> Result<(Vec<u8>, usize), Fault> {
    let mut content = Vec::new();
    let mut at = at + 1;
    loop {
        match value.get(at) {
            Some(b'"') => return Ok((content, at + 1)),
            Some(b'\\') => {
                content.push(*value.get(at + 1).ok_or(Fault::Grammar)?);
                at += 2;
            }
            Some(&byte) => {
                content.push(byte);
                at += 1;
            }
            None => return Err(Fault::Grammar),
        }
    }
}

/// The reserved fields of one challenge or credential, each at most once.
pub(super) struct Fields(Vec<(&'static str, String)>);

impl Fields {
    pub fn read(found: &Scheme<'_>, names: &[&'static str]) -> Result<Fields, Fault> {
        let mut fields = Fields(Vec::with_capacity(names.len()));
        for &name in names {
            let mut values = found.parameters.iter().filter(|(key, _)| *key == name.as_bytes());
            let value = values.next();
            if values.next().is_some() {
                return Err(Fault::Duplicate(name));
            }
            // The loose reading takes the tail of a hyphenated name and the last of several.
            let loose = loose_scan(found.text).into_iter().rev().find(|(key, _)| *key == name.as_bytes());
            if loose.map(|(_, text)| text) != value.map(|(_, text)| text.as_slice()) {
                return Err(Fault::Smuggled(name));
            }
            if let Some((_, text)) = value.filter(|(_, text)| !text.is_empty()) {
                fields.0.push((name, checked(name, text)?));
            }
        }
        Ok(fields)
    }

    pub fn optional(&mut self, name: &'static str) -> Option<String> {
        let index = self.0.iter().position(|(held, _)| *held == name)?;
        Some(self.0.swap_remove(index).1)
    }

    pub fn required(&mut self, name: &'static str) -> Result<String, Fault> {
        self.optional(name).ok_or(Fault::Missing(name))
    }
}

/// Every match of `(\w+)="([^"]*)"`, as the clients in the field scan.
fn loose_scan(text: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(equals) = text[at..].windows(2).position(|pair| pair == b"=\"").map(|offset| at + offset) {
        let name = text[at..equals].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
        let start = equals - name.count();
        if start == equals {
            at = equals + 1;
            continue;
        }
        let Some(length) = text[equals + 2..].iter().position(|&byte| byte == b'"') else { return found };
        found.push((&text[start..equals], &text[equals + 2..equals + 2 + length]));
        at = equals + 3 + length;
    }
    found
}

/// A value that means the same to every reader of a header.
pub(super) fn checked(name: &'static str, value: &[u8]) -> Result<String, Fault> {
    if value.len() > MAX_VALUE {
        return Err(Fault::TooLong(name));
    }
    match std::str::from_utf8(value) {
        Ok(text) if text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\') => {
            Ok(text.to_owned())
        }
        _ => Err(Fault::Unsafe(name)),
    }
}

pub(super) const SCHEME: &[u8] = b"x402";
pub(super) const MAX_VALUE: usize = 256;
