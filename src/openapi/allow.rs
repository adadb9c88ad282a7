//! The rules learned from a document, for run time: which response of which route may take fields.
//!
//! Routes are kept by segments, so a look-up costs what the path is long, not what the document is large.
//! The most specific path wins: a literal segment before a partly literal one before a template.
//! What the document does not know is allowed.
//!
//! Not done on purpose: a template never spans a slash, as in OpenAPI itself.

use std::borrow::Cow;
use std::collections::HashMap;

use super::document::percent_decoded;

/// What a document says about its responses and query parameters. Empty rules allow everything.
#[derive(Debug, Default)]
pub struct Rules {
    nodes: Vec<Node>,
}

/// What is known of one method of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteRule {
    pub exact: Vec<(u16, bool)>,
    /// `2XX`.
    pub range: Option<bool>,
    pub default: Option<bool>,
    /// The merchant's own query parameters whose names begin with `agent_`.
    pub agent_parameters: Vec<String>,
    /// The path, set when the rule is learned.
    pub template: String,
}

#[derive(Debug, Default)]
struct Node {
    literal: HashMap<Box<[u8]>, usize>,
    partial: Vec<(Partial, usize)>,
    template: Option<usize>,
    methods: Vec<(Box<str>, RouteRule)>,
}

/// A segment such as `report-{year}.json`: literal text before, between and after its templates.
#[derive(Debug, PartialEq, Eq)]
struct Partial(Vec<Box<[u8]>>);

impl Rules {
    /// Whether a JSON body of this response may carry our fields. `path` may have a query; `status` is the
    /// final one. An unknown route, method or status is allowed. HEAD follows GET unless it is described itself.
    pub fn allows_body(&self, method: &str, path: &str, status: u16) -> bool {
        self.find(method, path).is_none_or(|rule| rule.allows(status))
    }

    /// Whether the merchant's own operation has a query parameter of this name (one that begins with `agent_`).
    pub fn declares_query(&self, method: &str, path: &str, name: &str) -> bool {
        self.find(method, path).is_some_and(|rule| rule.agent_parameters.iter().any(|known| known == name))
    }

    /// The path of the document that this request is one of, with the server's prefix if the request has it:
    /// `/v1/weather/{city}`.
    pub fn template(&self, method: &str, path: &str) -> Option<&str> {
        self.find(method, path).map(|rule| rule.template.as_str())
    }

    /// Learns a route. Two that cannot be told apart both have to agree.
    pub(crate) fn add(&mut self, method: &str, path: &str, rule: &RouteRule) {
        if segments(path).count() > MAX_SEGMENTS {
            return;
        }
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0;
        for segment in segments(path) {
            at = self.child(at, segment);
        }
        let Some(node) = self.nodes.get_mut(at) else { return };
        match node.methods.iter_mut().find(|(known, _)| **known == *method) {
            Some((_, known)) => known.narrow(rule),
            None => node.methods.push((method.into(), RouteRule { template: path.to_owned(), ..rule.clone() })),
        }
    }

