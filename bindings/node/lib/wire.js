"use strict";
// How a request's head crosses to the addon: as Latin-1 text in a buffer that is used again and again, because one write and one
// number cost a fraction of what handing over strings does.

let scratch;

/** `method\ntarget\naddress\nname\nvalue...`; `lines` is flat, as Node's rawHeaders. */
function requestHead(method, target, clientIp, lines) {
  let text = `${method}\n${target}\n${clientIp}`;
  for (let at = 0; at < lines.length; at += 1) text += `\n${lines[at]}`;
  return text;
}

/** Calls `ask(bytes, length)` with the head written out; the bytes are good during the call only. */
function showRequest(head, ask) {
  if (scratch === undefined || scratch.length < head.length) scratch = Buffer.allocUnsafeSlow(Math.max(16_384, head.length));
  return ask(scratch, scratch.latin1Write(head, 0));
}

module.exports = { requestHead, showRequest };
