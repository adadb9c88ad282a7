"use strict";
// Connect-style middleware: Express, Connect, node:http.

const { judgeOf } = require("./hold.js");
const { take } = require("./phases.js");
const { applyToRequest, clientIp, route, target } = require("./request.js");
const { bodyBytes } = require("./verdict.js");

/** What Express, Connect and node:http have in common. */
const host = {
  target,
  clientIp,
  route,
  apply: ({ req }, verdict) => applyToRequest(req, verdict),
  /** What middleware in front has set on the response stays, unless the engine sets it too. */
  reply(judge, verdict) {
    const { res } = judge;
    res.statusCode = verdict.httpStatus;
    const { edits } = verdict;
    for (let at = 0; at + 2 < edits.length; at += 3) res.setHeader(edits[at + 1], edits[at + 2]);
    const body = bodyBytes(verdict) ?? Buffer.alloc(0);
    judge.wrote(body);
    res.end(body);
  },
};

/** Middleware over `ours`, what the adapters of an engine share, see phases.js; `before` sees each request first. */
function connect(ours, before = () => {}) {
  const context = { ...ours, host };
  return function forgeMiddleware(req, res, next) {
    before(req);
    return take(context, req, res, next);
  };
}

/**
 * A listener for node:http around another one. Unlike a middleware it sees when the handler throws. Returns what the handler
 * returns; where the handler's turn comes later, or never, a promise.
 */
function listener(ours, handler) {
  const context = { ...ours, host };
  return function forgeListener(req, res) {
    const run = () => {
      const threw = (error) => {
        judgeOf(res)?.threw();
        throw error;
      };
      let result;
      try {
        result = handler.call(this, req, res);
      } catch (error) {
        threw(error);
      }
      return typeof result?.then === "function" ? result.then(undefined, threw) : result;
    };
    let now = true;
    let turn;
    let resolve;
    take(context, req, res, () => {
      turn = now ? { result: run() } : undefined;
      if (!now) resolve(new Promise((done) => done(run())));
    });
    now = false;
    if (turn !== undefined) return turn.result;
    return new Promise((done) => {
      resolve = done;
      res.once("close", done);
    });
  };
}

module.exports = { connect, listener };
