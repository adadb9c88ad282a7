//! Takes typed values out of a JSON object and collects what was wrong with them.

use serde_json::{Map, Value};

pub(super) struct Reader {
    values: Map<String, Value>,
    asked: Vec<&'static str>,
    faults: Vec<String>,
}

impl Reader {
    pub fn new(json: &[u8]) -> Self {
        let (values, faults) = match serde_json::from_slice(json) {
            Ok(Value::Object(values)) => (values, Vec::new()),
            Ok(other) => {
                (Map::new(), vec![format!("options: {} is not an object; give one JSON object", short(&other))])
            }
            Err(error) => (Map::new(), vec![format!("options: not JSON ({error}); give one JSON object")]),
        };
        Reader { values, asked: Vec::new(), faults }
    }

    pub fn fault(&mut self, message: String) {
        self.faults.push(message);
    }

    /// All faults; a member that nobody asked for is one.
    pub fn finish(mut self) -> Vec<String> {
        self.refuse_unknown();
        self.faults
    }

    pub fn text(&mut self, name: &'static str) -> Option<String> {
        match self.take(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(other) => self.wrong(name, &other, "a string"),
        }
    }

    pub fn texts(&mut self, name: &'static str, default: &[&str]) -> Vec<String> {
        let made = match self.take(name) {
            None | Some(Value::Null) => None,
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
                Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
            }
            Some(other) => self.wrong(name, &other, "a list of strings"),
        };
        made.unwrap_or_else(|| default.iter().map(|&text| text.to_owned()).collect())
    }

    pub fn flag(&mut self, name: &'static str, default: bool) -> bool {
        match self.take(name) {
            None | Some(Value::Null) => default,
            Some(Value::Bool(flag)) => flag,
            Some(other) => self.wrong(name, &other, "true or false").unwrap_or(default),
        }
    }

    pub fn number(&mut self, name: &'static str, default: u64, least: u64, most: u64) -> u64 {
        let value = match self.take(name) {
            None | Some(Value::Null) => return default,
            Some(value) => value,
        };
        // A whole number spelled 5.0 or 5e2 is a whole number: some languages have no other kind.
        let whole = value.as_u64().or_else(|| {
            value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0).map(|number| number as u64)
        });
        match whole {
            Some(number) if (least..=most).contains(&number) => number,
            Some(number) => {
                let size = if number < least { "too small" } else { "too large" };
                self.fault(format!("{name}: {number} is {size}; use {least} to {most} or leave it out ({default})"));
                default
            }
            None => self.wrong(name, &value, &format!("a whole number from {least} to {most}")).unwrap_or(default),
        }
    }

    /// One of a few words; the first is the default.
    pub fn choice<T: Copy + Default>(&mut self, name: &'static str, choices: &[(&'static str, T)]) -> T {
        let word = match self.take(name) {
            None | Some(Value::Null) => return T::default(),
            Some(word) => word,
        };
        match choices.iter().find(|(choice, _)| word.as_str() == Some(choice)) {
            Some((_, value)) => *value,
            None => {
                let words: Vec<String> = choices.iter().map(|(choice, _)| format!("{choice:?}")).collect();
                self.wrong(name, &word, &words.join(" or ")).unwrap_or_default()
            }
        }
    }

    /// A nested object; `None` where the option is absent or a boolean.
    pub fn group(&mut self, name: &'static str, goes: &str) -> Option<Reader> {
        self.asked.push(name);
        match self.values.get(name) {
            None | Some(Value::Null | Value::Bool(_)) => None,
            Some(Value::Object(values)) => {
                Some(Reader { values: values.clone(), asked: Vec::new(), faults: Vec::new() })
            }
            Some(other) => {
                let other = other.clone();
                self.wrong(name, &other, goes)
            }
        }
    }

    /// Takes over the faults of a nested object.
    pub fn absorb(&mut self, name: &str, inner: Reader) {
        self.faults.extend(inner.finish().into_iter().map(|fault| format!("{name}.{fault}")));
    }

    pub fn is_true(&self, name: &str) -> bool {
        self.values.get(name) == Some(&Value::Bool(true))
    }

    pub fn is_false(&self, name: &str) -> bool {
        self.values.get(name) == Some(&Value::Bool(false))
    }

    /// The names asked for so far, in order.
    #[cfg(test)]
    pub fn asked(&self) -> &[&'static str] {
        &self.asked
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.asked.push(name);
        self.values.get(name).cloned()
    }

    fn wrong<T>(&mut self, name: &str, got: &Value, goes: &str) -> Option<T> {
        // A key never appears in a message, not even a mistyped one.
        let got = if name.contains("key") { "that value".into() } else { short(got) };
        self.faults.push(format!("{name}: {got} does not go; use {goes} or leave it out"));
        None
    }

    fn refuse_unknown(&mut self) {
        for name in self.values.keys() {
            if self.asked.contains(&name.as_str()) {
                continue;
            }
            let snake = snake_case(name);
            let near = self.asked.iter().copied().find(|known| *known == snake);
            let near = near.or_else(|| {
                self.asked
                    .iter()
                    .copied()
                    .map(|known| (strsim::damerau_levenshtein(known, &snake), known))
                    .min()
                    .filter(|(distance, _)| *distance <= 3)
                    .map(|(_, known)| known)
            });
            self.faults.push(match near {
                Some(known) => format!("{}: unknown option; did you mean {known}?", clip(name)),
                None => format!("{}: unknown option; see the table of options", clip(name)),
            });
        }
    }
}

fn snake_case(name: &str) -> String {
    name.chars()
        .flat_map(|letter| letter.is_ascii_uppercase().then_some('_').into_iter().chain([letter.to_ascii_lowercase()]))
        .collect()
}

fn short(value: &Value) -> String {
    clip(&value.to_string())
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
