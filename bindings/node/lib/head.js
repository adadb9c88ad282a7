"use strict";
// Reads the head a ServerResponse is about to send, and applies edits to it in the form the handler used.

const outgoing = require("./outgoing.js");

/**
 * The final header lines: what was set on the response, overlaid with what `writeHead` was given.
 * @returns {{flat: string, table?: object, names?: string[], explicit?: any}} `name\nvalue` repeated; the table that holds all of
 *   them, see outgoing.js, or else the names as they are spelt, and the headers argument of writeHead, if any.
 */
function readHead(res, args) {
  const explicit = headersArgument(args);
  const table = explicit === undefined ? outgoing.tableOf(res) : null;
  if (table === null) return readByName(res, explicit);
  let flat = "";
  for (const lower in table) flat = withLines(flat, table[lower][0], table[lower][1]);
  return { flat, table };
}

function readByName(res, explicit) {
  const given = explicit === undefined ? undefined : pairs(explicit);
  const overridden = given === undefined ? undefined : new Set(given.map(([name]) => name.toLowerCase()));
  const set = res.getHeaders();
  const lower = Object.keys(set);
  const names = res.getRawHeaderNames?.() ?? lower.slice();
  let flat = "";
  for (let at = 0; at < lower.length; at += 1) {
    if (!overridden?.has(lower[at])) flat = withLines(flat, names[at], set[lower[at]]);
  }
  if (given !== undefined) {
    for (const [name, value] of given) {
      names.push(name);
      flat = withLines(flat, name, value);
    }
  }
  return { flat, names, explicit };
}

/**
 * Applies a verdict's edits. Returns the arguments for the original writeHead; the handler's own are never changed in place.
 */
function applyEdits(res, args, head, edits) {
  if (edits.length === 0) return args;
  if (head.table !== undefined && outgoing.mayWrite(res)) {
    outgoing.edit(res, head.table, edits);
    return args;
  }
  // With nothing set on the response, Node sends writeHead's headers as they are (duplicates and all): stay on that path.
  const onlyExplicit = head.explicit !== undefined && res.getHeaderNames().length === 0;
  let explicit = head.explicit === undefined ? undefined : copy(head.explicit);
  for (let at = 0; at + 2 < edits.length; at += 3) {
    const [op, plain, value] = [edits[at], edits[at + 1], edits[at + 2]];
    const lower = plain.toLowerCase();
    const name = spelling(head, lower) ?? plain;
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

/** How the head spells a name; undefined where it has no such line. */
function spelling({ table, names }, lower) {
  if (table !== undefined) return table[lower]?.[0];
  return names.find((one) => one.length === lower.length && one.toLowerCase() === lower);
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

function withLines(flat, name, value) {
  if (!Array.isArray(value)) return flat === "" ? `${name}\n${value}` : `${flat}\n${name}\n${value}`;
  return value.reduce((lines, one) => withLines(lines, name, String(one)), flat);
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
