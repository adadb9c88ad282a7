//! The tables of docs/diagnostic.md say what the code does.

use forge_x402::diagnostic::code::Escalate;
use forge_x402::diagnostic::{Code, Reason, RetryPolicy};

const PAGE: &str = include_str!("../docs/diagnostic.md");

#[test]
fn every_reason_has_its_row() {
    for reason in Reason::ALL {
        let facts = reason.facts();
        let escalate = match facts.escalate {
            Escalate::Never => "–".to_owned(),
            Escalate::Always => "at once".to_owned(),
            Escalate::From(2) => "2nd in a row".to_owned(),
            Escalate::From(3) => "3rd in a row".to_owned(),
            Escalate::From(limit) => format!("{limit}th in a row"),
        };
        let counts = if reason.counts() { "yes" } else { "no" };
        let row = format!(
            "| `{}` | {} | {} | {escalate} | {counts} |",
            facts.name,
            facts.code.as_str(),
            facts.retry_policy.as_str()
        );
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn every_code_and_policy_is_explained() {
    let names = Code::ALL.map(Code::as_str).into_iter().chain(RetryPolicy::ALL.map(RetryPolicy::as_str));
    for name in names {
        assert!(PAGE.contains(&format!("| `{name}` | ")), "{name}");
    }
}
