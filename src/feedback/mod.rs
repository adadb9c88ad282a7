//! The ask itself: the id of a paid call, every text an agent reads, how much of it fits, and where it goes.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod challenge;
pub(crate) mod challenge_memo;
pub(crate) mod id;
pub(crate) mod ladder;
pub(crate) mod limits;
pub(crate) mod payment_facts;
pub(crate) mod receipt;
pub(crate) mod relay;
pub(crate) mod route_texts;
pub(crate) mod routes;
pub(crate) mod submission;
pub(crate) mod summary;
mod template;
pub(crate) mod wellknown;
pub(crate) mod wording;

pub use id::{FeedbackId, Verification};
pub(crate) use wording::Link;
