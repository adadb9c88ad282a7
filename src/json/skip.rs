//! Where an object or array ends: one pass without recursion, one bit for every open level.
//!
//! Accepts what RFC 8259 accepts, no more and no less; the caller has checked that the text is UTF-8. Any depth: the
//! first 63 levels live in a register, deeper ones cost a bit each on the heap.

use super::scan::{Fault, number, skip_space, string, word};

/// The position after the object or array that opens at `start`.
pub(super) fn container(text: &[u8], start: usize) -> Result<usize, Fault> {
    let mut open = Levels::new();
    let mut at = start;
    loop {
        // A value begins here.
        at = match text.get(at) {
            Some(b'"') => string(text, at)?,
            Some(b'{') => {
                at = skip_space(text, at + 1);
                if text.get(at) != Some(&b'}') {
                    open.enter(Level::Object);
                    at = name(text, at)?;
                    continue;
                }
                at + 1
            }
            Some(b'[') => {
                at = skip_space(text, at + 1);
                if text.get(at) != Some(&b']') {
                    open.enter(Level::Array);
                    continue;
                }
                at + 1
            }
            Some(b'-' | b'0'..=b'9') => number(text, at)?,
            _ => word(text, at)?,
        };
        // A value has ended here.
        loop {
            let Some(level) = open.innermost() else { return Ok(at) };
            at = skip_space(text, at);
            match (text.get(at), level) {
                (Some(b','), Level::Object) => {
                    at = name(text, skip_space(text, at + 1))?;
                    break;
                }
                (Some(b','), Level::Array) => {
                    at = skip_space(text, at + 1);
                    break;
                }
                (Some(b'}'), Level::Object) | (Some(b']'), Level::Array) => at += 1,
                _ => return Err(Fault::Invalid),
            }
            open.leave();
        }
    }
}

/// Passes a key and its colon: the position of its value.
fn name(text: &[u8], at: usize) -> Result<usize, Fault> {
    let at = skip_space(text, string(text, at)?);
    if text.get(at) == Some(&b':') { Ok(skip_space(text, at + 1)) } else { Err(Fault::Invalid) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Array,
    Object,
}

/// The kinds of the open levels, innermost in the lowest bit, below a one that marks the end.
struct Levels {
    bits: u64,
    outer: Vec<u64>,
}

impl Levels {
    fn new() -> Self {
        Levels { bits: 1, outer: Vec::new() }
    }

    fn enter(&mut self, level: Level) {
        if self.bits >> 63 == 1 {
            self.outer.push(std::mem::replace(&mut self.bits, 1));
        }
        self.bits = self.bits << 1 | u64::from(level == Level::Object);
    }

    fn leave(&mut self) {
        self.bits >>= 1;
        if self.bits == 1 {
            self.bits = self.outer.pop().unwrap_or(1);
        }
    }

    fn innermost(&self) -> Option<Level> {
        match (self.bits, self.bits & 1) {
            (1, _) => None,
            (_, 1) => Some(Level::Object),
            _ => Some(Level::Array),
        }
    }
}

#[cfg(test)]
#[path = "skip_tests.rs"]
mod tests;
