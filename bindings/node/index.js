"use strict";
// forge-x402 for Node.js: `createForge(options)` makes an engine and its adapters.

const { connect } = require("./lib/connect.js");
const { load } = require("./lib/native.js");
const { toJson } = require("./lib/options.js");

/** Opens an engine. Throws only with `strict: true` and a bad option, or for an option in two spellings. */
function createForge(options) {
  const native = load();
  if (native.error !== undefined) {
    warn(native.error.message);
    return new Forge(null);
  }
  const forge = new Forge(new native.Engine(toJson(options)));
  const faults = forge.engine.faults();
  if (faults.length > 0) warn(`forge-x402 is off, all traffic passes unchanged: ${faults.join("; ")}`);
  return forge;
}

/** An engine and its adapters. `engine` is null where the addon could not be loaded. */
class Forge {
  #warned = new Map();

  constructor(engine) {
    this.engine = engine;
  }

  /** Middleware for Express, Connect and node:http; goes in front of the payment middleware. */
  middleware() {
    if (this.engine === null) return function forgePassThrough(_req, _res, next) { return next(); };
    return connect(this.engine, (message) => this.#warn(message));
  }

  /** What has happened so far in this process. */
  stats() {
    return this.engine === null ? null : this.engine.stats();
  }

  /** One warning a minute of a kind: a fault that every request meets must not flood the log. */
  #warn(message) {
    const now = Date.now();
    const kind = message.slice(0, 40);
    if (now - (this.#warned.get(kind) ?? 0) < 60_000) return;
    if (this.#warned.size > 100) this.#warned.clear();
    this.#warned.set(kind, now);
    warn(message);
  }
}

/** Edge runtimes have no process to warn through. */
function warn(message) {
  if (typeof process !== "undefined" && process.emitWarning) process.emitWarning(message, "ForgeWarning");
  else console.warn(message);
}

module.exports = { createForge, Forge };
