"use strict";
// Stands between a handler and its ServerResponse: holds the head until the verdict is known, and a body only while it may
// still be edited. Decides nothing: every decision is the engine's, and whatever fails here passes the traffic as it came.

const { applyEdits, readHead } = require("./head.js");

const HOLD = Symbol.for("forge-x402.hold");
const WANT_BODY = 2;
/** Nothing has been decided. */
const OPEN = 0;
/** The head is held back, and perhaps some body. */
const HELD = 1;
/** Decided: everything goes straight through. */
const PASSING = 2;

/** Patches `res`. `judge` answers for the request; see connect.js. Does nothing on a response that is held already. */
function hold(res, judge) {
  res[HOLD] = new Hold(res, judge);
  // Plain writable own properties: payment middleware assigns over them and calls these later.
  res.writeHead = writeHead;
  res.write = write;
  res.end = end;
  res.flushHeaders = flushHeaders;
}

const isHeld = (res) => res[HOLD] !== undefined;

/** What judges the response, if it is held. */
const judgeOf = (res) => res[HOLD]?.judge;

class Hold {
  constructor(res, judge) {
    this.res = res;
    this.judge = judge;
    this.phase = OPEN;
    /** True while an original runs: it calls the patched ones, which must not decide again. */
    this.inside = false;
    this.ended = false;
    this.writeHead = res.writeHead;
    this.write = res.write;
    this.end = res.end;
    this.flushHeaders = res.flushHeaders;
    this.verdict = undefined;
    this.headArgs = undefined;
    this.chunks = undefined;
    this.size = 0;
  }

  /** Asks for a verdict on the head as it stands; the response passes if there is nothing to say. */
  decide(status, body, bodyNone) {
    this.head = readHead(this.res, this.headArgs);
    this.status = status;
    this.verdict = this.judge.response(status, this.head.flat, body, bodyNone);
    return this.verdict;
  }

  /** Sends the head as the last verdict wants it. */
  releaseHead() {
    const { res, verdict } = this;
    this.phase = PASSING;
    this.unfreeze();
    const args = verdict === null ? this.headArgs : applyEdits(res, this.headArgs, this.head, verdict.edits);
    if (args !== undefined) this.call(this.writeHead, args);
  }

  /** Gives up holding: the head goes with the verdict there is, then what was held. Returns what the last write said. */
  release() {
    const { chunks = [] } = this;
    this.releaseHead();
    this.chunks = undefined;
    let more = true;
    for (const chunk of chunks) {
      this.judge.wrote(chunk);
      more = this.call(this.write, [chunk]);
    }
    return more;
  }

  /** Calls an original without deciding again in what it calls. */
  call(original, args) {
    const before = this.inside;
    this.inside = true;
    try {
      return original.apply(this.res, args);
    } finally {
      this.inside = before;
    }
  }

  /** After an explicit writeHead the head counts as sent, as it does without us. */
  freeze() {
    const refuse = (verb) => () => {
      throw Object.assign(new Error(`Cannot ${verb} headers after they are sent to the client`), { code: "ERR_HTTP_HEADERS_SENT" });
    };
    const own = { configurable: true, writable: true };
    Object.defineProperty(this.res, "headersSent", { configurable: true, get: () => true });
    Object.defineProperty(this.res, "setHeader", { ...own, value: refuse("set") });
    Object.defineProperty(this.res, "appendHeader", { ...own, value: refuse("append") });
    Object.defineProperty(this.res, "removeHeader", { ...own, value: refuse("remove") });
    this.frozen = true;
  }

  unfreeze() {
    if (!this.frozen) return;
    for (const name of ["headersSent", "setHeader", "appendHeader", "removeHeader"]) delete this.res[name];
    this.frozen = false;
  }

  /** Whether the body, of which the first part comes now, is worth holding: only a stated length says so. */
  mayHold() {
    const line = /(?:^|\n)content-length\n(\d{1,15})(?:\n|$)/i.exec(this.head.flat);
    return line !== null && Number(line[1]) <= this.verdict.bodyLimit;
  }

  /** Runs a decision; if it throws, the response passes as it came. */
  guarded(work, original, args) {
    try {
      return work();
    } catch (error) {
      this.judge.failed(error);
      this.phase = PASSING;
      this.unfreeze();
      if (this.headArgs !== undefined && !this.res.headersSent) this.call(this.writeHead, this.headArgs);
      const chunks = this.chunks ?? [];
      this.chunks = undefined;
      for (const chunk of chunks) this.call(this.write, [chunk]);
      return this.call(original, args);
    }
  }
}

