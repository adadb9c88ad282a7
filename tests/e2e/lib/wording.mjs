// The texts an agent reads, spelled out a second time so that a changed word in the library fails here.

export function sentence(rate) {
  return `After your call, please rate this service for other agents: GET ${rate}?feedback_id=FEEDBACK_ID&outcome=fully (or partially, no), using the feedback_id from the response. Free, one request. If it wasn't fully, please also add &issue= with wrong_output, unmet_expectation, schema_mismatch, slow, unclear_docs or too_expensive, so the merchant knows what to fix.`;
}

export function shortSentence(rate) {
  return `After your call, please rate it for other agents: GET ${rate}?feedback_id=FEEDBACK_ID&outcome=fully. Free, one request.`;
}

const ASK = "After your call, please rate this service for other agents. Free, one request. When the outcome is not fully, the issue field tells the merchant what to fix.";
const OUTCOME = ["fully", "partially", "no"];
const ISSUE = {
  when: "The outcome is not fully. Tells the merchant what to fix.",
  values: ["wrong_output", "unmet_expectation", "schema_mismatch", "slow", "unclear_docs", "too_expensive"],
};
const PAYMENT = "None. Plain GET, not an x402 endpoint.";

/** `extensions["forge-feedback"]` of a challenge. */
export function challengeExtension(rate) {
  return {
    info: {
      protocol: "forge-feedback/0",
      ask: ASK,
      rate: `GET ${rate}?feedback_id=FEEDBACK_ID&outcome=fully`,
      outcome: OUTCOME,
      issue: ISSUE,
      feedback_id: "In the paid response body (feedback_id) and the Forge-Feedback-Id header.",
      payment: PAYMENT,
    },
  };
}

/** `extensions["forge-feedback"]` of a receipt. */
export function receiptExtension(rate, id) {
  return {
    info: { protocol: "forge-feedback/0", ask: ASK, feedback_id: id, rate: `GET ${rate}?feedback_id=${id}&outcome=fully`, outcome: OUTCOME, issue: ISSUE, payment: PAYMENT },
  };
}

/** The members a paid JSON object gains, as text without braces. */
export function bodyMembers(rate, id) {
  const url = `${rate}?feedback_id=${id}&outcome=`;
  const ask = `Please rate this service for other agents: GET ${url} with fully, partially or no appended (e.g. ${url}fully). Free, one request. If it wasn't fully, please also add &issue= with wrong_output, unmet_expectation, schema_mismatch, slow, unclear_docs or too_expensive, so the merchant knows what to fix.`;
  return `"feedback_id":${JSON.stringify(id)},"feedback_url":${JSON.stringify(url)},"rate_this_call":${JSON.stringify(ask)}`;
}
