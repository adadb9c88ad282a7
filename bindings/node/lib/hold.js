"use strict";
// Stands between a handler and its ServerResponse: holds the head until the verdict is known, and a body only while it may
// still be edited. Decides nothing: every decision is the engine's, and whatever fails here passes the traffic as it came.

const { applyEdits, readHead } = require("./head.js");
const { Places, holdOf } = require("./hooks.js");
const { peek } = require("./peek.js");
const { WANT_BODY } = require("./verdict.js");

/** The longest text that is handed over as such, in bytes. */
const SMALL = 16_384;
/** Nothing has been decided. */
const OPEN = 0;
/** The head is held back, and perhaps some body. */
const HELD = 1;
/** Decided: everything goes straight through. */
const PASSING = 2;

const places = new Places({ writeHead, write, end, flushHeaders });

/** Where a response is to be held, or null if it is held already. */
function placeFor(res) {
  const place = places.of(res);
  return place.holdOf(res) === undefined ? place : null;
}

/** Holds `res` at its place. `judge` answers for the request; see judge.js. */
function hold(place, res, judge) {
  const held = new Hold(place, res, judge);
  held.originals = place.install(res, held);
  judge.held = held;
}

/** What judges the response, if it is held. */
const judgeOf = (res) => holdOf(res)?.judge;

class Hold {
  constructor(place, res, judge) {
    this.place = place;
    this.context = judge.context;
    this.res = res;
    this.judge = judge;
    /** The four functions that stood there before. */
    this.originals = undefined;
    this.phase = OPEN;
    /** True while an original runs: it calls the patched ones, which must not decide again. */
    this.inside = false;
    this.ended = false;
    this.frozen = false;
    this.verdict = undefined;
    this.headArgs = undefined;
    this.head = undefined;
    this.status = undefined;
    this.chunks = undefined;
    this.size = 0;
  }

  /** Whether everything goes straight through. `status`: of the head, where it is not that of the response. */
  passes(status) {
    if (this.phase === OPEN && !this.judge.concerns(status)) this.phase = PASSING;
    return this.phase === PASSING;
  }

  /** Whether the response has no body, as far as its request says. */
  get bodyNone() {
    return this.judge.method === "HEAD";
  }

  /** Once response and exchange have ended nothing is asked of this hold any more: what comes then is the same for all. */
  release() {
    const { place, context } = this;
    if (!place.isShared || !this.ended || this.judge.exchange !== null) return;
    if (context.ended?.place !== place) context.ended = new Ended(place, this.originals, context);
    place.release(this.res, context.ended);
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
    if (args !== undefined) this.call(this.originals.writeHead, args);
  }

  /** Gives up holding: the head goes with the verdict there is, then what was held. Returns what the last write said. */
  giveUp() {
    const { chunks = [] } = this;
    this.releaseHead();
    this.chunks = undefined;
    let more = true;
    for (const chunk of chunks) {
      this.judge.wrote(chunk);
      more = this.call(this.originals.write, [chunk]);
    }
    return more;
  }

  /** Ends with `body`, bytes or Latin-1 text. Text goes out in one piece with the head where nobody else stands below us. */
  sendLast(body, done) {
    const asText = typeof body === "string" && body.length <= SMALL && this.place.isShared;
    const last = typeof body === "string" && !asText ? Buffer.from(body, "latin1") : body;
    this.judge.wrote(last, "latin1");
    const args = asText ? [last, "latin1"] : [last];
    if (done !== undefined) args.push(done);
    this.call(this.originals.end, args);
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
      if (this.headArgs !== undefined && !this.res.headersSent) this.call(this.originals.writeHead, this.headArgs);
      const chunks = this.chunks ?? [];
      this.chunks = undefined;
      for (const chunk of chunks) this.call(this.originals.write, [chunk]);
      return this.call(original, args);
    }
  }
}

/** Stands for every response that has ended. */
class Ended {
  inside = false;
  ended = true;
  judge = undefined;

  constructor(place, originals, context) {
    this.place = place;
    this.originals = originals;
    this.context = context;
  }

  passes() {
    return true;
  }
}

function writeHead(held, res, args) {
  const { originals } = held;
  if (held.inside) return originals.writeHead.apply(res, args);
  if (held.phase === HELD) {
    throw Object.assign(new Error("Cannot write headers after they are sent to the client"), { code: "ERR_HTTP_HEADERS_SENT" });
  }
  const status = Number(args[0]);
  if (held.passes(status)) return originals.writeHead.apply(res, args);
  return held.guarded(
    () => {
      held.headArgs = args;
      const verdict = held.decide(status, undefined, held.bodyNone);
      if (verdict !== null && verdict.action === WANT_BODY) {
        held.phase = HELD;
        held.freeze();
      } else {
        held.releaseHead();
      }
      return res;
    },
    itself,
    [],
  );
}

