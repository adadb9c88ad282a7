//! Small JSON objects, written member by member in a fixed order, and times as texts.

use crate::json::escape;

/// A JSON object in the writing, members in the order they come.
#[derive(Default)]
pub struct Object(Vec<u8>);

impl Object {
    pub fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        escape::write_string(&mut self.0, value);
    }

    pub fn optional(&mut self, name: &str, value: &Option<String>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A number or a boolean.
    pub fn raw(&mut self, name: &str, value: impl std::fmt::Display) {
        self.name(name);
        self.0.extend_from_slice(value.to_string().as_bytes());
    }

    /// JSON made elsewhere.
    pub fn json(&mut self, name: &str, value: &[u8]) {
        self.name(name);
        self.0.extend_from_slice(value);
    }

    pub fn close(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }

    fn name(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        escape::write_string(&mut self.0, name);
        self.0.push(b':');
    }
}

/// Unix seconds as RFC 3339 in UTC.
pub fn rfc3339(unix_seconds: u64) -> String {
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Days since 1 March of year 0, counted in eras of 400 years (H. Hinnant, "days from civil").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}
