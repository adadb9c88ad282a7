//! One operation of a document: is it paid, what is added to it, and what is learned from it.

use std::fmt::Display;

use super::allow::RouteRule;
use super::document::{Document, Version};
use super::plan::Plan;
use super::response::Answer;
use super::schema::Examiner;
use super::texts;
use crate::feedback::wording::{Link, NESTED_NAME};
use crate::json::{At, Found, Kind, Splice, escape};

/// What all operations of one document share.
pub(crate) struct Work<'d, 't, 'p> {
    pub document: &'d Document<'t>,
    pub plan: &'p Plan,
    /// Room for our fields in responses, and for `agent_context` in requests.
    pub responses: Examiner<'d, 't>,
    pub requests: Examiner<'d, 't>,
    pub additions: Additions,
    pub warnings: Vec<String>,
}

/// What is added again and again, written once.
pub(crate) struct Additions {
    /// The fields as members of `properties`; empty if bodies take none.
    pub field_properties: String,
    pub id_header: String,
    pub context_property: String,
    /// Name and parameter object.
    pub context_parameters: Vec<(&'static str, String)>,
    /// The sentence as it stands inside a JSON string, and the link it gives.
    sentence: Option<(String, Link)>,
}

impl Additions {
    fn new(plan: &Plan, version: Version) -> Self {
        let feedback = plan.feedback.as_ref();
        let context = plan.context.as_ref();
        let fields = feedback.filter(|feedback| !feedback.fields().is_empty());
        let inside = |text: &str| {
            let quoted = texts::quoted(text);
            quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
        };
        Additions {
            field_properties: fields.map(texts::body_properties).unwrap_or_default(),
            id_header: texts::id_header(version),
            context_property: context.map(texts::context_property).unwrap_or_default(),
            context_parameters: context.map(|context| texts::context_parameters(context, version)).unwrap_or_default(),
            sentence: feedback.map(|feedback| (inside(&feedback.sentence), feedback.link())),
        }
    }
}

pub(crate) struct Operation<'l> {
    /// `GET /weather`.
    pub label: &'l str,
    pub item: At,
    pub object: At,
    /// Swagger 2.0: whether the request and response media types include JSON.
    pub consumes_json: bool,
    pub produces_json: bool,
    /// Whether additions are made; otherwise the operation is only learned from.
    pub editable: bool,
}

impl<'d, 't, 'p> Work<'d, 't, 'p> {
    pub fn new(document: &'d Document<'t>, plan: &'p Plan, already_ours: bool) -> Self {
        let fields = plan.feedback.as_ref().map(|feedback| feedback.fields()).unwrap_or_default();
        let value_type = if fields == [NESTED_NAME] { "object" } else { "string" };
        Work {
            document,
            plan,
            responses: Examiner::new(document, fields, value_type, already_ours),
            requests: Examiner::new(document, &["agent_context"], "object", already_ours),
            additions: Additions::new(plan, document.version),
            warnings: Vec::new(),
        }
    }

    pub fn operation(&mut self, splice: &mut Splice<'t>, operation: &Operation<'_>) -> RouteRule {
        let outline = &self.document.outline;
        let mut rule = RouteRule { agent_parameters: self.agent_parameters(operation), ..RouteRule::default() };
        let responses = match outline.get(operation.object, "responses") {
            Found::One(responses) => responses,
            Found::Absent => operation.object,
            Found::Repeated => {
                self.warn(operation.label, "responses stands there more than once");
                rule.range = Some(false);
                return rule;
            }
        };
        let has_responses = responses != operation.object;
        let payment = outline.one_of_kind(operation.object, "x-payment-info", Kind::Object);
        let asks_payment = has_responses && outline.get(responses, "402") != Found::Absent;
        let paid = asks_payment || payment.is_some() || self.plan.also_paid.iter().any(|paid| paid == operation.label);
        let edits = paid && operation.editable;

        if edits {
            let mut appended = Vec::new();
            self.description(splice, operation.object, &mut appended);
            self.request(splice, operation, &mut appended);
            if !appended.is_empty() {
                self.document.append(splice, operation.object, &appended.join(","));
            }
        }
        let payment_admits = payment.is_none_or(|payment| self.output_schema(splice, operation.label, payment, edits));
        if has_responses {
            self.answers(splice, operation, responses, edits, payment_admits, &mut rule);
        }
        rule
    }

