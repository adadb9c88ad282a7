"use strict";
// One exchange on a Node request and response: what the engine says in each phase, and how it ended. What the framework knows
// better (target, client address, route pattern) it is told by `host`.

const { requestHead, showRequest } = require("./wire.js");

/** How long a closed exchange waits for its handler to end: payment is settled after the client has gone. */
const CLOSE_GRACE_MS = 120_000;

class Judge {
  constructor(engine, req, res, report, host) {
    this.engine = engine;
    this.req = req;
    this.res = res;
    this.report = report;
    this.host = host;
    this.exchange = null;
    this.outcome = undefined;
    this.closed = false;
    this.bytes = 0;
  }

  /** The verdict on the request; null in the ordinary case: nothing to do before the response. */
  request() {
    const begun = showRequest(this.head(), (bytes, length) => this.engine.onRequest(bytes, length));
    if (begun === null) return null;
    this.begin(begun.exchange);
    return begun.verdict;
  }

  /** Whether a response of that status is worth a look: a paid one, or a challenge. */
  concerns(status) {
    return this.exchange !== null || status === 402;
  }

  response(status, head, body, bodyNone) {
    this.status = status;
    const route = this.host.route(this.req);
    if (this.exchange !== null) return this.exchange.onResponse(status, route, head, body, bodyNone);
    const begun = showRequest(this.head(), (bytes, length) => this.engine.onResponseLate(bytes, length, status, route, head, body, bodyNone));
    if (begun === null) return null;
    this.begin(begun.exchange);
    return begun.verdict;
  }

  head() {
    const { req, host } = this;
    return requestHead(req.method, host.target(req), host.clientIp(req), req.rawHeaders);
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

  /** The handler threw: told when the answer that somebody makes of it ends. */
  threw() {
    this.outcome = "failed";
  }

  /** Finished, says Node also of what it could not write: the socket knows better. */
  finish() {
    this.end(this.req.socket?.errored ? "aborted" : "delivered");
  }

  /** The handler has ended; if the client had left before, nothing else will be told. */
  handled() {
    if (this.closed) this.end("aborted");
  }

  /** Closed: if the handler has ended, that was all; else settlement may still be under way. */
  close() {
    this.closed = true;
    if (this.res.writableFinished) return this.finish();
    if (this.res.writableEnded || this.exchange === null) return this.end("aborted");
    this.timer = setTimeout(() => this.end("aborted"), CLOSE_GRACE_MS);
    this.timer.unref();
  }

  end(outcome) {
    clearTimeout(this.timer);
    this.exchange?.end(this.outcome ?? outcome, this.status ?? this.res.statusCode, this.bytes);
    this.exchange = null;
    // Nothing that comes now is judged again.
    this.concerns = () => false;
  }

  failed(error) {
    this.report(`forge-x402: a response passed unchanged: ${error?.message ?? error}`);
  }

  sentTwice() {
    this.report(`forge-x402: ${this.req.method} ${this.host.target(this.req).split("?")[0]} was answered twice; the second answer was dropped`);
  }
}

module.exports = { Judge };
