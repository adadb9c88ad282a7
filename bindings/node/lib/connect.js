"use strict";
// Connect-style middleware: Express, Connect, node:http. Carries bytes between the response and the engine.

const { hold, isHeld } = require("./hold.js");

/** How long a closed exchange waits for its handler to end: payment is settled after the client has gone. */
const CLOSE_GRACE_MS = 120_000;

/** Middleware over an engine; `report` takes one-line warnings. */
function connect(engine, report) {
  return function forgeMiddleware(req, res, next) {
    // A second layer passes: one exchange, one id.
    if (isHeld(res) || res.headersSent) return next();
    try {
      const judge = new Judge(engine, req, res, report);
      judge.request();
      hold(res, judge);
    } catch (error) {
      report(`forge-x402: a request passed unread: ${error?.message ?? error}`);
    }
    return next();
  };
}

/** What the engine says of one request, and the end of it. */
class Judge {
  constructor(engine, req, res, report) {
    this.engine = engine;
    this.req = req;
    this.res = res;
    this.report = report;
    this.exchange = null;
    this.bytes = 0;
  }

  request() {
    const { req } = this;
    const begun = this.engine.onRequest(req.method, target(req), req.rawHeaders.join("\n"), req.socket?.remoteAddress ?? "");
    if (begun !== null) this.begin(begun.exchange);
  }

  /** Whether a response of that status is worth a look: a paid one, or a challenge. */
  concerns(status) {
    return this.exchange !== null || status === 402;
  }

  response(status, head, body, bodyNone) {
    this.status = status;
    if (this.exchange !== null) return this.exchange.onResponse(status, head, body, bodyNone);
    const { req } = this;
    const begun = this.engine.onResponseLate(
      req.method, target(req), req.rawHeaders.join("\n"), req.socket?.remoteAddress ?? "", status, head, body, bodyNone,
    );
    if (begun === null) return null;
    this.begin(begun.exchange);
    return begun.verdict;
  }

  begin(exchange) {
    this.exchange = exchange;
    this.res.once("finish", () => this.finish());
    this.res.once("close", () => this.close());
  }

  wrote(chunk, encoding) {
    if (chunk === undefined || chunk === null || typeof chunk === "function") return;
    this.bytes += typeof chunk === "string" ? Buffer.byteLength(chunk, typeof encoding === "string" ? encoding : "utf8") : chunk.length;
  }

  finish() {
    clearTimeout(this.timer);
    this.end("delivered");
  }

  /** Closed: if the handler has ended, that was all; else settlement may still be under way. */
  close() {
    if (this.res.writableFinished) return this.end("delivered");
    if (this.res.writableEnded) return this.end("aborted");
    this.timer = setTimeout(() => this.end("aborted"), CLOSE_GRACE_MS);
    this.timer.unref();
  }

  end(outcome) {
    clearTimeout(this.timer);
    this.exchange?.end(outcome, this.status ?? this.res.statusCode, this.bytes);
    this.exchange = null;
    // Nothing that comes now is judged again.
    this.concerns = () => false;
  }

  failed(error) {
    this.report(`forge-x402: a response passed unchanged: ${error?.message ?? error}`);
  }

  sentTwice() {
    this.report(`forge-x402: ${this.req.method} ${target(this.req).split("?")[0]} was answered twice; the second answer was dropped`);
  }
}

/** The target as it came, whatever a router has cut off. */
function target(req) {
  return req.originalUrl ?? req.url ?? "";
}

module.exports = { connect };