function writeHead(...args) {
  const held = this[HOLD];
  if (held.inside || held.phase === PASSING) return held.writeHead.apply(this, args);
  if (held.phase === HELD) {
    throw Object.assign(new Error("Cannot write headers after they are sent to the client"), { code: "ERR_HTTP_HEADERS_SENT" });
  }
  const status = Number(args[0]);
  if (!held.judge.concerns(status)) {
    held.phase = PASSING;
    return held.writeHead.apply(this, args);
  }
  return held.guarded(
    () => {
      held.headArgs = args;
      const verdict = held.decide(status, undefined, this.req?.method === "HEAD");
      if (verdict !== null && verdict.action === WANT_BODY) {
        held.phase = HELD;
        held.freeze();
      } else {
        held.releaseHead();
      }
      return this;
    },
    noop,
    [],
  );
}

function write(chunk, encoding, callback) {
  const held = this[HOLD];
  if (held.inside) return held.write.apply(this, arguments);
  if (held.ended) return refuseAfterEnd(held, encoding, callback);
  if (held.phase === PASSING) {
    held.judge.wrote(chunk, encoding);
    return held.write.apply(this, arguments);
  }
  if (held.phase === OPEN && !held.judge.concerns(this.statusCode)) {
    held.phase = PASSING;
    return held.write.apply(this, arguments);
  }
  return held.guarded(
    () => {
      if (held.phase === OPEN) held.decide(this.statusCode, undefined, this.req?.method === "HEAD");
      if (held.chunks === undefined && (held.verdict === null || held.verdict.action !== WANT_BODY || !held.mayHold())) {
        held.release();
        held.judge.wrote(chunk, encoding);
        return held.call(held.write, arguments);
      }
      held.phase = HELD;
      const bytes = toBuffer(chunk, encoding);
      (held.chunks ??= []).push(bytes);
      held.size += bytes.length;
      const done = typeof encoding === "function" ? encoding : callback;
      if (typeof done === "function") process.nextTick(done);
      return held.size > held.verdict.bodyLimit ? held.release() : true;
    },
    held.write,
    arguments,
  );
}

function end(chunk, encoding, callback) {
  const held = this[HOLD];
  if (held.inside) return held.end.apply(this, arguments);
  if (held.ended) {
    refuseAfterEnd(held, typeof chunk === "function" ? chunk : encoding, callback);
    return this;
  }
  held.ended = true;
  try {
    return finalEnd.call(this, held, chunk, encoding, callback, arguments);
  } finally {
    held.judge.handled();
  }
}

function finalEnd(held, chunk, encoding, callback, args) {
  if (held.phase === PASSING || (held.phase === OPEN && !held.judge.concerns(this.statusCode))) {
    held.phase = PASSING;
    held.judge.wrote(chunk, encoding);
    return held.call(held.end, args);
  }
  return held.guarded(
    () => {
      const [last, done] = normalise(chunk, encoding, callback);
      const whole = held.chunks === undefined ? last : Buffer.concat(last === undefined ? held.chunks : [...held.chunks, last]);
      const none = whole === undefined || this.req?.method === "HEAD";
      const verdict = held.decide(held.status ?? this.statusCode, none ? undefined : whole, none);
      held.releaseHead();
      const body = verdict?.body ?? (held.chunks === undefined ? undefined : whole);
      held.chunks = undefined;
      if (body === undefined) {
        held.judge.wrote(last);
        return held.call(held.end, args);
      }
      held.judge.wrote(body);
      held.call(held.end, done === undefined ? [body] : [body, done]);
      return this;
    },
    held.end,
    args,
  );
}

function flushHeaders() {
  const held = this[HOLD];
  if (held.inside || held.phase === PASSING) return held.flushHeaders.apply(this);
  if (held.phase === OPEN && !held.judge.concerns(this.statusCode)) {
    held.phase = PASSING;
    return held.flushHeaders.apply(this);
  }
  return held.guarded(
    () => {
      if (held.phase === OPEN) held.decide(this.statusCode, undefined, this.req?.method === "HEAD");
      held.release();
      return held.call(held.flushHeaders, []);
    },
    held.flushHeaders,
    [],
  );
}

/** What comes after the end is swallowed: handed on, it would be a write-after-end that ends the process. */
function refuseAfterEnd(held, encoding, callback) {
  held.judge.sentTwice();
  const done = typeof encoding === "function" ? encoding : callback;
  if (typeof done === "function") process.nextTick(done, Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" }));
  return false;
}

function normalise(chunk, encoding, callback) {
  if (typeof chunk === "function") return [undefined, chunk];
  const done = typeof encoding === "function" ? encoding : callback;
  return [chunk === undefined || chunk === null ? undefined : toBuffer(chunk, encoding), done];
}

/** The bytes of a chunk, copied where the handler could still change them. */
function toBuffer(chunk, encoding) {
  if (typeof chunk === "string") return Buffer.from(chunk, typeof encoding === "string" ? encoding : "utf8");
  return Buffer.from(chunk);
}

function noop() {
  return this;
}

module.exports = { hold, isHeld, judgeOf };
