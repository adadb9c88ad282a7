"use strict";
// Reads the head a ServerResponse is about to send, and applies edits to it in the form the handler used.

/**
 * The final header lines: what was set on the response, overlaid with what `writeHead` was given.
 * @returns {{flat: string, spelling: Map<string, string>, explicit: any}} `name\nvalue` repeated, the spelling in use for
 *   each lower-case name, and the headers argument of writeHead, if any.
 */
function readHead(res, args) {
  const explicit = headersArgument(args);
  const lines = [];
  const spelling = new Map();
  const given = explicit === undefined ? undefined : pairs(explicit);
  const overridden = given === undefined ? undefined : new Set(given.map(([name]) => name.toLowerCase()));
  for (const name of res.getRawHeaderNames?.() ?? res.getHeaderNames()) {
    if (overridden?.has(name.toLowerCase())) continue;
    push(lines, spelling, name, res.getHeader(name));
  }
  if (given !== undefined) for (const [name, value] of given) push(lines, spelling, name, value);
  return { flat: lines.join("\n"), spelling, explicit };
}

/**
 * Applies a verdict's edits. Returns the arguments for the original writeHead; the handler's own are never changed in place.
 */
function applyEdits(res, args, head, edits) {
  if (edits === "") return args;
  const parts = edits.split("\n");
  // With nothing set on the response, Node sends writeHead's headers as they are (duplicates and all): stay on that path.
  const onlyExplicit = head.explicit !== undefined && res.getHeaderNames().length === 0;
  let explicit = head.explicit === undefined ? undefined : copy(head.explicit);
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [op, plain, value] = [parts[at], parts[at + 1], parts[at + 2]];
    const lower = plain.toLowerCase();
    const name = head.spelling.get(lower) ?? plain;
    const inExplicit = explicit !== undefined && has(explicit, lower);
    if (inExplicit || onlyExplicit) explicit = op === "R" ? without(explicit, lower) : withValue(explicit, lower, name, value);
    if (!onlyExplicit) {
      if (op === "R" || inExplicit) res.removeHeader(name);
      else res.setHeader(name, value);
    }
  }
  if (explicit === undefined) return args;
  return typeof args[1] === "string" ? [args[0], args[1], explicit] : args.length > 2 ? [args[0], args[1], explicit] : [args[0], explicit];
}

/** The headers among the arguments of writeHead(status[, message][, headers]). */
function headersArgument(args) {
  if (args === undefined) return undefined;
  const found = typeof args[1] === "string" || args.length > 2 ? args[2] : args[1];
  return found === null || typeof found !== "object" ? undefined : found;
}

/** writeHead's headers, whichever of its three forms they have, as [name, value] pairs. */
function pairs(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers).filter(([, value]) => value !== undefined);
  if (headers.length > 0 && Array.isArray(headers[0])) return headers.map(([name, value]) => [String(name), value]);
  const out = [];
  for (let at = 0; at + 1 < headers.length; at += 2) out.push([String(headers[at]), headers[at + 1]]);
  return out;
}

function push(lines, spelling, name, value) {
  const lower = name.toLowerCase();
  if (!spelling.has(lower)) spelling.set(lower, name);
  if (Array.isArray(value)) for (const one of value) lines.push(name, String(one));
  else lines.push(name, String(value));
}

const isTuples = (headers) => Array.isArray(headers) && headers.length > 0 && Array.isArray(headers[0]);
const copy = (headers) => (Array.isArray(headers) ? headers.slice() : { ...headers });
const has = (headers, lower) => pairs(headers).some(([name]) => name.toLowerCase() === lower);

function without(headers, lower) {
  if (!Array.isArray(headers)) return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== lower));
  const kept = pairs(headers).filter(([name]) => name.toLowerCase() !== lower);
  return isTuples(headers) ? kept : kept.flat();
}

/** The first line of that name gets the value, others go; a new one is appended. */
function withValue(headers, lower, name, value) {
  let placed = false;
  const kept = [];
  for (const [one, old] of pairs(headers)) {
    if (one.toLowerCase() !== lower) kept.push([one, old]);
    else if (!placed) placed = kept.push([one, value]) > 0;
  }
  if (!placed) kept.push([name, value]);
  if (isTuples(headers)) return kept;
  return Array.isArray(headers) ? kept.flat() : Object.fromEntries(kept);
}

module.exports = { applyEdits, readHead };
