//! Agent context: who is calling and how it found the service, as the agent tells it with a paid request.
//!
//! It travels as the member `agent_context` of a JSON body, or as query parameters. It is cut out before the
//! merchant's handler sees the request, with every other byte kept, and reported with the call. Self-reported, never proof.
//!
//! Which requests are cut at all (mode off, a signed or encoded body, an unpaid upload) is the exchange's decision.

mod ask;
mod body;
mod query;

#[cfg(test)]
pub(crate) use ask::issues;
pub(crate) use ask::{EXTENSION_NAME, extension, invalid_answer, missing_answer};
pub(crate) use body::{BodyCut, cut_body};
#[cfg(test)]
pub(crate) use query::take_query;
pub(crate) use query::take_target;

use crate::text;

/// The name of the body member.
pub(crate) const MEMBER: &str = "agent_context";

/// The fields, in the order in which events carry them.
pub(crate) const FIELDS: [&str; 4] = ["agent_type", "agent_type_other", "client", "search_query"];

/// Longest value of each field, in UTF-16 units.
const LIMITS: [usize; 4] = [80, 80, 80, 200];

/// What an agent sent under one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Given {
    #[default]
    Nothing,
    Text(String),
    /// An array whose first element is this text.
    FirstOf(String),
    /// A number, an object, null: a field, but not a text.
    NotText,
}

impl Given {
    fn text(&self) -> Option<&str> {
        match self {
            Given::Text(text) | Given::FirstOf(text) => Some(text),
            Given::Nothing | Given::NotText => None,
        }
    }
}

/// The fields as they were sent, in the order of [`FIELDS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Raw(pub [Given; 4]);

impl Raw {
    /// Body and query together: where the body gives a text it counts, else the query's.
    pub fn over(self, query: Raw) -> Raw {
        let mut fields = self.0.into_iter().zip(query.0).map(|(body, query)| match (&body, &query) {
            (Given::Text(_) | Given::FirstOf(_), _) | (_, Given::Nothing) => body,
            _ => query,
        });
        Raw(std::array::from_fn(|_| fields.next().unwrap_or_default()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|given| *given == Given::Nothing)
    }
}

/// The fields as they are reported; `None` where nothing usable was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentContext {
    pub agent_type: Option<String>,
    pub agent_type_other: Option<String>,
    pub client: Option<String>,
    pub search_query: Option<String>,
}

impl AgentContext {
    /// The fields that are there, by name, in the order of [`FIELDS`].
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let values = [&self.agent_type, &self.agent_type_other, &self.client, &self.search_query];
        FIELDS.into_iter().zip(values).filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// Cleans what was sent and gives known names their one spelling. `search_query` is dropped where the option is off.
pub(crate) fn normalise(raw: &Raw, search_query: bool) -> AgentContext {
    let mut cleaned = raw.0.iter().zip(LIMITS).map(|(given, limit)| {
        let value = text::clean(given.text()?, limit).into_owned();
        (!value.is_empty()).then_some(value)
    });
    let mut next = || cleaned.next().flatten();
    AgentContext {
        agent_type: next().and_then(agent_type),
        agent_type_other: next(),
        client: next().map(client),
        search_query: next().and_then(search).filter(|_| search_query),
    }
}

fn agent_type(value: String) -> Option<String> {
    if value.eq_ignore_ascii_case(TYPE_PLACEHOLDER) {
        return None;
    }
    let key: String =
        value.to_lowercase().chars().filter(|one| one.is_ascii_digit() || one.is_ascii_lowercase()).collect();
    let known = AGENT_TYPES.iter().find(|(_, spellings)| spellings.contains(&key.as_str()));
    Some(known.map_or(value, |(name, _)| (*name).to_owned()))
}

fn client(value: String) -> String {
    let known = CLIENTS.iter().find(|known| known.eq_ignore_ascii_case(&value));
    known.map_or(value, |known| (*known).to_owned())
}

fn search(value: String) -> Option<String> {
    if value.eq_ignore_ascii_case(SEARCH_PLACEHOLDER) {
        None
    } else if value.eq_ignore_ascii_case(DIRECT) {
        Some(DIRECT.to_owned())
    } else {
        Some(value)
    }
}

/// Known agents and the spellings (letters and digits only, lower case) that mean them.
const AGENT_TYPES: [(&str, &[&str]); 9] = [
    ("Claude Code", &["claude", "claudecode", "claudecodecli", "anthropicclaudecode"]),
    ("Codex", &["codex", "codexcli", "openaicodex"]),
    ("Cursor", &["cursor", "cursoragent", "cursorai"]),
    ("Grok Bot", &["grok", "grokbot"]),
    ("Hermes", &["hermes", "hermesagent"]),
    ("Muse", &["muse"]),
    ("Instinct", &["instinct"]),
    ("OpenClaw", &["openclaw"]),
    ("Others", &["other", "others", "othersspecify", "unknown"]),
];

const CLIENTS: [&str; 5] = ["agentcash", "awal", "pay.sh", "other", "unknown"];
const DIRECT: &str = "direct";
/// Examples that agents copy without filling them in.
const TYPE_PLACEHOLDER: &str = "your agent name";
const SEARCH_PLACEHOLDER: &str = "your search query, or direct";

#[cfg(test)]
mod tests;
