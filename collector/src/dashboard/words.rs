//! Names, colours, numbers and widths as the pages show them.

pub fn outcome_label(name: &str) -> &'static str {
    match name {
        "fully" => "Fully",
        "partially" => "Partially",
        "no" => "No",
        _ => "Not evaluated",
    }
}

/// The class that gives a dot or a slice its colour.
pub fn outcome_class(name: &str) -> &'static str {
    match name {
        "fully" => "fully",
        "partially" => "partially",
        "no" => "no",
        _ => "other",
    }
}

pub fn outcome_color(name: &str) -> &'static str {
    match name {
        "fully" => "--c-fully",
        "partially" => "--c-partially",
        "no" => "--c-no",
        _ => "--c-other",
    }
}

pub fn issue_label(name: &str) -> &'static str {
    match name {
        "wrong_output" => "Wrong output",
        "unmet_expectation" => "Unmet expectation",
        "schema_mismatch" => "Schema mismatch",
        "slow" => "Slow",
        "unclear_docs" => "Unclear docs",
        _ => "Too expensive",
    }
}

/// What an escalation's code says of the client, after the table in docs/diagnostic.md. Each was told to stop and get a person.
pub fn code_meaning(code: &str) -> &'static str {
    match code {
        "INVOICE_EXPIRED" => {
            "Its payments come too late or too early to settle. It was told to stop and ask its operator."
        }
        "PAYMENT_UNVERIFIED" => "Its payments are not accepted. It was told to stop and ask its operator.",
        "PAYMENT_ATTEMPTS_EXCEEDED" => {
            "It asks again and again without a valid payment. It was told to stop and ask its operator."
        }
        "WALLET_INSUFFICIENT_FUNDS" => "Its wallet holds too little. It was told to stop and tell its operator.",
        "OPERATOR_ALERT" => "Its payment was refused for good. It was told to stay away until a person has looked.",
        _ => "",
    }
}

pub const ISSUE_COLORS: [&str; 6] =
    ["--c-no", "--c-partially", "--c-challenge", "--c-paid", "--c-settled", "--c-other"];

pub fn bar(count: i64, widest: i64) -> i64 {
    // Something that is there is seen, however small.
    if count == 0 { 0 } else { (count * 100 / widest).clamp(1, 100) }
}

/// 1234567 as 1,234,567.
pub fn number(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        out.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_their_thousands_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000")] {
            assert_eq!(super::number(value), text);
        }
    }
}
