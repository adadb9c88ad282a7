"use strict";
// Around a fetch-style handler, `(request, ...rest) => Response`: Hono's `app.fetch`, a Next.js route handler.
//
// A handler hands its answer over whole, so nothing has left when we look at it: responses are rebuilt, never patched.

const { editHeaders, flatHeaders, listed } = require("./fetch-heads.js");
const { held, watched } = require("./fetch-bodies.js");
const { PASS, PASSED, REPLY, WAIT, WANT_BODY, bodyBytes } = require("./verdict.js");
const { requestHead } = require("./wire.js");

/** The longest a rating or summary waits for the backend. */
const WAIT_MS = 3_000;
/** The largest body that is looked at as a whole where nothing asks for it, in bytes. */
const AT_ONCE = 1024 * 1024;

/**
 * A handler around `handler`. `clientIp(request, ...rest)` tells the client's address after the host's own proxy trust; without
 * it the socket's is taken where the host shows one (@hono/node-server).
 */
function wrapFetch({ exchanges, report }, handler, { clientIp = socketAddress } = {}) {
  return async function forgeFetch(request, ...rest) {
    let call = null;
    let answer = null;
    try {
      call = new Call(exchanges, report, request, String(clientIp(request, ...rest) ?? ""));
      answer = await call.before();
    } catch (error) {
      report(`forge-x402: a request passed unchanged: ${error?.message ?? error}`);
      if (call === null) return handler.call(this, request, ...rest);
    }
    if (answer !== null) return answer;
    let response;
    try {
      response = await handler.call(this, call.request, ...rest);
    } catch (error) {
      call.end("failed", 500);
      throw error;
    }
    try {
      return await call.after(response);
    } catch (error) {
      report(`forge-x402: a response passed unchanged: ${error?.message ?? error}`);
      return response;
    }
  };
}

class Call {
  constructor(exchanges, report, request, clientIp) {
    this.exchanges = exchanges;
    this.report = report;
    this.request = request;
    const { pathname, search } = new URL(request.url);
    this.head = requestHead(request.method, pathname + search, clientIp, [...request.headers].flat());
    this.exchange = null;
  }

  /** An answer of our own, or null: the merchant's turn. */
  async before() {
    const begun = this.exchanges.onRequest(this.head);
    if (begun === null) return null;
    this.exchange = begun.exchange;
    let { verdict } = begun;
    if (verdict.action === WANT_BODY) verdict = await this.body(verdict);
    else if (verdict.action === PASS) this.edit(verdict, undefined);
    if (verdict.action === WAIT) verdict = await this.exchange.wait(WAIT_MS);
    if (verdict.action !== REPLY) return null;
    const bodiless = verdict.httpStatus === 204 || this.request.method === "HEAD";
    this.end("delivered", verdict.httpStatus);
    return new Response(bodiless ? null : (bodyBytes(verdict) ?? ""), { status: verdict.httpStatus, headers: listed(verdict.edits) });
  }

  /** Reads the request's body up to the limit; hands on what came, or what the engine made of it. */
  async body(first) {
    if (this.request.bodyUsed) return { ...first, action: PASS };
    const { head, whole, rest } = await held(this.request.body, first.bodyLimit + 1, { patient: true });
    const verdict = this.guarded(() => this.exchange.onRequestBody(head.subarray(0, first.bodyLimit + 1)), PASSED);
    if (verdict.action === PASS) {
      const edits = [...first.edits, ...verdict.edits];
      this.edit({ target: first.target, edits }, whole ? (bodyBytes(verdict) ?? head) : rest());
    }
    return verdict;
  }

  /** Applies what a verdict says of the request; `body` stands for one that has been read. */
  edit({ target, edits }, body) {
    if (target === "" && edits.length === 0 && body === undefined) return;
    const { request } = this;
    // A framework's own class of request (NextRequest) stays what it is.
    const Kind = request.constructor;
    const init = { headers: editHeaders(request.headers, edits) };
    if (body != null && request.body !== null) Object.assign(init, { body, duplex: "half" });
    if (target === "") this.request = new Kind(request, init);
    else {
      const url = new URL(target, request.url).href;
      if (body == null) this.request = new Kind(new Kind(url, request), init);
      else this.request = new Kind(url, { ...init, method: request.method, signal: request.signal });
    }
  }

  /** The response as it is to go. */
  async after(response) {
    const { status } = response;
    if (this.exchange === null && status !== 402) return response;
    const head = flatHeaders(response.headers);
    const none = response.body === null || this.request.method === "HEAD";
    let verdict = this.response(status, head, undefined, none);
    if (verdict === null) return response;
    let body = response.body;
    if (body !== null) {
      // A body that is there at once is handed on as bytes, so that the host frames it as it would have.
      const wanted = verdict.action === WANT_BODY;
      const limit = wanted ? verdict.bodyLimit : AT_ONCE;
      const taken = await held(body, limit + 1, { patient: wanted && statesLength(response.headers, limit) });
      if (taken.whole && wanted) verdict = this.guarded(() => this.response(status, head, taken.head, false), verdict);
      body = taken.whole ? taken.head : taken.rest();
    }
    body = bodyBytes(verdict) ?? body;
    if (body === null || body instanceof Uint8Array) this.end(this.request.signal?.aborted ? "aborted" : "delivered", status, body?.length);
    else body = watched(body, (outcome, bytes) => this.end(outcome, status, bytes));
    return new Response(body, { status, statusText: response.statusText, headers: editHeaders(response.headers, verdict.edits) });
  }

  response(status, head, body, none) {
    if (this.exchange !== null) return this.exchange.onResponse(status, "", head, body, none);
    const begun = this.exchanges.onResponseLate(this.head, status, "", head, body, none);
    if (begun === null) return null;
    this.exchange = begun.exchange;
    return begun.verdict;
  }

  /** Once a body has been taken it must be handed on, whatever happens. */
  guarded(work, otherwise) {
    try {
      return work();
    } catch (error) {
      this.report(`forge-x402: a message passed unchanged: ${error?.message ?? error}`);
      return otherwise;
    }
  }

  end(outcome, status, bytes = 0) {
    this.exchange?.end(outcome, status, bytes);
    this.exchange = null;
  }
}

const statesLength = (headers, limit) => /^\d{1,15}$/.test(headers.get("content-length") ?? "") && Number(headers.get("content-length")) <= limit;

const socketAddress = (_request, bindings) => bindings?.incoming?.socket?.remoteAddress;

module.exports = { wrapFetch };
