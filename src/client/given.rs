//! The client's inputs as JSON, for languages that hand them over as text.
//!
//! Strict: a member nobody knows, or one of the wrong kind, is an error that names it. A misspelt `payments_sent` must not
//! count as none.

use std::fmt;

use serde_json::{Map, Value};

use super::{Amount, Budget, Call, CallState, Limits, ReceivedDiagnostic, decide, escalation_event};

/// Why a text is not the input it should be; says what came and what goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError(String);

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}

/// [`decide`] over texts: a diagnostic as [`ReceivedDiagnostic::to_json`] writes it (empty or `null`: there was none) and a
/// state. Returns what [`super::Decision::to_json`] writes.
///
/// # Errors
/// The diagnostic is no object with a `code`, or see [`CallState::from_json`].
pub fn decide_json(diagnostic: &[u8], state: &[u8]) -> Result<Vec<u8>, InputError> {
    let diagnostic = if is_nothing(diagnostic) { None } else { Some(read_diagnostic(diagnostic)?) };
    Ok(decide(diagnostic.as_ref(), &CallState::from_json(state)?).to_json())
}

/// [`escalation_event`] over texts. `call`: `{"endpoint", "now_ms", "amount"?, "currency"?, "balance"?, "request_id"?}`, amounts as
/// for [`Limits::from_json`].
///
/// # Errors
/// The diagnostic is no object with a `code`; a member of the call that is missing, unknown or of the wrong kind.
pub fn escalation_event_json(diagnostic: &[u8], call: &[u8]) -> Result<Vec<u8>, InputError> {
    let diagnostic = read_diagnostic(diagnostic)?;
    let mut given = Given::read("call", call)?;
    let (endpoint, now_ms) = (given.text("endpoint")?, given.whole("now_ms")?);
    let (amount, balance) = (given.amount("amount")?, given.amount("balance")?);
    let (currency, request_id) = (given.text("currency")?, given.text("request_id")?);
    given.end()?;
    let call = Call {
        endpoint: &endpoint.ok_or_else(|| InputError("call.endpoint: missing; give the URL asked for".to_owned()))?,
        amount,
        currency: currency.as_deref(),
        balance,
        request_id: request_id.as_deref(),
        now_ms: now_ms.ok_or_else(|| InputError("call.now_ms: missing; give unix milliseconds".to_owned()))?,
    };
    Ok(escalation_event(&diagnostic, &call))
}

impl CallState {
    /// `{"payments_sent", "last_payment_expired", "waits", "within_budget", "retry_after_s"}`, each optional. What is left out is
    /// 0, false or unknown; `within_budget` left out is false, so nothing is paid.
    ///
    /// # Errors
    /// Not a JSON object, a member nobody knows, or one of the wrong kind.
    pub fn from_json(json: &[u8]) -> Result<CallState, InputError> {
        let mut given = Given::read("state", json)?;
        let state = CallState {
            payments_sent: given.count("payments_sent")?,
            last_payment_expired: given.flag("last_payment_expired")?,
            waits: given.count("waits")?,
            within_budget: given.flag("within_budget")?,
            retry_after_s: given.whole("retry_after_s")?,
        };
        given.end()?;
        Ok(state)
    }
}

impl Budget {
    /// `{"per_call", "per_minute", "per_day"}`, each optional, see [`Limits::default`]; an amount is a text such as `"0.05"`, or a number, which
    /// counts as its shortest decimal spelling. Nothing, or `{}`: the defaults.
    ///
    /// # Errors
    /// Not a JSON object, a member nobody knows, an amount that is none, a `per_day` above 1,000.
    pub fn from_json(json: &[u8]) -> Result<Budget, InputError> {
        let mut limits = Limits::default();
        if !is_nothing(json) {
            let mut given = Given::read("limits", json)?;
            limits = Limits {
                per_call: given.amount("per_call")?.unwrap_or(limits.per_call),
                per_minute: given.amount("per_minute")?.unwrap_or(limits.per_minute),
                per_day: given.amount("per_day")?.unwrap_or(limits.per_day),
            };
            given.end()?;
        }
        Budget::new(limits).map_err(|error| InputError(format!("limits.{error}")))
    }
}

impl Amount {
    /// From a text as a challenge carries it: a plain decimal, or with `decimals` a number of the asset's smallest units.
    ///
    /// # Errors
    /// Says what the text is not.
    pub fn from_text(text: &[u8], decimals: Option<u8>) -> Result<Amount, InputError> {
        let fault = |error: &dyn fmt::Display| InputError(format!("amount: {error}"));
        let text = std::str::from_utf8(text).map_err(|_| fault(&"not a plain decimal, like 0.05"))?;
        match decimals {
            None => Amount::from_decimal(text),
            Some(decimals) => Amount::from_atomic(text, decimals),
        }
        .map_err(|error| fault(&error))
    }
}

fn is_nothing(json: &[u8]) -> bool {
    matches!(json.trim_ascii(), b"" | b"null")
}

fn read_diagnostic(json: &[u8]) -> Result<ReceivedDiagnostic, InputError> {
    ReceivedDiagnostic::from_json(json)
        .ok_or_else(|| InputError("diagnostic: no JSON object with a text `code`".to_owned()))
}

/// The members of one object, taken out one by one.
struct Given {
    what: &'static str,
    values: Map<String, Value>,
}

impl Given {
    fn read(what: &'static str, json: &[u8]) -> Result<Given, InputError> {
        match serde_json::from_slice(json) {
            Ok(Value::Object(values)) => Ok(Given { what, values }),
            Ok(_) => Err(InputError(format!("{what}: not a JSON object"))),
            Err(error) => Err(InputError(format!("{what}: not JSON ({error})"))),
        }
    }

    fn end(self) -> Result<(), InputError> {
        match self.values.keys().next() {
            None => Ok(()),
            Some(name) => Err(InputError(format!("{}: no member is called {name:?}", self.what))),
        }
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, InputError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "a text")),
        }
    }

    fn flag(&mut self, name: &str) -> Result<bool, InputError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    fn whole(&mut self, name: &str) -> Result<Option<u64>, InputError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_u64().or_else(|| {
            value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0).map(|number| number as u64)
        });
        number.map(Some).ok_or_else(|| self.wrong(name, "a whole number, 0 or more"))
    }

    /// A count beyond what fits means "very many".
    fn count(&mut self, name: &str) -> Result<u32, InputError> {
        Ok(self.whole(name)?.map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX)))
    }

    fn amount(&mut self, name: &str) -> Result<Option<Amount>, InputError> {
        let text = match self.take(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text,
            Some(Value::Number(number)) => {
                number.as_u64().map_or_else(|| number.as_f64().unwrap_or(-1.0).to_string(), |whole| whole.to_string())
            }
            Some(_) => return Err(self.wrong(name, "an amount, such as \"0.05\"")),
        };
        let amount = Amount::from_decimal(&text);
        amount.map(Some).map_err(|error| InputError(format!("{}.{name}: {error}", self.what)))
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name).filter(|value| !value.is_null())
    }

    fn wrong(&self, name: &str, expected: &str) -> InputError {
        InputError(format!("{}.{name}: not {expected}", self.what))
    }
}