function write(held, res, chunk, encoding, callback, args) {
  const { originals } = held;
  if (held.inside) return originals.write.apply(res, args);
  if (held.ended) return refuseAfterEnd(held, res, encoding, callback);
  if (held.passes()) {
    held.judge.wrote(chunk, encoding);
    return originals.write.apply(res, args);
  }
  return held.guarded(
    () => {
      if (held.phase === OPEN) held.decide(res.statusCode, undefined, held.bodyNone);
      if (held.chunks === undefined && (held.verdict === null || held.verdict.action !== WANT_BODY || !held.mayHold())) {
        held.giveUp();
        held.judge.wrote(chunk, encoding);
        return held.call(originals.write, args);
      }
      held.phase = HELD;
      const bytes = toBuffer(chunk, encoding);
      (held.chunks ??= []).push(bytes);
      held.size += bytes.length;
      const done = typeof encoding === "function" ? encoding : callback;
      if (typeof done === "function") process.nextTick(done);
      return held.size > held.verdict.bodyLimit ? held.giveUp() : true;
    },
    originals.write,
    args,
  );
}

function end(held, res, chunk, encoding, callback, args) {
  if (held.inside) return held.originals.end.apply(res, args);
  if (held.ended) {
    refuseAfterEnd(held, res, typeof chunk === "function" ? chunk : encoding, callback);
    return res;
  }
  held.ended = true;
  try {
    return finalEnd(held, res, chunk, encoding, callback, args);
  } finally {
    held.judge.handled();
    held.release();
  }
}

function finalEnd(held, res, chunk, encoding, callback, args) {
  const { originals } = held;
  if (held.passes()) {
    held.judge.wrote(chunk, encoding);
    return held.call(originals.end, args);
  }
  return held.guarded(
    () => {
      const [last, done] = normalise(chunk, encoding, callback);
      const whole = held.chunks === undefined ? last : wholeOf(held.chunks, last);
      const none = whole === undefined || held.bodyNone;
      const verdict = held.decide(held.status ?? peek(res, "statusCode"), none ? undefined : whole, none);
      held.releaseHead();
      const wasHeld = held.chunks !== undefined;
      held.chunks = undefined;
      const edited = verdict === null ? null : verdict.body;
      if (edited !== null) held.sendLast(edited, done);
      else if (wasHeld) held.sendLast(whole, done);
      else {
        held.judge.wrote(last);
        return held.call(originals.end, args);
      }
      return res;
    },
    originals.end,
    args,
  );
}

function flushHeaders(held, res) {
  const { originals } = held;
  if (held.inside || held.passes()) return originals.flushHeaders.apply(res);
  return held.guarded(
    () => {
      if (held.phase === OPEN) held.decide(res.statusCode, undefined, held.bodyNone);
      held.giveUp();
      return held.call(originals.flushHeaders, []);
    },
    originals.flushHeaders,
    [],
  );
}

/** What comes after the end is swallowed: handed on, it would be a write-after-end that ends the process. */
function refuseAfterEnd(held, res, encoding, callback) {
  const { host, report } = held.context;
  const req = held.judge?.req ?? res.req;
  report(`forge-x402: ${req.method} ${host.target(req).split("?")[0]} was answered twice; the second answer was dropped`);
  const done = typeof encoding === "function" ? encoding : callback;
  if (typeof done === "function") process.nextTick(done, Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" }));
  return false;
}

function normalise(chunk, encoding, callback) {
  if (typeof chunk === "function") return [undefined, chunk];
  const done = typeof encoding === "function" ? encoding : callback;
  if (chunk === undefined || chunk === null) return [undefined, done];
  // Used up before the handler goes on: no copy. A text in UTF-8 is written where the addon reads it.
  const asItIs = chunk instanceof Uint8Array || (typeof chunk === "string" && isUtf8(encoding));
  return [asItIs ? chunk : toBuffer(chunk, encoding), done];
}

const isUtf8 = (encoding) => typeof encoding !== "string" || encoding === "utf8" || encoding === "utf-8";

function wholeOf(chunks, last) {
  if (last === undefined) return Buffer.concat(chunks);
  return Buffer.concat([...chunks, typeof last === "string" ? Buffer.from(last) : last]);
}

/** The bytes of a chunk, copied where the handler could still change them. */
function toBuffer(chunk, encoding) {
  if (typeof chunk === "string") return Buffer.from(chunk, typeof encoding === "string" ? encoding : "utf8");
  return Buffer.from(chunk);
}

function itself() {
  return this;
}

module.exports = { hold, judgeOf, placeFor };
