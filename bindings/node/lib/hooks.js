"use strict";
// Where our four functions stand in front of a response's own, and which response is held by whom.
//
// Express changes the prototype of every response, after which V8 gives each one a hidden class of its own: a property added
// then costs microseconds, and four of them more than all the rest we do. So on such a response nothing is added: our functions
// stand once on the prototype that Express shows for extension, and a response is found in a weak map. Elsewhere, and where
// somebody in front has put functions on the response itself, they are its own properties, as everybody does it.

const NAMES = ["writeHead", "write", "end", "flushHeaders"];
/** The hold of a response with functions of its own. */
const HOLD = Symbol.for("forge-x402.hold");
/** The hold of any other; shared by all copies of this package in a process, so that a second layer passes. */
const holds = (globalThis[Symbol.for("forge-x402.holds")] ??= new WeakMap());

/** The four functions for `find(res)`, which gives the hold they act for; without one they act as `base` does. */
const functions = (work, find, base) => ({
  writeHead() {
    const hold = find(this);
    return hold === undefined ? base.writeHead.apply(this, arguments) : work.writeHead(hold, this, arguments);
  },
  write(chunk, encoding, callback) {
    const hold = find(this);
    return hold === undefined ? base.write.apply(this, arguments) : work.write(hold, this, chunk, encoding, callback, arguments);
  },
  end(chunk, encoding, callback) {
    const hold = find(this);
    return hold === undefined ? base.end.apply(this, arguments) : work.end(hold, this, chunk, encoding, callback, arguments);
  },
  flushHeaders() {
    const hold = find(this);
    return hold === undefined ? base.flushHeaders.apply(this) : work.flushHeaders(hold, this);
  },
});

/** Functions as properties of each response. */
class Own {
  isShared = false;

  constructor(work) {
    this.functions = functions(work, (res) => res[HOLD]);
  }

  holdOf(res) {
    return res[HOLD] ?? holds.get(res);
  }

  /** Puts `hold` on its response; gives what stood there before. */
  install(res, hold) {
    const { writeHead, write, end, flushHeaders } = res;
    res[HOLD] = hold;
    // Plain writable own properties: payment middleware assigns over them and calls these later.
    res.writeHead = this.functions.writeHead;
    res.write = this.functions.write;
    res.end = this.functions.end;
    res.flushHeaders = this.functions.flushHeaders;
    return { writeHead, write, end, flushHeaders };
  }
}

/** Functions on a prototype, in front of those of its own prototype `base`. */
class Shared {
  isShared = true;

  constructor(work, proto, base) {
    this.base = base;
    const find = (res) => {
      // An object derived from the response leads to it by its request.
      const hold = holds.get(res) ?? holds.get(res.req?.res);
      return hold?.place === this ? hold : undefined;
    };
    for (const [name, value] of Object.entries(functions(work, find, base))) {
      Object.defineProperty(proto, name, { value, writable: true, configurable: true, enumerable: false });
    }
  }

  holdOf(res) {
    return holds.get(res);
  }

  install(res, hold) {
    holds.set(res, hold);
    return this.base;
  }

  /**
   * Puts `ended`, which stands for any number of responses, in the place of a hold: a young object in an old map is kept, with
   * all it leads to, until the next full collection.
   */
  release(res, ended) {
    holds.set(res, ended);
  }
}

/** Where the functions `work` stand on a response, found by its prototype once. */
class Places {
  #known = new WeakMap();
  #work;
  #own;

  constructor(work) {
    this.#work = work;
    this.#own = new Own(work);
  }

  of(res) {
    const proto = Object.getPrototypeOf(res);
    let place = this.#known.get(proto);
    if (place === undefined) this.#known.set(proto, (place = this.#find(proto)));
    return hasOwn(res) ? this.#own : place;
  }

  #find(proto) {
    // A class's own prototype: the responses are as their constructor made them, and properties cost little.
    if (Object.hasOwn(proto, "constructor")) return this.#own;
    for (let below = null, at = proto; at !== null; below = at, at = Object.getPrototypeOf(at)) {
      const known = this.#known.get(at);
      if (known instanceof Shared) return known;
      if (!hasOwn(at)) continue;
      if (below === null || !NAMES.every((name) => typeof at[name] === "function")) return this.#own;
      try {
        const place = new Shared(this.#work, below, at);
        this.#known.set(below, place);
        return place;
      } catch {
        return this.#own;
      }
    }
    return this.#own;
  }
}

const hasOwn = (at) => Object.hasOwn(at, "end") || Object.hasOwn(at, "write") || Object.hasOwn(at, "writeHead") || Object.hasOwn(at, "flushHeaders");

module.exports = { Places, holdOf: (res) => holds.get(res) ?? res[HOLD] };
