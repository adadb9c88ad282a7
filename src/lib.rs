//! forge-x402: the feedback loop for paid HTTP APIs, as a library any server can embed.

mod agent_context;
#[doc(hidden)]
pub mod backend;
#[doc(hidden)]
pub mod bounded;
mod brief_lock;
pub mod client;
#[doc(hidden)]
pub mod diagnostic;
mod dialect;
mod engine;
mod exchange;
mod feedback;
mod guard;
mod http;
mod json;
#[doc(hidden)]
pub mod openapi;
mod options;
mod replay;
mod skip;
mod state;
#[doc(hidden)]
pub mod sys;
mod text;
mod verdict;

pub use dialect::open402;
pub use engine::{ChallengeForm, ConfigError, Engine};
pub use exchange::{Body, Exchange, Outcome, RequestHead, ResponseHead};
pub use feedback::{FeedbackId, Verification};
#[doc(hidden)]
pub use guard::{contained_here, drop_payload};
pub use http::head::HeaderLine;
pub use state::Stats;
pub use sys::clock::Now;
pub use verdict::{Action, Edit, EditOp, NewBody, Verdict};

/// The examples of the pages run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../docs/diagnostic.md")]
    mod diagnostic {}
    #[doc = include_str!("../docs/open402.md")]
    mod open402 {}
}
