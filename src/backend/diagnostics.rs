//! What an operator should know, as lines the host pulls: the library itself prints nothing.

use crate::sys::clock;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A short ring of lines. Each topic speaks at most once a minute, so a lasting fault is a line a minute and not a
/// flood; a line that nobody pulls is pushed out by newer ones.
#[derive(Default)]
pub struct Diagnostics {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    lines: VecDeque<String>,
    spoke: Vec<(&'static str, u64)>,
}

impl Diagnostics {
    /// Adds a line unless `topic` spoke less than a minute ago. Says whether it did. `line` must hold no secret.
    pub fn say(&self, topic: &'static str, line: impl Fn() -> String) -> bool {
        self.say_at(clock::monotonic_ms(), topic, &line)
    }

    /// One function for all lines, because they are rare.
    #[cold]
    #[inline(never)]
    fn say_at(&self, now_ms: u64, topic: &'static str, line: &dyn Fn() -> String) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match inner.spoke.iter_mut().find(|(known, _)| *known == topic) {
            Some((_, at)) if now_ms.saturating_sub(*at) < QUIET_MS => return false,
            Some((_, at)) => *at = now_ms,
            None => inner.spoke.push((topic, now_ms)),
        }
        if inner.lines.len() == MAX_LINES {
            inner.lines.pop_front();
        }
        let line: String = line().chars().take(MAX_CHARACTERS).collect();
        inner.lines.push_back(line);
        true
    }

    /// Takes all lines, oldest first.
    pub fn drain(&self) -> Vec<String> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lines.drain(..).collect()
    }

    /// Takes all lines as a JSON array of strings.
    pub fn drain_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.drain()).unwrap_or_else(|_| b"[]".to_vec())
    }
}

const QUIET_MS: u64 = 60_000;
const MAX_LINES: usize = 64;
const MAX_CHARACTERS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p25_a_topic_speaks_once_a_minute() {
        let diagnostics = Diagnostics::default();
        for second in 0..=120 {
            diagnostics.say_at(second * 1_000, "post", &|| format!("at {second}"));
        }
        assert!(diagnostics.say_at(500, "project", &|| "other".into()));
        assert_eq!(diagnostics.drain(), ["at 0", "at 60", "at 120", "other"]);
        assert!(diagnostics.drain().is_empty());
    }

    #[test]
    fn the_ring_is_bounded_in_lines_and_length() {
        let diagnostics = Diagnostics::default();
        for minute in 0..1_000 {
            diagnostics.say_at(minute * 60_000, "post", &|| format!("{minute} {}", "x".repeat(5_000)));
        }
        let lines = diagnostics.drain();
        assert_eq!(lines.len(), MAX_LINES);
        assert!(lines.iter().all(|line| line.chars().count() <= MAX_CHARACTERS));
        assert!(lines[MAX_LINES - 1].starts_with("999 "));
    }

    #[test]
    fn the_json_form_is_an_array_of_strings() {
        let diagnostics = Diagnostics::default();
        assert_eq!(diagnostics.drain_json(), b"[]");
        diagnostics.say("a", || "say \"hi\"\n".into());
        assert_eq!(diagnostics.drain_json(), br#"["say \"hi\"\n"]"#);
    }
}
