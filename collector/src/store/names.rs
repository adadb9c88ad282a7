//! Which names get counters of their own: a bounded number a day for each project, the rest is `(other)`.
//!
//! Without this a route that is a raw path, or an agent that invents names, would grow the tables of counters without end.
//! With several collectors on one database each keeps its own list, so the bound is per collector.

use std::collections::{HashMap, HashSet};

use crate::clock::DAY_MS;

pub const OTHER: &str = "(other)";
const MAX_ROUTES: usize = 300;
const MAX_CALLERS: usize = 100;

#[derive(Default)]
pub struct Names {
    day: i64,
    seen: HashMap<(i64, &'static str), HashSet<String>>,
}

impl Names {
    /// The name to count under. `group` is "route", "agent", "client" or "user_agent".
    pub fn counted(&mut self, project_id: i64, group: &'static str, name: &str, now_ms: i64) -> String {
        let today = now_ms / DAY_MS;
        if today != self.day {
            self.day = today;
            self.seen.clear();
        }
        let name = crate::text::clean(name, 200).unwrap_or_else(|| OTHER.to_owned());
        let seen = self.seen.entry((project_id, group)).or_default();
        let room = if group == "route" { MAX_ROUTES } else { MAX_CALLERS };
        if seen.contains(&name) {
            return name;
        }
        if seen.len() >= room {
            return OTHER.to_owned();
        }
        seen.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, OTHER};

    #[test]
    fn e14_a_flood_of_routes_ends_in_other() {
        let mut names = Names::default();
        let counted: Vec<String> = (0..1000).map(|n| names.counted(1, "route", &format!("GET /{n}"), 0)).collect();
        assert_eq!(counted.iter().filter(|name| *name == OTHER).count(), 700);
        assert_eq!(names.counted(1, "route", "GET /7", 0), "GET /7");
        assert_eq!(names.counted(2, "route", "GET /999", 0), "GET /999", "another project");
        assert_eq!(names.counted(1, "route", "GET /999", 86_400_000), "GET /999", "another day");
    }
}
