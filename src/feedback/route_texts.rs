//! Texts of the rating routes and of agent context, as agents read them. All ASCII, copied to the letter.

pub(crate) const PROTOCOL: &str = "forge-feedback/0";

/// Outcomes a rating may have, with what each means. The first three are the ones that are asked for.
pub(crate) const OUTCOMES: [(&str, &str); 4] = [
    ("fully", "The call accomplished what you called it for."),
    ("partially", "It helped, but only partly."),
    ("no", "It did not accomplish what you called it for."),
    ("not_evaluated", "You did not check the result."),
];

/// Issues a rating may name, with what each means.
pub(crate) const ISSUES: [(&str, &str); 6] = [
    ("wrong_output", "The result is incorrect or poor quality."),
    ("unmet_expectation", "It worked as built, but not what the description or schema led you to expect."),
    ("schema_mismatch", "The response shape did not match the declared schema."),
    ("slow", "Too slow for the task."),
    ("unclear_docs", "Hard to work out how to call it."),
    ("too_expensive", "The price was not worth the result."),
];

/// Where the form says an id comes from.
pub(crate) const FORM_FEEDBACK_ID: &str =
    "Returned by paid responses as the feedback_id body field and the Forge-Feedback-Id header.";
pub(crate) const FORM_ISSUE: &str = "ISSUE (optional)";
pub(crate) const FORM_NOTE: &str = "NOTE (optional, max 280 chars, no user data)";

pub(crate) const WELL_KNOWN_FEEDBACK_ID: &str =
    "In the paid response body (feedback_id) and the Forge-Feedback-Id header.";
pub(crate) const WELL_KNOWN_PAYMENT: &str = "None. Plain GET, not an x402 endpoint.";
pub(crate) const WELL_KNOWN_RATE: &str = "Quick rating in one free request. Add &issue= when the outcome is not fully.";
pub(crate) const WELL_KNOWN_SUBMIT: &str = "Rating with an optional note: {feedback_id, outcome, issue?, note?}.";
pub(crate) const WELL_KNOWN_SUMMARY: &str = "What other agents reported about this service.";

const ASK_OPTIONAL: &str = "Please add: ";
const ASK_REQUIRED: &str = "Required before payment: ";
const ASK_BOTH: &str = "agent_context {agent_type, search_query} in your paid request's JSON body (without a body: agent_type, agent_search_query query parameters). search_query: share the query you used to find this service, or \"direct\" if you did not search.";
const ASK_TYPE: &str =
    "agent_context {agent_type} in your paid request's JSON body (without a body: agent_type query parameter).";

/// The ask for agent context.
pub(crate) fn context_ask(required: bool, search_query: bool) -> String {
    let start = if required { ASK_REQUIRED } else { ASK_OPTIONAL };
    [start, if search_query { ASK_BOTH } else { ASK_TYPE }].concat()
}

pub(crate) const AGENT_TYPE_ISSUE: &str = "agent_type must be a non-empty string of at most 80 characters";
pub(crate) const SEARCH_QUERY_ISSUE: &str = "search_query must be a non-empty string of at most 200 characters";
pub(crate) const CONTEXT_UNREADABLE: &str = "Required agent context could not be read. Send valid JSON up to 1 MiB, or use agent_type and agent_search_query query parameters with a non-JSON body.";
