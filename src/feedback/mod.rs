//! The ask itself: the id of a paid call, every text an agent reads, how much of it fits, and where it goes.

pub(crate) mod body;
pub(crate) mod challenge;
pub(crate) mod id;
pub(crate) mod ladder;
pub(crate) mod receipt;
pub(crate) mod wording;

pub use id::{FeedbackId, Verification};
pub(crate) use wording::Link;
