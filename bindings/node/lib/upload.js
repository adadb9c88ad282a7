"use strict";
// Holds the body of a request before anybody reads it, up to a limit, and hands it on: as it came, or edited.
//
// The bytes are caught where the parser delivers them (`req.push`), so the stream the handler gets has not been touched.
// What cannot be held without touching it (somebody reads already, the client still waits for 100 Continue) is left alone.

/**
 * Calls `ready(body, handOn)` once: with the body, or the first `limit + 1` bytes of a longer one, or null where it cannot be held.
 * `handOn(edited)` must be called before the request goes on; `edited` null or absent hands on what came. A client that
 * leaves before is told to `gone()`.
 */
function holdBody(req, res, limit, ready, gone) {
  if (req.readableDidRead && req.body != null) return readParsed(req, limit, ready);
  if (!mayHold(req, res)) return ready(null, nothing);

  // An asynchronous middleware in front may have let some bytes in; nobody has seen them.
  const early = req.readableLength > 0 ? req.read() : null;
  const chunks = early === null ? [] : [early];
  let size = early === null ? 0 : early.length;
  if (req.complete || size > limit) {
    const whole = early ?? Buffer.alloc(0);
    return ready(whole.subarray(0, limit + 1), (edited) => {
      if (early !== null) req.unshift(edited ?? early);
    });
  }

  const push = req.push;
  const own = Object.hasOwn(req, "push");
  const restore = () => {
    res.removeListener("close", leave);
    if (own) req.push = push;
    else delete req.push;
  };
  const leave = () => {
    restore();
    gone();
  };
  res.once("close", leave);

  req.push = function hold(chunk, encoding) {
    if (chunk === null) {
      restore();
      const body = Buffer.concat(chunks);
      // Not inside the parser's callback: a handler runs from here.
      process.nextTick(() => {
        if (req.destroyed) return gone();
        ready(body, (edited) => {
          const bytes = edited ?? body;
          if (bytes.length > 0) push.call(req, bytes);
          push.call(req, null);
        });
      });
      return false;
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
    chunks.push(bytes);
    size += bytes.length;
    if (size <= limit) return true;
    restore();
    let more = true;
    for (const held of chunks) more = push.call(req, held);
    const head = Buffer.concat(chunks).subarray(0, limit + 1);
    process.nextTick(() => (req.destroyed ? gone() : ready(head, nothing)));
    return more;
  };
}

function mayHold(req, res) {
  if (req.destroyed || req.readableDidRead || req.readableFlowing === true || req.readableEncoding) return false;
  if (req.listenerCount("data") > 0 || req.listenerCount("readable") > 0) return false;
  // With a listener for checkContinue it is the application that asks for the body.
  return req.headers.expect === undefined || res._sent100 === true;
}

/** A body parser stands in front of us: its result is what there is, and an edit goes there. */
function readParsed(req, limit, ready) {
  const { body } = req;
  const isText = typeof body === "string";
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(isText ? body : JSON.stringify(body));
  return ready(bytes.subarray(0, limit + 1), (edited) => {
    if (edited == null) return;
    if (Buffer.isBuffer(body)) req.body = edited;
    else req.body = isText ? edited.toString() : JSON.parse(edited.toString());
  });
}

function nothing() {}

module.exports = { holdBody };