    pub fn warn(&mut self, label: &str, reason: impl Display) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(format!("{label}: {reason}; left as it is"));
        } else if self.warnings.len() == MAX_WARNINGS {
            self.warnings.push("more was left as it is".to_owned());
        }
    }

    fn answers(
        &mut self,
        splice: &mut Splice<'t>,
        operation: &Operation<'_>,
        responses: At,
        edits: bool,
        payment_admits: bool,
        rule: &mut RouteRule,
    ) {
        let outline = &self.document.outline;
        for (key, site) in outline.members(responses) {
            let name = outline.string(key).unwrap_or_default();
            let Some(status) = Status::read(&name) else { continue };
            let label = format!("{} {}", operation.label, String::from_utf8_lossy(&name));
            let allowed = self.response(
                splice,
                &Answer {
                    label: &label,
                    site,
                    produces_json: operation.produces_json,
                    editable: !matches!(status, Status::Exact(204..=206)),
                    paid: edits && self.plan.feedback.is_some() && status != Status::Default,
                },
            ) && payment_admits;
            match status {
                Status::Exact(code) => match rule.exact.iter_mut().find(|(known, _)| *known == code) {
                    Some((_, known)) => *known &= allowed,
                    None => rule.exact.push((code, allowed)),
                },
                Status::Range => rule.range = Some(allowed && rule.range.unwrap_or(true)),
                Status::Default => rule.default = Some(allowed && rule.default.unwrap_or(true)),
            }
        }
    }

    /// Puts the sentence behind the description, or behind the summary where there is no description.
    fn description(&self, splice: &mut Splice<'t>, operation: At, appended: &mut Vec<String>) {
        let Some((sentence, _)) = &self.additions.sentence else { return };
        if let Some(description) = self.sentence_after(splice, operation, "description") {
            let summary = self.document.outline.one(operation, "summary");
            let summary = summary.and_then(|summary| self.document.outline.raw_string(summary)).unwrap_or_default();
            let summary = String::from_utf8_lossy(summary);
            let gap = match summary.chars().last() {
                None => "",
                Some(last) if last.is_alphanumeric() => ". ",
                Some(_) => " ",
            };
            appended.push(format!("\"{description}\":\"{summary}{gap}{sentence}\""));
        }
    }

    /// Puts the sentence behind a text member; gives the name back if there is no such member.
    pub fn sentence_after(&self, splice: &mut Splice<'t>, object: At, name: &'static str) -> Option<&'static str> {
        let (sentence, link) = self.additions.sentence.as_ref()?;
        let outline = &self.document.outline;
        let text = match outline.get(object, name) {
            Found::Absent => return Some(name),
            Found::One(text) => text,
            Found::Repeated => return None,
        };
        let raw = outline.raw_string(text)?;
        if link.is_mentioned_in(&escape::unescape(raw)) {
            return None;
        }
        let gap = if raw.is_empty() || escape::ends_in_white_space(raw) { "" } else { " " };
        splice.insert(outline.range(text).end - 1, [gap, sentence].concat().into_bytes());
        None
    }

    /// `x-payment-info.outputSchema` describes the paid body too, so it takes the fields or forbids them.
    fn output_schema(&mut self, splice: &mut Splice<'t>, label: &str, payment: At, edits: bool) -> bool {
        let outline = &self.document.outline;
        let Some(schema) = outline.one_of_kind(payment, "outputSchema", Kind::Object) else { return true };
        let is_schema = |at: At| {
            ["$ref", "type", "properties", "allOf", "oneOf", "anyOf", "enum", "const"]
                .iter()
                .any(|name| outline.get(at, name) != Found::Absent)
        };
        if !is_schema(schema) {
            return true;
        }
        let fit = match self.responses.examine(schema) {
            Ok(fit) => fit,
            Err(refusal) => {
                self.warn(&format!("{label} x-payment-info.outputSchema"), refusal);
                return false;
            }
        };
        if !edits || self.additions.field_properties.is_empty() || self.document.reserve(&fit.place).is_err() {
            return !fit.closed;
        }
        self.describe_at(splice, schema, &fit, &self.additions.field_properties, None);
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Exact(u16),
    Range,
    Default,
}

impl Status {
    /// The statuses that say something about a successful response; nothing for `404`, `5XX` or `x-…`.
    fn read(key: &[u8]) -> Option<Self> {
        if key.eq_ignore_ascii_case(b"2XX") {
            return Some(Status::Range);
        }
        if key == b"default" {
            return Some(Status::Default);
        }
        let code: u16 = std::str::from_utf8(key).ok().filter(|key| key.len() == 3)?.parse().ok()?;
        (200..300).contains(&code).then_some(Status::Exact(code))
    }
}

/// Whether Swagger 2.0 media types, those of the operation before those of the document, include JSON.
pub(crate) fn names_json(work: &Work<'_, '_, '_>, operation: At, list: &str) -> bool {
    let outline = &work.document.outline;
    if work.document.version != Version::Swagger2 {
        return true;
    }
    let holders = [operation, outline.root()];
    let Some(types) = holders.iter().find_map(|&holder| outline.one_of_kind(holder, list, Kind::Array)) else {
        return true;
    };
    outline.elements(types).any(|name| outline.string(name).is_some_and(|name| work.is_json(&name)))
}

const MAX_WARNINGS: usize = 200;
