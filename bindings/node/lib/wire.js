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

/** Writes `head` out: its bytes are the first `head.length` of what is returned, until the next call. */
function written(head) {
  if (scratch === undefined || scratch.length < head.length) scratch = Buffer.allocUnsafeSlow(Math.max(16_384, head.length));
  scratch.latin1Write(head, 0);
  return scratch;
}

module.exports = { requestHead, written };
