"use strict";
// One exchange on a Node request and response: what the engine says in each phase, and how it ended. What the framework knows
// better (target, client address, route pattern) it is told by `host`.

const { forget, watch } = require("./connections.js");
const { peek } = require("./peek.js");
const { requestHead } = require("./wire.js");

/** How long a closed exchange waits for its handler to end: payment is settled after the client has gone. */
const CLOSE_GRACE_MS = 120_000;

class Judge {
  /** `context`: see phases.js. `shared`: a listener on this response would be dear, see hooks.js. */
  constructor(context, req, res, shared) {
    this.context = context;
    this.shared = shared;
    this.req = req;
    this.res = res;
    // Kept, because each look at a request or response of Express is a search.
    this.target = context.host.target(req);
    this.lines = peek(req, "rawHeaders");
    this.exchange = null;
    /** Nothing that comes now is judged again. */
    this.over = false;
    this.closed = false;
    this.outcome = undefined;
    this.status = undefined;
    this.bytes = 0;
    this.timer = undefined;
    this.knownMethod = undefined;
    /** The connection that tells when it closes; null: the response does. */
    this.socket = null;
    /** What holds the response, from the merchant's turn on; see hold.js. */
    this.held = undefined;
  }

  /** Whether there is surely nothing to do before the response; costs no crossing. */
  isOrdinary() {
    return this.context.glance.passes(this.target, this.lines);
  }

  /** The verdict on the request; null: nothing to do before the response. */
  request() {
    const begun = this.context.exchanges.onRequest(this.head());
    if (begun === null) return null;
    this.begin(begun.exchange);
    return begun.verdict;
  }

  /** Whether a response is worth a look: a paid one, or a challenge. `status`: where it is not that of the response. */
  concerns(status) {
    if (this.exchange !== null) return true;
    return !this.over && (status ?? peek(this.res, "statusCode")) === 402 && !peek(this.res, "headersSent");
  }

  response(status, head, body, bodyNone) {
    this.status = status;
    const route = this.context.host.route(this.req);
    if (this.exchange !== null) return this.exchange.onResponse(status, route, head, body, bodyNone);
    const begun = this.context.exchanges.onResponseLate(this.head(), status, route, head, body, bodyNone);
    if (begun === null) return null;
    this.begin(begun.exchange);
    return begun.verdict;
  }

  get method() {
    return (this.knownMethod ??= peek(this.req, "method"));
  }

  head() {
    return requestHead(this.method, this.target, this.context.host.clientIp(this.req), this.lines);
  }

  begin(exchange) {
    this.exchange = exchange;
    const socket = peek(this.req, "socket");
    if (!this.shared || typeof socket?.once !== "function") return this.listen();
    this.socket = socket;
    return watch(socket, this);
  }

  /** `close` comes after `finish` too. Twice does no harm, and `once` costs more. */
  listen() {
    this.res.on("close", () => this.close());
  }

  wrote(chunk, encoding) {
    if (this.exchange === null || chunk === undefined || chunk === null || typeof chunk === "function") return;
    this.bytes += typeof chunk === "string" ? Buffer.byteLength(chunk, typeof encoding === "string" ? encoding : "utf8") : chunk.length;
  }

  /** The handler threw: told when the answer that somebody makes of it ends. */
  threw() {
    this.outcome = "failed";
  }

  /** Finished, says Node also of what it could not write: the socket knows better. */
  finish() {
    this.end(peek(this.req, "socket")?.errored ? "aborted" : "delivered");
  }

  /** The handler has ended its answer. */
  handled() {
    if (this.exchange === null) return;
    // If the client had left before, nothing else will be told.
    if (this.closed) this.end("aborted");
    // The system has taken all of it, as it does of a small answer.
    else if (this.socket !== null) peek(this.res, "writableFinished") ? this.finish() : this.listen();
  }

  /** Somebody may have ended the answer behind our back. */
  look() {
    if (this.res.writableFinished) this.finish();
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
    if (this.timer !== undefined) clearTimeout(this.timer);
    if (this.socket !== null) forget(this.socket, this);
    this.exchange?.end(this.outcome ?? outcome, this.status ?? this.res.statusCode, this.bytes);
    this.exchange = null;
    this.over = true;
    this.held?.release();
  }

  failed(error) {
    this.context.report(`forge-x402: a response passed unchanged: ${error?.message ?? error}`);
  }
}

module.exports = { Judge };
