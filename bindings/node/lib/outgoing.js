"use strict";
// The header lines set on a response of node:http, where Node itself keeps them: a table under a symbol, `lower: [name, value]`.
//
// getHeaders() copies it, and setHeader() looks at each character of a value that the engine has made of allowed ones: both together
// cost about as much as the rest of what we do. What is not exactly as known here is left to the public functions.

const { peek } = require("./peek.js");

/** Undefined: not looked for yet; null: this Node, or what stands in its place, keeps headers otherwise. */
let known;

/** @returns {Record<string, [string, any]> | null} null: ask the public functions. */
function tableOf(res) {
  if (known === undefined) {
    // A response without headers shows nothing to compare.
    if (!(res.getHeaderNames?.().length > 0)) return null;
    known = find(res);
  }
  return known === null ? null : (peek(res, known.symbol) ?? null);
}

/** Whether what is written into the table is what setHeader() would have written: it is Node's own, and the head has not been sent. */
function mayWrite(res) {
  return peek(res, "setHeader") === known.setHeader && !peek(res, "headersSent");
}

/** Applies a verdict's edits; a line that is there keeps its place and spelling. */
function edit(res, table, edits) {
  for (let at = 0; at + 2 < edits.length; at += 3) {
    const name = edits[at + 1];
    const lower = lowerOf(name);
    if (edits[at] !== "R") table[lower] = [table[lower]?.[0] ?? name, edits[at + 2]];
    else if (REMEMBERED.has(lower)) res.removeHeader(lower);
    else delete table[lower];
  }
}

/** The engine names few headers, and says them again and again. */
const lowered = new Map();

function lowerOf(name) {
  let lower = lowered.get(name);
  if (lower === undefined) lowered.set(name, (lower = name.toLowerCase()));
  return lower;
}

/** Of these Node remembers that they were removed, and does not add its own. */
const REMEMBERED = new Set(["connection", "content-length", "date", "transfer-encoding"]);

function find(res) {
  const { setHeader, removeHeader } = res;
  const symbol = chain(res).flatMap((at) => Object.getOwnPropertySymbols(at)).find(({ description }) => description === "kOutHeaders");
  const isNodes = (work) => typeof work === "function" && Function.prototype.toString.call(work).includes("this[kOutHeaders]");
  if (symbol === undefined || !isNodes(setHeader) || !isNodes(removeHeader)) return null;
  const table = res[symbol];
  const said = Object.entries(res.getHeaders());
  const names = res.getRawHeaderNames?.();
  const same = ([lower, value], at) => table[lower]?.length === 2 && table[lower][0] === (names?.[at] ?? table[lower][0]) && table[lower][1] === value;
  return said.length === Object.keys(table).length && said.every(same) ? { symbol, setHeader } : null;
}

/** A response and what it was derived from. */
function chain(res) {
  const all = [];
  for (let at = res; at !== null; at = Object.getPrototypeOf(at)) all.push(at);
  return all;
}

module.exports = { edit, mayWrite, tableOf };
