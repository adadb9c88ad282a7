//! How much an agent may spend: per call, per minute, per day. Exact: whole numbers only, no floating point.
//!
//! An amount is in the unit of account of the budget, which the caller chooses (US dollars for USDC); conversion between assets is not done
//! here. Windows slide in small steps and are rounded up, so that no span of a day or a minute ever holds more than its limit.

use std::collections::VecDeque;
use std::fmt;

/// An amount of money, exact to 18 decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u128);

/// Why a text is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AmountError {
    /// Not digits with at most one point: no sign, exponent, space or separator.
    NotDecimal,
    /// Finer than 18 decimals, so not exact here.
    TooFine,
    /// More than any budget holds.
    TooLarge,
}

impl fmt::Display for AmountError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            AmountError::NotDecimal => "not a plain decimal, like 0.05",
            AmountError::TooFine => "finer than 18 decimals",
            AmountError::TooLarge => "too large",
        })
    }
}

impl std::error::Error for AmountError {}

impl Amount {
    pub const ZERO: Amount = Amount(0);

    /// From a plain decimal such as `0.05` (open402, options).
    ///
    /// # Errors
    /// See [`AmountError`].
    pub fn from_decimal(text: &str) -> Result<Amount, AmountError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return Err(AmountError::NotDecimal);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > DECIMALS {
            return Err(AmountError::TooFine);
        }
        let fraction: u128 = format!("{fraction:0<DECIMALS$}").parse().map_err(|_| AmountError::NotDecimal)?;
        Amount::whole(whole)?.0.checked_add(fraction).map(Amount).ok_or(AmountError::TooLarge)
    }

    /// From atomic units as x402 carries them: `("1000", 6)` is 0.001.
    ///
    /// # Errors
    /// See [`AmountError`]; more than 18 `decimals` is [`AmountError::TooFine`].
    pub fn from_atomic(text: &str, decimals: u8) -> Result<Amount, AmountError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError::NotDecimal);
        }
        let step = DECIMALS.checked_sub(decimals.into()).ok_or(AmountError::TooFine)?;
        let units: u128 = text.parse().map_err(|_| AmountError::TooLarge)?;
        units.checked_mul(10u128.pow(step as u32)).map(Amount).ok_or(AmountError::TooLarge)
    }

    fn whole(digits: &str) -> Result<Amount, AmountError> {
        let units: u128 = digits.parse().map_err(|_| AmountError::TooLarge)?;
        units.checked_mul(ONE).map(Amount).ok_or(AmountError::TooLarge)
    }
}

/// A plain decimal without trailing zeros: a JSON number, too.
impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:0DECIMALS$}", self.0 % ONE);
        let fraction = fraction.trim_end_matches('0');
        write!(out, "{}", self.0 / ONE)?;
        if fraction.is_empty() { Ok(()) } else { write!(out, ".{fraction}") }
    }
}

/// The limits of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub per_call: Amount,
    pub per_minute: Amount,
    pub per_day: Amount,
}

impl Default for Limits {
    /// 1 a call, 2 a minute, 10 a day.
    fn default() -> Limits {
        Limits { per_call: Amount(ONE), per_minute: Amount(2 * ONE), per_day: Amount(10 * ONE) }
    }
}

/// Why a budget cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// `per_day` is above the hard ceiling of 1,000.
    AboveCeiling(Amount),
}

impl fmt::Display for BudgetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BudgetError::AboveCeiling(amount) = self;
        write!(out, "per_day: {amount} is above the ceiling; use 1000 or less")
    }
}

impl std::error::Error for BudgetError {}

/// Which limit a payment would break. Nothing was booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverBudget {
    Call,
    Minute,
    Day,
}

impl OverBudget {
    /// The name bindings use.
    pub fn as_str(self) -> &'static str {
        match self {
            OverBudget::Call => "call",
            OverBudget::Minute => "minute",
            OverBudget::Day => "day",
        }
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            OverBudget::Call => "over the limit per call",
            OverBudget::Minute => "over the limit per minute",
            OverBudget::Day => "over the limit per day",
        })
    }
}

impl std::error::Error for OverBudget {}

/// What was spent, and whether more may be. Not shared between threads: the caller's lock spans check and payment.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    minute: Window,
    day: Window,
}

impl Budget {
    /// # Errors
    /// [`BudgetError::AboveCeiling`]: no option of an agent's may go above 1,000 a day.
    pub fn new(limits: Limits) -> Result<Budget, BudgetError> {
        if limits.per_day > Amount(1_000 * ONE) {
            return Err(BudgetError::AboveCeiling(limits.per_day));
        }
        Ok(Budget { limits, minute: Window::new(1_000, 60), day: Window::new(600_000, 144) })
    }

    /// Whether a payment of `amount` would fit at `now_ms` (unix time, milliseconds).
    ///
    /// # Errors
    /// The first limit it would break: call, minute, day.
    pub fn check(&mut self, now_ms: u64, amount: Amount) -> Result<(), OverBudget> {
        if amount > self.limits.per_call {
            return Err(OverBudget::Call);
        }
        if !self.minute.fits(now_ms, amount, self.limits.per_minute) {
            return Err(OverBudget::Minute);
        }
        if !self.day.fits(now_ms, amount, self.limits.per_day) {
            return Err(OverBudget::Day);
        }
        Ok(())
    }

    /// Books a payment, before it is signed. A payment whose outcome is unknown stays booked: it may have settled.
    ///
    /// # Errors
    /// As [`Budget::check`]; nothing is booked then.
    pub fn spend(&mut self, now_ms: u64, amount: Amount) -> Result<(), OverBudget> {
        self.check(now_ms, amount)?;
        self.minute.add(amount);
        self.day.add(amount);
        Ok(())
    }

    /// What may still be spent today.
    pub fn left_today(&mut self, now_ms: u64) -> Amount {
        self.day.forward(now_ms);
        Amount(self.limits.per_day.0.saturating_sub(self.day.sum))
    }
}

/// A sliding sum in steps; a step leaves only when its last moment is a whole window old.
#[derive(Clone, Debug)]
struct Window {
    step_ms: u64,
    steps: u64,
    now_step: u64,
    spent: VecDeque<(u64, u128)>,
    sum: u128,
}

impl Window {
    fn new(step_ms: u64, steps: u64) -> Window {
        Window { step_ms, steps, now_step: 0, spent: VecDeque::new(), sum: 0 }
    }

    fn fits(&mut self, now_ms: u64, amount: Amount, limit: Amount) -> bool {
        self.forward(now_ms);
        self.sum.checked_add(amount.0).is_some_and(|sum| sum <= limit.0)
    }

    fn add(&mut self, amount: Amount) {
        match self.spent.back_mut() {
            Some((step, spent)) if *step == self.now_step => *spent += amount.0,
            _ => self.spent.push_back((self.now_step, amount.0)),
        }
        self.sum += amount.0;
    }

    /// A clock that goes back changes nothing: money that was spent stays spent.
    fn forward(&mut self, now_ms: u64) {
        self.now_step = self.now_step.max(now_ms / self.step_ms);
        while let Some(&(step, spent)) = self.spent.front() {
            if self.now_step - step <= self.steps {
                return;
            }
            self.sum -= spent;
            self.spent.pop_front();
        }
    }
}

const DECIMALS: usize = 18;
const ONE: u128 = 10u128.pow(DECIMALS as u32);
