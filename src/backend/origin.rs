//! The origin the merchant registered with the backend, as GET /project tells it.
//!
//! It ends up in links that strangers follow, so only one thing is taken: an https origin, spelled as one.

use super::Shared;
use super::backoff::{Backoff, between_0_and};
use super::transport::{Answer, Transport};
use super::worker::{KEY_REFUSED_MS, SPREAD_MS};
use crate::http::origin;
use crate::sys::clock::monotonic_ms;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The worker's side: when GET /project is asked next. Nothing before the first request has asked for the origin.
#[derive(Default)]
pub(super) struct LookUp {
    wanted: bool,
    at_ms: u64,
    backoff: Backoff,
}

impl LookUp {
    pub fn due_at(&self) -> Option<u64> {
        self.wanted.then_some(self.at_ms)
    }

    pub fn stop(&mut self) {
        self.wanted = false;
    }

    /// Asks if it is time. Blocks for the limit of the call. An origin that is known stays until the backend says
    /// otherwise.
    pub fn step(&mut self, asked: bool, shared: &Shared, transport: &Transport) {
        self.wanted |= asked;
        if !self.wanted || monotonic_ms() < self.at_ms {
            return;
        }
        let answer = project(&transport.project());
        match &answer {
            Project::Registered(origin) => shared.origin.set(Some(origin.clone())),
            Project::NotRegistered | Project::NotAnOrigin => shared.origin.set(None),
            Project::Refused(_) | Project::Unknown { .. } => {}
        }
        match &answer {
            Project::NotAnOrigin => shared
                .diagnostics
                .say("project", || "the registered publicOrigin is not an https origin and is not used".into()),
            Project::Refused(status) => shared
                .diagnostics
                .say("project", || format!("the backend does not tell the registered origin ({status})")),
            _ => false,
        };
        self.at_ms = monotonic_ms() + self.wait_after(&answer);
    }

    fn wait_after(&mut self, answer: &Project) -> u64 {
        if let Project::Unknown { retry_after_ms } = answer {
            let delay = self.backoff.next_delay_ms();
            let ordered = retry_after_ms.filter(|ordered| *ordered >= SPREAD_MS);
            return ordered.map_or(delay, |ordered| ordered + between_0_and(SPREAD_MS));
        }
        self.backoff.reset();
        match answer {
            Project::Registered(_) => REFRESH_MS,
            Project::Refused(401 | 403) => KEY_REFUSED_MS,
            _ => ASK_AGAIN_MS,
        }
    }
}

/// The answer of GET /project.
#[derive(Debug, PartialEq, Eq)]
pub enum Project {
    Registered(Arc<str>),
    NotRegistered,
    NotAnOrigin,
    /// The backend answered, but not with a project.
    Refused(u16),
    /// No answer, or one that may be another soon.
    Unknown {
        retry_after_ms: Option<u64>,
    },
}

/// Reads the answer of GET /project.
pub fn project(answer: &Answer) -> Project {
    let (status, retry_after_ms, body) = match answer {
        Answer::Http { status, retry_after_ms, body } => (*status, *retry_after_ms, body),
        Answer::None(_) => {
            return Project::Unknown { retry_after_ms: None };
        }
    };
    match status {
        200..=299 => {}
        400..=499 if !matches!(status, 408 | 425 | 429) => return Project::Refused(status),
        _ => return Project::Unknown { retry_after_ms },
    }
    let Ok(serde_json::Value::Object(project)) = serde_json::from_slice(body) else {
        return Project::NotAnOrigin;
    };
    match project.get("publicOrigin") {
        None | Some(serde_json::Value::Null) => Project::NotRegistered,
        Some(serde_json::Value::String(origin)) => match https_origin(origin) {
            Some(origin) => Project::Registered(origin.into()),
            None => Project::NotAnOrigin,
        },
        Some(_) => Project::NotAnOrigin,
    }
}

fn https_origin(text: &str) -> Option<&str> {
    origin::exact(text).filter(|origin| origin.starts_with("https://"))
}

/// The registered origin, read without a lock by every request.
#[derive(Default)]
pub struct RegisteredOrigin {
    current: AtomicPtr<Arc<str>>,
    /// Everything `current` has ever pointed to: a reader may still be looking. Grows only when the merchant registers
    /// another origin.
    #[expect(clippy::vec_box, reason = "`current` points to the boxes, so they must not move when the list grows")]
    all: Mutex<Vec<Box<Arc<str>>>>,
}

impl RegisteredOrigin {
    /// The origin, if one is known. Never blocks.
    pub fn get(&self) -> Option<Arc<str>> {
        // SAFETY: `current` is null or points into a box that `all` keeps until `self` is dropped.
        unsafe { self.current.load(Ordering::Acquire).as_ref() }.cloned()
    }

    pub(super) fn set(&self, origin: Option<Arc<str>>) {
        if self.get() == origin {
            return;
        }
        let Some(origin) = origin else {
            self.current.store(ptr::null_mut(), Ordering::Release);
            return;
        };
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match all.iter().position(|known| **known == origin) {
            Some(at) => at,
            None => {
                all.push(Box::new(origin));
                all.len() - 1
            }
        };
        let at: *const Arc<str> = &raw const *all[known];
        self.current.store(at.cast_mut(), Ordering::Release);
    }
}

const REFRESH_MS: u64 = 6 * 3_600_000;
const ASK_AGAIN_MS: u64 = 600_000;

#[cfg(test)]
mod tests;
