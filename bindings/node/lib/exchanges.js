"use strict";
// The engine's exchanges as the adapters use them: begun on a request, or on its answer where that comes first; ended once.
//
// The addon's object behind one is used again: making it, and having the garbage collector tell the addon of its end, costs more
// than all that is done with it.

const { readVerdict } = require("./verdict.js");
const { apart, responseHead, scratch, write } = require("./wire.js");

/** So many wait to be used again, in an engine. */
const SPARE = 256;

class Exchanges {
  #engine;
  #make;
  #spare = [];

  /** `make()` gives an addon's object that has not begun. */
  constructor(engine, make) {
    this.#engine = engine;
    this.#make = make;
  }

  /** @returns {{exchange: Exchange, verdict: object} | null} null: nothing to do before the response. */
  onRequest(head) {
    const native = this.#spare.pop() ?? this.#make();
    write(head, undefined, true);
    return this.#begun(native, this.#engine.onRequest(scratch(), head.length, native));
  }

  /** For a request that got null and is answered 402. Null: let the response pass. `body`: see wire.js. */
  onResponseLate(head, status, route, lines, body, bodyNone) {
    const native = this.#spare.pop() ?? this.#make();
    const heads = head + responseHead(route, lines);
    const size = write(heads, body, bodyNone);
    return this.#begun(native, this.#engine.onResponseLate(scratch(), head.length, heads.length, status, size, apart(body, size), native));
  }

  #begun(native, told) {
    if (told === null) this.giveBack(native);
    return told === null ? null : { exchange: new Exchange(this, native), verdict: readVerdict(told) };
  }

  giveBack(native) {
    if (this.#spare.length < SPARE) this.#spare.push(native);
  }
}

class Exchange {
  #exchanges;
  #native;

  constructor(exchanges, native) {
    this.#exchanges = exchanges;
    this.#native = native;
  }

  onRequestBody(body) {
    return readVerdict(this.#native.onRequestBody(body));
  }

  /** `body`: see wire.js. */
  onResponse(status, route, lines, body, bodyNone) {
    const head = responseHead(route, lines);
    const size = write(head, body, bodyNone);
    return readVerdict(this.#native.onResponse(scratch(), head.length, status, size, apart(body, size)));
  }

  /** Asks the backend on another thread. */
  async wait(limitMs) {
    return readVerdict(await this.#native.wait(limitMs));
  }

  /** Ends it; nothing may be asked of it any more. `outcome`: "delivered", "aborted" or "failed". */
  end(outcome, status, bytes) {
    const native = this.#native;
    this.#native = ENDED;
    if (native.end(OUTCOMES[outcome] ?? UNKNOWN, status, bytes)) this.#exchanges.giveBack(native);
  }
}

/** As src/exchange.rs counts them. */
const OUTCOMES = { delivered: 0, aborted: 1, failed: 2 };
const UNKNOWN = 3;

/** Stands behind an exchange that has ended: whatever is asked of it passes. */
const ENDED = { onRequestBody: () => "", onResponse: () => "", wait: async () => "", end: () => false };

module.exports = { Exchanges };
