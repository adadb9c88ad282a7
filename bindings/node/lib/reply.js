"use strict";
// Answers a request with what the engine says, instead of the merchant's handler.

/** Sends a verdict that says reply. What middleware in front has set on the response stays, unless the engine sets it too. */
function reply(res, judge, verdict) {
  judge.status = verdict.httpStatus;
  if (res.headersSent) return;
  if (res.destroyed) return judge.end("aborted");
  res.statusCode = verdict.httpStatus;
  const parts = verdict.edits === "" ? [] : verdict.edits.split("\n");
  for (let at = 0; at + 2 < parts.length; at += 3) res.setHeader(parts[at + 1], parts[at + 2]);
  const body = verdict.body ?? Buffer.alloc(0);
  judge.wrote(body);
  res.end(body);
}

module.exports = { reply };
