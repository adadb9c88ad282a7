"use strict";
// The heads of fetch-style requests and responses, for the engine and back.

/** `name\nvalue` repeated; Set-Cookie keeps its lines. */
function flatHeaders(headers) {
  const parts = [];
  for (const [name, value] of headers) parts.push(name, value);
  return parts.join("\n");
}

/** New headers with a verdict's edits applied. */
function editHeaders(headers, edits) {
  const edited = new Headers(headers);
  for (const [op, name, value] of triples(edits)) {
    if (op === "R") edited.delete(name);
    else if (op === "S") edited.set(name, value);
    else edited.append(name, value);
  }
  return edited;
}

/** The headers of an answer of our own. */
function listed(edits) {
  return triples(edits).map(([, name, value]) => [name, value]);
}

function triples(edits) {
  const out = [];
  for (let at = 0; at + 2 < edits.length; at += 3) out.push(edits.slice(at, at + 3));
  return out;
}

module.exports = { editHeaders, flatHeaders, listed };