    fn find(&self, method: &str, path: &str) -> Option<&RouteRule> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let rest = (!path.is_empty()).then_some(path);
        let found = self.search(0, rest, method);
        if found.is_none() && method == "HEAD" { self.search(0, rest, "GET") } else { found }
    }

    /// Each node is reached by one way only, so a look-up never visits more nodes than there are.
    fn search(&self, at: usize, rest: Option<&str>, method: &str) -> Option<&RouteRule> {
        let node = self.nodes.get(at)?;
        #[cfg(test)]
        tests::VISITED.set(tests::VISITED.get() + 1);
        let Some(rest) = rest else {
            return node.methods.iter().find(|(known, _)| **known == *method).map(|(_, rule)| rule);
        };
        let (segment, rest) = match rest.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (rest, None),
        };
        let segment = percent_decoded(segment.as_bytes());
        let literal = node.literal.get(&*segment).copied();
        let partial = node.partial.iter().filter(|(partial, _)| partial.matches(&segment)).map(|&(_, child)| child);
        let template = node.template.filter(|_| !segment.is_empty());
        literal.into_iter().chain(partial).chain(template).find_map(|child| self.search(child, rest, method))
    }

    fn child(&mut self, parent: usize, segment: &str) -> usize {
        let fresh = self.nodes.len();
        let Some(node) = self.nodes.get_mut(parent) else { return 0 };
        let child = match Segment::read(segment) {
            Segment::Literal(text) => *node.literal.entry(text.into()).or_insert(fresh),
            Segment::Template => *node.template.get_or_insert(fresh),
            Segment::Partial(partial) => match node.partial.iter().find(|(known, _)| *known == partial) {
                Some(&(_, child)) => child,
                None => {
                    // The longest literal text first, the older of two equals before the newer.
                    let length = partial.literal_len();
                    let at = node.partial.partition_point(|(known, _)| known.literal_len() >= length);
                    node.partial.insert(at, (partial, fresh));
                    fresh
                }
            },
        };
        if child == fresh {
            self.nodes.push(Node::default());
        }
        child
    }
}

impl RouteRule {
    pub fn allows(&self, status: u16) -> bool {
        if let Some(&(_, allowed)) = self.exact.iter().find(|&&(known, _)| known == status) {
            return allowed;
        }
        let range = self.range.filter(|_| (200..300).contains(&status));
        range.or(self.default).unwrap_or(true)
    }

    fn narrow(&mut self, other: &RouteRule) {
        for &(status, allowed) in &other.exact {
            let allowed = allowed && self.allows(status);
            self.exact.retain(|&(known, _)| known != status);
            self.exact.push((status, allowed));
        }
        for (mine, theirs) in [(&mut self.range, other.range), (&mut self.default, other.default)] {
            *mine = match (*mine, theirs) {
                (Some(mine), Some(theirs)) => Some(mine && theirs),
                (known, None) | (None, known) => known,
            };
        }
        self.agent_parameters.extend(other.agent_parameters.iter().cloned());
    }
}

enum Segment<'p> {
    Literal(Cow<'p, [u8]>),
    Partial(Partial),
    Template,
}

impl<'p> Segment<'p> {
    fn read(segment: &'p str) -> Self {
        let mut parts: Vec<Box<[u8]>> = Vec::new();
        let mut rest = segment;
        while let Some((before, inside)) = rest.split_once('{') {
            let Some((_, after)) = inside.split_once('}') else { break };
            parts.push(percent_decoded(before.as_bytes()).as_ref().into());
            rest = after;
        }
        if parts.is_empty() {
            return Segment::Literal(percent_decoded(segment.as_bytes()));
        }
        parts.push(percent_decoded(rest.as_bytes()).as_ref().into());
        if parts.iter().all(|part| part.is_empty()) { Segment::Template } else { Segment::Partial(Partial(parts)) }
    }
}

impl Partial {
    /// Every template stands for at least one byte.
    fn matches(&self, segment: &[u8]) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else { return false };
        let Some(rest) = segment.strip_prefix(&**first) else { return false };
        let Some(mut rest) = rest.strip_suffix(&**last) else { return false };
        for part in middle {
            let Some(after) = rest.get(1..).and_then(|rest| after(rest, part)) else { return false };
            rest = after;
        }
        !rest.is_empty()
    }

    fn literal_len(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }
}

/// What follows the first `part` in `text`.
fn after<'t>(text: &'t [u8], part: &[u8]) -> Option<&'t [u8]> {
    if part.is_empty() {
        return Some(text);
    }
    let at = text.windows(part.len()).position(|window| window == part)?;
    text.get(at + part.len()..)
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').filter(move |_| !path.is_empty())
}

/// A path of more segments is not learned; a look-up is as deep as the deepest path.
const MAX_SEGMENTS: usize = 64;

#[cfg(test)]
#[path = "allow_tests.rs"]
mod tests;
