//! The agent's half: reads challenges and diagnostics, says whether to go on, keeps to a budget.
//!
//! Pure functions and one small account; no network, no clock, no wallet. Whatever a server says here, it can only make
//! the client stop or wait: whether another payment may be signed is decided from what the client knows itself.

mod budget;
mod challenge;
mod decide;
mod escalation;
mod given;
mod json;
mod received;

pub use crate::diagnostic::{Code, RetryPolicy};
pub use budget::{Amount, AmountError, Budget, BudgetError, Limits, OverBudget};
pub use challenge::{ChallengeError, Offer, PaymentChallenge, Protocol, Unit, parse_challenge};
pub use decide::{Action, CallState, Decision, Send, decide};
pub use escalation::{Call, escalation_event};
pub use given::{InputError, decide_json, escalation_event_json};
pub use received::{ReceivedDiagnostic, parse_diagnostic};
