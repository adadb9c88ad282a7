"use strict";
// Connect-style middleware: Express, Connect, node:http. Carries out verdicts on requests; responses are hold.js's business.

const { hold, isHeld } = require("./hold.js");
const { Judge } = require("./judge.js");
const { reply } = require("./reply.js");
const { applyToRequest } = require("./request.js");
const { holdBody } = require("./upload.js");

const REPLY = 1;
const WANT_BODY = 2;
const WAIT = 3;
/** The longest a rating or summary waits for the backend. */
const WAIT_MS = 3_000;

/** Middleware over an engine; `report` takes one-line warnings. */
function connect(engine, report) {
  return function forgeMiddleware(req, res, next) {
    // A second layer passes: one exchange, one id.
    if (isHeld(res) || res.headersSent) return next();
    const judge = new Judge(engine, req, res, report);
    let verdict;
    try {
      verdict = judge.request();
    } catch (error) {
      report(`forge-x402: a request passed unread: ${error?.message ?? error}`);
      return next();
    }
    return verdict === null ? goOn(judge, next) : carryOut(judge, verdict, next);
  };
}

/** Does what a verdict on the request says; ends in `next` or in an answer of our own. Whatever fails passes. */
function carryOut(judge, verdict, next) {
  const { req, res } = judge;
  const passed = (error) => {
    judge.report(`forge-x402: a request passed unchanged: ${error?.message ?? error}`);
    goOn(judge, next);
  };
  try {
    switch (verdict.action) {
      case REPLY:
        return reply(res, judge, verdict);
      case WAIT:
        judge.exchange.wait(WAIT_MS).then((answer) => carryOut(judge, answer, next), passed);
        return undefined;
      case WANT_BODY:
        return holdBody(req, res, verdict.bodyLimit, (body, handOn) => afterBody(judge, verdict, body, handOn, next), () => judge.end("aborted"));
      default:
        applyToRequest(req, verdict);
    }
  } catch (error) {
    return passed(error);
  }
  return goOn(judge, next);
}

/** The merchant's turn; its response is looked at. */
function goOn(judge, next) {
  hold(judge.res, judge);
  return next();
}

/** `first` is the verdict that asked for the body; its edits hold where the body could not be read. */
function afterBody(judge, first, body, handOn, next) {
  let verdict = { ...first, action: 0 };
  let edited = null;
  try {
    applyToRequest(judge.req, verdict);
    if (body !== null) {
      verdict = judge.exchange.onRequestBody(body);
      edited = verdict.body;
    }
  } catch (error) {
    judge.report(`forge-x402: a request passed unchanged: ${error?.message ?? error}`);
    verdict = { action: 0, edits: "" };
  }
  const replies = verdict.action === REPLY || verdict.action === WAIT;
  handOn(replies ? null : edited);
  return carryOut(judge, verdict, next);
}

module.exports = { connect };
