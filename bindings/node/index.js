"use strict";
// forge-x402 for Node.js: `createForge(options)` makes an engine and its adapters.

const { connect, listener } = require("./lib/connect.js");
const { Exchanges } = require("./lib/exchanges.js");
const { fastify } = require("./lib/fastify.js");
const { wrapFetch } = require("./lib/fetch.js");
const { Glance } = require("./lib/glance.js");
const { lookAfter } = require("./lib/life.js");
const { load } = require("./lib/native.js");
const { forEngine } = require("./lib/options.js");
const { watchOwnRoutes } = require("./lib/owned-routes.js");

/** Opens an engine. Throws only with `strict: true` and a bad option, or for an option in two spellings. */
function createForge(options) {
  const native = load();
  if (native.error !== undefined) {
    warn(native.error.message);
    return new Forge(null);
  }
  const known = forEngine(options);
  return new Forge(new native.Engine(JSON.stringify(known)), known, () => new native.Exchange());
}

/** An engine and its adapters. `engine` is null where the addon could not be loaded: then everything passes. */
class Forge {
  #warned = new Map();
  #care = null;
  #options;
  #glance;
  #newExchange;

  /** `options`: as the engine spells them; `newExchange` makes what an exchange needs of the addon. */
  constructor(engine, options = {}, newExchange = undefined) {
    this.engine = engine;
    this.#options = options;
    this.#newExchange = newExchange;
    if (engine === null) return;
    this.#glance = new Glance(options);
    // Faults of the options are said at once.
    this.#pull();
    this.#care = lookAfter(engine, () => this.#pull());
  }

  /** Middleware for Express, Connect and node:http; goes in front of the payment middleware. */
  middleware() {
    if (this.engine === null) return function forgePassThrough(_req, _res, next) { return next(); };
    const { feedback, base_path: basePath = "/feedback" } = this.#options;
    const ours = this.#ours();
    return connect(ours, feedback === false ? undefined : watchOwnRoutes(basePath, ours.report));
  }

  /** A node:http listener around `handler`, which may be an application; sees also when it throws. */
  listener(handler) {
    return this.engine === null ? handler : listener(this.#ours(), handler);
  }

  /** A Fastify plugin; register it before the payment plugin. */
  fastify() {
    return this.engine === null ? (_app, _options, done) => done() : fastify(this.#ours());
  }

  /** A fetch-style handler around `handler`: Hono's `app.fetch`, a Next.js route handler. */
  fetch(handler, options) {
    return this.engine === null ? handler : wrapFetch(this.#ours(), handler, options);
  }

  /** What has happened so far in this process. */
  stats() {
    return this.engine === null ? null : this.engine.stats();
  }

  /** Takes the lines for your log; those not taken become warnings of the process. */
  diagnostics() {
    return this.engine === null ? [] : JSON.parse(this.engine.diagnostics());
  }

  /** Hands in an event of your own: an object with a text `type`, at most 16 KiB as JSON. */
  enqueueEvent(event) {
    this.engine?.enqueueEvent(JSON.stringify(event));
  }

  /** Resolves when the events handed in so far are sent; false if the limit passed first. Never rejects. */
  async flush(limitMs = 2_000) {
    return this.engine === null ? true : this.engine.flush(limitMs);
  }

  /** Sends what there is and stops; resolves with the number of events lost. Traffic is transformed as before. */
  async shutdown(limitMs = 1_500) {
    if (this.engine === null) return 0;
    this.#care?.stop();
    this.#care = null;
    const lost = await this.engine.shutdown(limitMs);
    this.#pull();
    return lost;
  }

  /** The functions for hosts without an adapter; null: send the original. See index.d.ts. */
  transformChallenge(form, input) {
    return this.engine?.transformChallenge(form, Buffer.from(input)) ?? null;
  }

  enrichReceipt(value, id) {
    return this.engine?.enrichReceipt(Buffer.from(value), id) ?? null;
  }

  enrichBody(body, id) {
    return this.engine?.enrichBody(Buffer.from(body), id) ?? null;
  }

  enrichOpenapi(document) {
    return this.engine?.enrichOpenapi(Buffer.from(document)) ?? null;
  }

  mintId() {
    return this.engine?.mintId() ?? null;
  }

  verifyId(id) {
    return this.engine?.verifyId(id) ?? "malformed";
  }

  /** What the adapters share. */
  #ours() {
    const exchanges = new Exchanges(this.engine, this.#newExchange);
    return { exchanges, glance: this.#glance, report: (message) => this.#warn(message) };
  }

  /** Hands the engine's log lines on as warnings of the process. */
  #pull() {
    for (const line of this.diagnostics()) warn(`forge-x402: ${line}`);
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
