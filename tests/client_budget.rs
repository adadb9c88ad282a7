//! A budget is exact, and no span of a minute or a day holds more than its limit.

use forge_x402::client::{Amount, AmountError, Budget, BudgetError, Limits, OverBudget};

fn amount(text: &str) -> Amount {
    Amount::from_decimal(text).unwrap()
}

fn budget(per_call: &str, per_minute: &str, per_day: &str) -> Budget {
    let limits = Limits { per_call: amount(per_call), per_minute: amount(per_minute), per_day: amount(per_day) };
    Budget::new(limits).unwrap()
}

const START: u64 = 1_796_038_177_673;
const MINUTE: u64 = 60_000;
const DAY: u64 = 86_400_000;

#[test]
fn amounts_are_exact() {
    assert_eq!(amount("0.1").to_string(), "0.1");
    assert_eq!(amount("007.50").to_string(), "7.5");
    assert_eq!(amount("0.000000000000000001").to_string(), "0.000000000000000001");
    assert_eq!(Amount::from_atomic("1000", 6), Ok(amount("0.001")));
    assert_eq!(Amount::from_atomic("1", 18), Ok(amount("0.000000000000000001")));
    assert_eq!(Amount::from_atomic("5", 0), Ok(amount("5.00")));
    for text in ["", ".", "1.", ".1", "-1", "+1", "1e2", " 1", "1,5", "1_0", "\u{661}", "1.2.3", "NaN"] {
        assert_eq!(Amount::from_decimal(text), Err(AmountError::NotDecimal), "{text}");
    }
    assert_eq!(Amount::from_decimal("0.0000000000000000001"), Err(AmountError::TooFine));
    assert_eq!(Amount::from_decimal(&"9".repeat(40)), Err(AmountError::TooLarge));
    assert_eq!(Amount::from_atomic(&"9".repeat(39), 18), Err(AmountError::TooLarge));
    assert_eq!(Amount::from_atomic("1", 19), Err(AmountError::TooFine));
    assert_eq!(Amount::from_atomic("1.5", 6), Err(AmountError::NotDecimal));
}

#[test]
fn tenths_add_up_where_floating_point_does_not() {
    let mut budget = budget("1", "10", "0.3");
    for _ in 0..3 {
        assert_eq!(budget.spend(START, amount("0.1")), Ok(()));
    }
    assert_eq!(budget.spend(START, amount("0.000000000000000001")), Err(OverBudget::Day));
    assert_eq!(budget.left_today(START), Amount::ZERO);
}

#[test]
fn each_limit_is_named_and_nothing_is_booked_beyond_it() {
    let mut budget = budget("1", "2", "5");
    assert_eq!(budget.spend(START, amount("1.01")), Err(OverBudget::Call));
    assert_eq!(budget.spend(START, amount("1")), Ok(()));
    assert_eq!(budget.spend(START, amount("1")), Ok(()));
    assert_eq!(budget.spend(START, amount("0.01")), Err(OverBudget::Minute));
    assert_eq!(budget.left_today(START), amount("3"));
    for turn in 1..=3 {
        assert_eq!(budget.spend(START + turn * 2 * MINUTE, amount("1")), Ok(()));
    }
    assert_eq!(budget.spend(START + 10 * MINUTE, amount("0.01")), Err(OverBudget::Day));
}

#[test]
fn the_default_is_ten_a_day_and_the_ceiling_a_thousand() {
    assert_eq!(Limits::default().per_day, amount("10"));
    let limits = |per_day: &str| Limits { per_day: amount(per_day), ..Limits::default() };
    assert!(Budget::new(limits("1000")).is_ok());
    assert_eq!(Budget::new(limits("1000.01")).err(), Some(BudgetError::AboveCeiling(amount("1000.01"))));
    let message = BudgetError::AboveCeiling(amount("2000")).to_string();
    assert_eq!(message, "per_day: 2000 is above the ceiling; use 1000 or less");
}

#[test]
fn no_span_of_a_window_holds_more_than_the_limit() {
    // Spend whenever allowed at irregular moments, then look at every window that begins at a payment.
    let mut budget = budget("0.4", "1", "30");
    let mut spent: Vec<(u64, u64)> = Vec::new();
    let mut now = START;
    for turn in 0..20_000u64 {
        now += (turn * 7_919) % 23_456;
        let cents = 1 + (turn * 31) % 40;
        if budget.spend(now, Amount::from_atomic(&cents.to_string(), 2).unwrap()).is_ok() {
            spent.push((now, cents));
        }
    }
    assert!(now > START + 2 * DAY);
    for (span, limit) in [(MINUTE, 100), (DAY, 3_000)] {
        for (index, (from, _)) in spent.iter().enumerate() {
            let sum: u64 = spent[index..].iter().take_while(|(at, _)| at - from < span).map(|(_, cents)| cents).sum();
            assert!(sum <= limit, "{sum} within {span} ms");
        }
    }
}

#[test]
fn the_money_of_yesterday_is_free_again() {
    let mut budget = budget("10", "10", "10");
    assert_eq!(budget.spend(START, amount("10")), Ok(()));
    assert_eq!(budget.spend(START + DAY - 1, amount("1")), Err(OverBudget::Day));
    assert_eq!(budget.spend(START + DAY + 20 * MINUTE, amount("10")), Ok(()));
}

#[test]
fn a_clock_that_goes_back_frees_nothing() {
    let mut budget = budget("10", "10", "10");
    assert_eq!(budget.spend(START, amount("10")), Ok(()));
    for earlier in [START - 1, START - DAY, 0] {
        assert!(budget.spend(earlier, amount("0.01")).is_err());
    }
}
