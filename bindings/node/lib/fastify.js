"use strict";
// Fastify plugin: its hooks take the request over, the raw response underneath is held as everywhere.

const { judgeOf } = require("./hold.js");
const { take } = require("./phases.js");
const { applyToRequest, target } = require("./request.js");
const { bodyBytes } = require("./verdict.js");

/** A plugin over `ours`, see phases.js; register it before the payment plugin. Its hooks hold for the whole server. */
function fastify(ours) {
  const plugin = (app, _options, registered) => {
    app.addHook("onRequest", (request, reply, done) => {
      take({ ...ours, host: hostOf(request, reply) }, request.raw, reply.raw, done);
    });
    app.addHook("onError", (_request, reply, _error, done) => {
      judgeOf(reply.raw)?.threw();
      done();
    });
    registered();
  };
  // What the package fastify-plugin sets: the hooks are those of the instance that registers us.
  plugin[Symbol.for("skip-override")] = true;
  plugin[Symbol.for("fastify.display-name")] = "forge-x402";
  return plugin;
}

function hostOf(request, reply) {
  return {
    target,
    clientIp: () => request.ip ?? "",
    route: () => request.routeOptions?.url ?? "",
    apply({ req }, verdict) {
      const before = target(req);
      applyToRequest(req, verdict);
      if (verdict.target !== "") forgetParameters(request.query, before, verdict.target);
    },
    /** Through Fastify's own reply, so that the hooks of other plugins see it. */
    reply(judge, verdict) {
      const { edits } = verdict;
      for (let at = 0; at + 2 < edits.length; at += 3) reply.header(edits[at + 1], edits[at + 2]);
      const body = bodyBytes(verdict) ?? Buffer.alloc(0);
      judge.wrote(body);
      reply.code(verdict.httpStatus).send(body.length > 0 ? body : undefined);
    },
  };
}

/** Fastify has parsed the query by now, with a parser of the merchant's choice: what the target has lost goes there too. */
function forgetParameters(query, before, after) {
  const names = (of) => new Set(new URLSearchParams(of.split("?")[1] ?? "").keys());
  const left = names(after);
  for (const name of names(before)) if (!left.has(name)) delete query?.[name];
}

module.exports = { fastify };
