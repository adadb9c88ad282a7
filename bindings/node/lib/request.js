"use strict";
// What the engine is told of a Node request, and the edits a verdict makes to it, in every place where frameworks look.

const { peek } = require("./peek.js");

/** The target as it came, whatever a router has cut off. */
function target(req) {
  return peek(req, "originalUrl") ?? req.url ?? "";
}

/** The client's address: after Express's own proxy trust where that is switched on, else the other end of the socket. */
function clientIp(req) {
  // Express shows its application on the prototype; on the request itself it would be searched for, see hooks.js.
  const trusts = (Object.getPrototypeOf(req).app ?? req.app)?.settings?.["trust proxy"];
  return (trusts ? req.ip : undefined) ?? peek(req, "socket")?.remoteAddress ?? "";
}

/** The pattern of the matched route, if Express has matched one by now. */
function route(req) {
  const path = peek(req, "route")?.path;
  if (typeof path !== "string") return "";
  const base = peek(req, "baseUrl");
  return typeof base === "string" ? base + path : path;
}

/** Applies what a verdict says of the request; `body` is the body's business. */
function applyToRequest(req, verdict) {
  if (verdict.target !== "") setTarget(req, verdict.target);
  setHeaders(req, verdict.edits);
}

/** A verdict changes only the query; a path that a router has shortened stays as it is. */
function setTarget(req, to) {
  const query = (of) => (of.includes("?") ? of.slice(of.indexOf("?")) : "");
  const before = query(target(req));
  if (query(req.url) === before) req.url = req.url.slice(0, req.url.length - before.length) + query(to);
  if (req.originalUrl !== undefined) req.originalUrl = to;
  // Express 4 has parsed the query already; Express 5 parses it from req.url whenever it is read.
  if (!Object.hasOwn(req, "query")) return;
  const parse = req.app?.get?.("query parser fn");
  if (typeof parse === "function") req.query = parse(query(to).slice(1));
}

function setHeaders(req, edits) {
  for (let at = 0; at + 2 < edits.length; at += 3) {
    const [op, name, value] = [edits[at], edits[at + 1], edits[at + 2]];
    const lower = name.toLowerCase();
    setLine(req.rawHeaders, op, name, lower, value);
    if (op === "R") delete req.headers[lower];
    else req.headers[lower] = op === "A" && req.headers[lower] !== undefined ? `${req.headers[lower]}, ${value}` : value;
  }
}

function setLine(raw, op, name, lower, value) {
  let placed = op !== "S";
  for (let at = 0; op !== "A" && at < raw.length; at += 2) {
    if (raw[at].toLowerCase() !== lower) continue;
    if (placed) {
      raw.splice(at, 2);
      at -= 2;
    } else {
      raw[at + 1] = value;
      placed = true;
    }
  }
  if (op === "A" || !placed) raw.push(name, value);
}

module.exports = { applyToRequest, clientIp, route, target };
