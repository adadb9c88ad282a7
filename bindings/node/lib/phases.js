"use strict";
// The request phase on a Node request and response, whatever framework hands them over: carries out verdicts until the merchant's
// turn comes, or an answer of our own. `host` knows the framework: target, clientIp, route, apply, reply; see connect.js.

const { hold, placeFor } = require("./hold.js");
const { Judge } = require("./judge.js");
const { holdBody } = require("./upload.js");
const { PASS, PASSED, REPLY, WAIT, WANT_BODY, bodyBytes } = require("./verdict.js");

/** The longest a rating or summary waits for the backend. */
const WAIT_MS = 3_000;

/**
 * Looks at a request, then calls `next` or answers. A second layer passes: one exchange, one id.
 * @param {{exchanges: object, glance: object, report: (line: string) => void, host: object}} context what the adapters of an
 *   engine share (exchanges.js, glance.js, one-line warnings), and what the framework knows better
 */
function take(context, req, res, next) {
  const place = placeFor(res);
  if (place === null) return next();
  const judge = new Judge(context, req, res, place.isShared);
  let verdict = null;
  try {
    if (!judge.isOrdinary()) {
      if (res.headersSent) return next();
      verdict = judge.request();
    }
  } catch (error) {
    context.report(`forge-x402: a request passed unread: ${error?.message ?? error}`);
    return next();
  }
  return verdict === null ? goOn(judge, place, next) : carryOut(judge, verdict, () => goOn(judge, place, next));
}

/** Does what a verdict says; ends in `goOn` or in an answer of our own. Whatever fails passes. */
function carryOut(judge, verdict, goOn) {
  const { req, res, context: { host, report } } = judge;
  const passed = (error) => {
    report(`forge-x402: a request passed unchanged: ${error?.message ?? error}`);
    return goOn();
  };
  try {
    switch (verdict.action) {
      case REPLY:
        judge.status = verdict.httpStatus;
        if (res.headersSent) return undefined;
        if (res.destroyed) return judge.end("aborted");
        host.reply(judge, verdict);
        return judge.handled();
      case WAIT:
        judge.exchange.wait(WAIT_MS).then((answer) => carryOut(judge, answer, goOn), passed);
        return undefined;
      case WANT_BODY:
        return holdBody(req, res, verdict.bodyLimit, (body, handOn) => afterBody(judge, verdict, body, handOn, goOn), () => judge.end("aborted"));
      default:
        host.apply(judge, verdict);
    }
  } catch (error) {
    return passed(error);
  }
  return goOn();
}

/** `first` is the verdict that asked for the body; its edits hold where the body could not be read. */
function afterBody(judge, first, body, handOn, goOn) {
  const { host, report } = judge.context;
  let verdict = { ...first, action: PASS };
  try {
    if (body !== null) {
      host.apply(judge, verdict);
      verdict = judge.exchange.onRequestBody(body);
    }
  } catch (error) {
    report(`forge-x402: a request passed unchanged: ${error?.message ?? error}`);
    verdict = PASSED;
  }
  handOn(verdict.action === PASS ? bodyBytes(verdict) : null);
  return carryOut(judge, verdict, goOn);
}

/** The merchant's turn; its response is looked at. */
function goOn(judge, place, next) {
  hold(place, judge.res, judge);
  return next();
}

module.exports = { take };
