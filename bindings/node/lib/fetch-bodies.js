"use strict";
// Bodies of fetch-style messages: held while they may still be edited, else streamed on untouched.

/**
 * Takes the beginning of a body, at most about `limit` bytes. `{ head, whole, rest }`: `whole` says that head is all of it;
 * else `rest()` is a stream of everything, head first. A body that is not whole at once is waited for only if `patient`.
 */
async function held(body, limit, { patient }) {
  if (body === null) return { head: Buffer.alloc(0), whole: true, rest: () => null };
  const reader = body.getReader();
  const chunks = [];
  let size = 0;
  let pending = reader.read();
  for (;;) {
    // The first chunk is waited for: nothing has left yet. After it only an end that is there already counts.
    // A failure is left for whoever reads the rest.
    const next = await (patient || size === 0 ? pending : atOnce(pending)).catch(() => undefined);
    if (next?.done) return { head: Buffer.concat(chunks), whole: true, rest: () => null };
    if (next !== undefined) {
      chunks.push(Buffer.from(next.value));
      size += next.value.byteLength;
      pending = reader.read();
    }
    if (next === undefined || size >= limit || (!patient && chunks.length > 1)) {
      pending.catch(() => {});
      return { head: Buffer.concat(chunks), whole: false, rest: () => continued(chunks, pending, reader) };
    }
  }
}

/** What a promise has come to by now; undefined if it has not. */
function atOnce(promise) {
  return Promise.race([promise, new Promise((resolve) => setImmediate(resolve))]);
}

function continued(chunks, pending, reader) {
  let next = pending;
  return new ReadableStream({
    async pull(controller) {
      if (chunks.length > 0) return controller.enqueue(new Uint8Array(chunks.shift()));
      const { done, value } = await next;
      if (done) return controller.close();
      controller.enqueue(value);
      next = reader.read();
      next.catch(() => {});
      return undefined;
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The same stream; `ended(outcome, bytes)` is told when it has been read to its end, broken off, or failed. */
function watched(body, ended) {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          ended("delivered", bytes);
          return controller.close();
        }
        bytes += value.byteLength;
        return controller.enqueue(value);
      } catch (error) {
        ended("failed", bytes);
        throw error;
      }
    },
    cancel(reason) {
      ended("aborted", bytes);
      return reader.cancel(reason);
    },
  });
}

module.exports = { held, watched };
