//! A merchant's OpenAPI document: adding what an agent needs to know about ratings, and learning from it
//! which responses may carry our fields.
//!
//! ```text
//! document ─▶ enrich ─┬▶ text      the same document with additions, to be served
//!                     ├▶ rules     which response of which route may take fields, for run time
//!                     └▶ warnings  what was left alone, and why
//! ```
//!
//! Nothing is re-serialised: every byte of the merchant's that is not part of an addition stays as it is.

mod allow;
mod cache;
mod document;
mod enrich;
mod operation;
mod plan;
mod request;
mod response;
mod routes;
mod schema;
mod servers;
mod texts;

pub use allow::Rules;
pub use cache::Cache;
pub use enrich::{Enriched, Skip, enrich};
pub use plan::{BodyLayout, Context, Feedback, Plan};

#[cfg(test)]
mod tests;
