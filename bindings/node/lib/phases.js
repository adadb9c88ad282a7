"use strict";
// The request phase on a Node request and response, whatever framework hands them over: carries out verdicts until the merchant's
// turn comes, or an answer of our own. `host` knows the framework: target, clientIp, route, apply, reply; see connect.js.

const { hold, isHeld } = require("./hold.js");
const { Judge } = require("./judge.js");
const { holdBody } = require("./upload.js");

const PASS = 0;
const REPLY = 1;
const WANT_BODY = 2;
const WAIT = 3;
/** The longest a rating or summary waits for the backend. */
const WAIT_MS = 3_000;

/** Looks at a request, then calls `next` or answers. A second layer passes: one exchange, one id. */
function take({ engine, report, host }, req, res, next) {
  if (isHeld(res) || res.headersSent) return next();
  const judge = new Judge(engine, req, res, report, host);
  let verdict;
  try {
    verdict = judge.request();
  } catch (error) {
    report(`forge-x402: a request passed unread: ${error?.message ?? error}`);
    return next();
  }
  return verdict === null ? goOn(judge, next) : carryOut(judge, verdict, next);
}

/** Does what a verdict says; ends in `next` or in an answer of our own. Whatever fails passes. */
function carryOut(judge, verdict, next) {
  const { req, res, host } = judge;
  const passed = (error) => {
    judge.report(`forge-x402: a request passed unchanged: ${error?.message ?? error}`);
    return goOn(judge, next);
  };
  try {
    switch (verdict.action) {
      case REPLY:
        judge.status = verdict.httpStatus;
        if (res.headersSent) return undefined;
        return res.destroyed ? judge.end("aborted") : host.reply(judge, verdict);
      case WAIT:
        judge.exchange.wait(WAIT_MS).then((answer) => carryOut(judge, answer, next), passed);
        return undefined;
      case WANT_BODY:
        return holdBody(req, res, verdict.bodyLimit, (body, handOn) => afterBody(judge, verdict, body, handOn, next), () => judge.end("aborted"));
      default:
        host.apply(judge, verdict);
    }
  } catch (error) {
    return passed(error);
  }
  return goOn(judge, next);
}

/** `first` is the verdict that asked for the body; its edits hold where the body could not be read. */
function afterBody(judge, first, body, handOn, next) {
  let verdict = { ...first, action: PASS };
  try {
    if (body !== null) {
      judge.host.apply(judge, verdict);
      verdict = judge.exchange.onRequestBody(body);
    }
  } catch (error) {
    judge.report(`forge-x402: a request passed unchanged: ${error?.message ?? error}`);
    verdict = { action: PASS, edits: "" };
  }
  handOn(verdict.action === PASS ? verdict.body : null);
  return carryOut(judge, verdict, next);
}

/** The merchant's turn; its response is looked at. */
function goOn(judge, next) {
  hold(judge.res, judge);
  return next();
}

module.exports = { take };
