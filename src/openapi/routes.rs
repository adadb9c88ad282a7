//! The rating routes as paths of the merchant's document.
//!
//! Statuses and shapes are those of the routes themselves; nothing here decides how a route behaves.

use super::document::Version;
use super::plan::Feedback;
use super::texts::{self, ID_SCHEMA_MEMBERS, NOTE_TEXT, described_value, names, quoted};
use crate::feedback::route_texts::{ISSUES, OUTCOMES};

/// A path of ours: its place on the merchant's origin, and the path item as JSON.
pub(crate) struct Route {
    pub path: String,
    pub item: String,
}

/// The paths of the four routes; `servers` is the OpenAPI 3 override where the document's servers do not reach them.
pub(crate) fn routes(feedback: &Feedback, version: Version, servers: Option<&str>) -> Vec<Route> {
    let writer = Writer { version };
    let servers = servers.map(|url| format!("\"servers\":[{{\"url\":{}}}],", quoted(url))).unwrap_or_default();
    let base = feedback.base_path.as_str();
    let form = writer.operation("forgeFeedbackForm", texts::FORM_SUMMARY, "", &[("200", texts::FORM_ANSWER, OBJECT)]);
    let submit = writer.operation("forgeFeedbackSubmit", texts::SUBMIT_SUMMARY, &writer.body(), &SUBMIT);
    let rate = writer.operation("forgeFeedbackRate", texts::RATE_SUMMARY, &writer.rate_parameters(), &RATE);
    let summary = writer.operation("forgeFeedbackSummary", texts::SUMMARY_SUMMARY, "", &SUMMARY);
    vec![
        Route { path: base.to_owned(), item: format!("{{{servers}\"get\":{form},\"post\":{submit}}}") },
        Route { path: format!("{base}/rate"), item: format!("{{{servers}\"get\":{rate}}}") },
        Route { path: format!("{base}/summary"), item: format!("{{{servers}\"get\":{summary}}}") },
    ]
}

/// What the versions write differently.
struct Writer {
    version: Version,
}

type Answer = (&'static str, &'static str, &'static str);

impl Writer {
    fn operation(&self, id: &str, summary: &str, input: &str, answers: &[Answer]) -> String {
        let answers: Vec<String> = answers.iter().map(|answer| self.answer(answer)).collect();
        let produces = match self.version {
            Version::Swagger2 => "\"produces\":[\"application/json\"],",
            Version::OpenApi3 => "",
        };
        format!(
            "{{\"operationId\":\"{id}\",\"summary\":\"{summary}\",{produces}\"security\":[],{input}\"responses\":{{{}}}}}",
            answers.join(",")
        )
    }

    fn answer(&self, (status, description, schema): &Answer) -> String {
        let content = match self.version {
            Version::Swagger2 => format!("\"schema\":{schema}"),
            Version::OpenApi3 => format!("\"content\":{{\"application/json\":{{\"schema\":{schema}}}}}"),
        };
        format!("\"{status}\":{{\"description\":\"{description}\",{content}}}")
    }

    fn body(&self) -> String {
        let (outcomes, issues) = (names(&OUTCOMES), names(&ISSUES));
        let schema = format!(
            "{{\"type\":\"object\",\"required\":[\"feedback_id\",\"outcome\"],\"properties\":{{\"feedback_id\":{{{ID_SCHEMA_MEMBERS}}},\"outcome\":{{\"type\":\"string\",\"enum\":{outcomes}}},\"issue\":{{\"type\":\"string\",\"enum\":{issues}}},\"note\":{{\"type\":\"string\",\"maxLength\":280,\"description\":\"{NOTE_TEXT}\"}}}}}}"
        );
        match self.version {
            Version::Swagger2 => format!(
                "\"consumes\":[\"application/json\"],\"parameters\":[{{\"name\":\"rating\",\"in\":\"body\",\"required\":true,\"schema\":{schema}}}],"
            ),
            Version::OpenApi3 => format!(
                "\"requestBody\":{{\"required\":true,\"content\":{{\"application/json\":{{\"schema\":{schema}}}}}}},"
            ),
        }
    }

    fn rate_parameters(&self) -> String {
        let issue = format!("\"type\":\"string\",\"enum\":{}", names(&ISSUES));
        let outcome = format!("\"type\":\"string\",\"enum\":{}", names(&OUTCOMES));
        let parameters = [
            ("feedback_id", true, texts::FEEDBACK_ID_TEXT, ID_SCHEMA_MEMBERS),
            ("outcome", true, texts::OUTCOME_TEXT, outcome.as_str()),
            ("issue", false, texts::ISSUE_TEXT, issue.as_str()),
        ];
        let parameters: Vec<String> = parameters
            .iter()
            .map(|(name, required, description, schema)| {
                let value = described_value(self.version, description, schema);
                let members = value.trim_start_matches('{');
                format!("{{\"name\":\"{name}\",\"in\":\"query\",\"required\":{required},{members}")
            })
            .collect();
        format!("\"parameters\":[{}],", parameters.join(","))
    }
}

const OBJECT: &str = r#"{"type":"object"}"#;
const RECORDED: &str = r#"{"type":"object","properties":{"recorded":{"type":"boolean"}}}"#;
const REFUSED: &str = r#"{"type":"object","required":["recorded","error"],"properties":{"recorded":{"type":"boolean"},"error":{"type":"string"}}}"#;
const UNAVAILABLE: &str = r#"{"type":"object","required":["error"],"properties":{"error":{"type":"string"}}}"#;

const OK: Answer = ("200", texts::RECORDED_ANSWER, RECORDED);
const WRONG: Answer = ("400", texts::WRONG_ANSWER, REFUSED);
const UNKNOWN: Answer = ("404", texts::UNKNOWN_ANSWER, REFUSED);
const CONFLICT: Answer = ("409", texts::CONFLICT_ANSWER, OBJECT);
const TOO_LARGE: Answer = ("413", texts::TOO_LARGE_ANSWER, REFUSED);
const LIMITED: Answer = ("429", texts::LIMITED_ANSWER, REFUSED);
const LATER: Answer = ("503", texts::LATER_ANSWER, REFUSED);

const RATE: [Answer; 6] = [OK, WRONG, UNKNOWN, CONFLICT, LIMITED, LATER];
const SUBMIT: [Answer; 7] = [OK, WRONG, UNKNOWN, CONFLICT, TOO_LARGE, LIMITED, LATER];
const SUMMARY: [Answer; 2] = [("200", texts::SUMMARY_ANSWER, OBJECT), ("503", texts::NO_SUMMARY_ANSWER, UNAVAILABLE)];
