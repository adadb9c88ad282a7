//! forge-collector: the backend that forge-x402 and the Forge SDKs report to, run by yourself.
//!
//! `http` answers, `writer` groups what was sent into transactions, `store` keeps it in SQLite or PostgreSQL, `dashboard`
//! shows it. Everything that comes from outside is cut and cleaned once, in `event` and `submission`, before it goes further.
//!
//! Not here on purpose: sending anything anywhere. The collector opens no connection but the one to its database.

pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod dashboard;
pub mod event;
pub mod feedback_id;
pub mod http;
pub mod key;
pub mod limits;
pub mod maintenance;
pub mod metrics;
pub mod origin;
pub mod standing;
pub mod store;
pub mod submission;
pub mod text;
pub mod writer;
