"use strict";
// How heads and small bodies cross to the addon: written one behind the other into a buffer that is used again and again, because
// one write and one number cost a fraction of what handing over a string does. See src/heads.rs.

/** The longest text that is written there as a body, in characters. */
const SMALL_TEXT = 16_384;
/** In place of a body's length. */
const UNREAD = -1;
const NONE = -2;
const APART = -3;

let scratch;

/** `method\ntarget\naddress\nname\nvalue...`; `lines` is flat, as Node's rawHeaders. */
function requestHead(method, target, clientIp, lines) {
  let text = `${method}\n${target}\n${clientIp}`;
  for (let at = 0; at < lines.length; at += 1) text += `\n${lines[at]}`;
  return text;
}

/** `route\nname\nvalue...`; `lines` is `name\nvalue...`. A route pattern crosses as UTF-8, each byte a character. */
function responseHead(route, lines) {
  const bytes = /[^ -~]/.test(route) ? Buffer.from(route.replaceAll("\n", " ")).latin1Slice() : route;
  return lines === "" ? bytes : `${bytes}\n${lines}`;
}

/**
 * Writes what crosses in one call. Its bytes stand in `scratch()`, until the next call.
 * @param {string} heads each character a byte
 * @param {string | Uint8Array | undefined} body a text stands for its UTF-8 bytes
 * @returns {number} the length of the body if it was written behind the heads; else UNREAD, NONE, or APART: hand it over as it is
 */
function write(heads, body, bodyNone) {
  const text = typeof body === "string" && body.length <= SMALL_TEXT;
  const room = heads.length + (text ? body.length * 3 : 0);
  if (scratch === undefined || scratch.length < room) scratch = Buffer.allocUnsafeSlow(Math.max(65_536, room));
  scratch.latin1Write(heads, 0);
  if (text) return scratch.utf8Write(body, heads.length);
  if (body === undefined) return bodyNone ? NONE : UNREAD;
  return APART;
}

/** The body itself where it was not written. */
function apart(body, size) {
  if (size !== APART) return undefined;
  return typeof body === "string" ? Buffer.from(body) : body;
}

module.exports = { apart, requestHead, responseHead, scratch: () => scratch, write };
