//! What C sees, in the order of the header. Functions are append-only within their section.

pub mod about;
pub mod client;
pub mod engine;
pub mod exchange;
pub mod handles;
pub mod ids;
pub mod messages;
pub mod outcome;
pub mod stand_alone;
pub mod stats;
pub mod status;
pub mod values;
pub mod verdict;
