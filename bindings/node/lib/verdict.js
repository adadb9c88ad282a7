"use strict";
// Takes apart what the addon says of a verdict; see src/verdict.rs.

const PASS = 0;
const REPLY = 1;
const WANT_BODY = 2;
const WAIT = 3;

/**
 * @typedef {object} Verdict
 * @property {number} action
 * @property {number} httpStatus of a reply
 * @property {number} bodyLimit the largest body worth holding, in bytes
 * @property {string} feedbackId "" where the answer carries none
 * @property {string} target "" where it stays as it is
 * @property {string[]} edits `op, name, value` repeated, op one of S(et), A(dd), R(emove)
 * @property {string | null} body in Latin-1: a character is a byte
 */

/** Goes on and changes nothing. */
const PASSED = Object.freeze({ action: PASS, httpStatus: 0, bodyLimit: 0, feedbackId: "", target: "", edits: Object.freeze([]), body: null });

/** @returns {Verdict} */
function readVerdict(told) {
  if (told === "") return PASSED;
  // By hand: split() and taking the rest apart costs twice as much.
  let at = 0;
  const next = () => {
    const end = told.indexOf("\n", at);
    const part = told.slice(at, end);
    at = end + 1;
    return part;
  };
  const [action, httpStatus, bodyLimit] = [Number(next()), Number(next()), Number(next())];
  const [feedbackId, target] = [next(), next()];
  const edits = [];
  for (let left = Number(next()) * 3; left > 0; left -= 1) edits.push(next());
  const body = at < told.length ? told.slice(at + 1) : null;
  return { action, httpStatus, bodyLimit, feedbackId, target, edits, body };
}

/** A verdict's body as bytes; null where there is none. */
const bodyBytes = ({ body }) => (body === null ? null : Buffer.from(body, "latin1"));

module.exports = { PASS, PASSED, REPLY, WANT_BODY, WAIT, bodyBytes, readVerdict };
