// Answers that are not one piece: streams, trailers, early hints, callbacks, and every spelling of writeHead and end.

import assert from "node:assert/strict";
import { expectFields, expectHeaderOnly, expectId, expectReceipt, expectUntouched } from "../lib/expect.mjs";
import { compare, onePayment } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";

const stage = await openStage();

for (const [id, path] of [
  ["C33", "/paid/stream.json"],
  ["C33", "/paid/events"],
  ["C35", "/paid/ndjson"],
  ["P19", "/paid/flushed.json"],
  ["C28", "/paid/trailers"],
]) {
  compare(`${id} ${path} of unknown length: same chunks, same trailers, the id in the header`, stage, {
    run: onePayment(stage, { path }),
    bare: (answer) => assert.equal(answer.framing, "chunked"),
    ours: (answer, bare) => {
      expectHeaderOnly(answer, bare);
      assert.deepEqual(answer.chunks, bare.chunks);
      assert.deepEqual(answer.trailers, bare.trailers);
      if (id === "C28") assert.deepEqual(answer.trailers, [["X-Checksum", "abc"]]);
    },
  });
}

compare("C34 JSON of known length in slow pieces: held back to the last piece, then edited", stage, {
  run: onePayment(stage, { path: "/paid/slow.json" }),
  bare: (answer) => assert.equal(answer.framing, "length"),
  ours: (answer, bare) => {
    expectFields(answer, bare, expectId(answer));
    assert.equal(answer.framing, "length");
  },
});

compare("C33 a free event stream is not delayed: the first event arrives while the second is not yet there", stage, {
  run: async (side) => {
    const connection = await side.open();
    connection.send("GET /free-events HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n");
    let early = "";
    while (!early.includes('{"n":1}')) early = (await connection.peek(early.length + 1)).toString();
    const answer = await connection.read();
    connection.close();
    return { early, answer };
  },
  bare: ({ early }) => assert.doesNotMatch(early, /"n":2/),
  ours: ({ early, answer }, bare) => {
    assert.doesNotMatch(early, /"n":2/);
    expectUntouched(answer, bare.answer);
  },
});

compare("P17 early hints on a paid answer arrive first", stage, {
  run: onePayment(stage, { path: "/paid/early-hints" }),
  bare: (answer) => assert.deepEqual(answer.informational.map(({ status }) => status), [103]),
  ours: (answer, bare) => {
    assert.deepEqual(answer.informational.map(({ status, headers }) => [status, headers]), bare.informational.map(({ status, headers }) => [status, headers]));
    expectFields(answer, bare, expectId(answer));
  },
});

compare("a write callback is called although the body is held back", stage, {
  run: async (side) => {
    const answer = await writeCallback(side);
    return { answer, called: side.seen.writeCallback };
  },
  bare: ({ called }) => assert.equal(called, true),
  ours: ({ answer, called }, bare) => {
    assert.equal(called, true);
    expectFields(answer, bare.answer, expectId(answer));
  },
});
const writeCallback = onePayment(stage, { path: "/paid/write-callback" });

for (const name of ["status", "message", "headers", "message-headers", "flat"]) {
  const run = onePayment(stage, { path: `/paid/write-head/${name}` });
  compare(`writeHead form "${name}": status, reason and headers arrive as without us`, stage, {
    run: async (side) => ({ answer: await run(side), returnedRes: side.seen.writeHeadReturnedRes }),
    bare: ({ answer, returnedRes }) => {
      assert.equal(returnedRes, true);
      assert.equal(answer.header("content-type"), "application/json");
    },
    ours: ({ answer, returnedRes }, { answer: bare }) => {
      assert.equal(returnedRes, true);
      assert.equal(answer.statusLine, bare.statusLine);
      assert.equal(answer.header("x-own"), bare.header("x-own"));
      const id = expectId(answer);
      expectReceipt(answer, bare, id);
      expectFields(answer, bare, id);
    },
  });
}

for (const name of ["chunk-callback", "chunk-encoding-callback", "hex", "latin1", "uint8array", "other-alphabets", "write-other-alphabets"]) {
  const run = onePayment(stage, { path: `/paid/end/${name}` });
  compare(`end form "${name}": decoded as given, callback called, res returned`, stage, {
    run: async (side) => ({ answer: await run(side), callback: side.seen.endCallback, returnedRes: side.seen.endReturnedRes }),
    bare: ({ answer, returnedRes }) => {
      assert.equal(returnedRes, true);
      assert.match(answer.body.toString("latin1"), /^\{"form":.*\}$/);
    },
    ours: ({ answer, callback, returnedRes }, bare) => {
      assert.deepEqual([callback, returnedRes], [bare.callback, bare.returnedRes]);
      if (name === "latin1") return expectHeaderOnly(answer, bare.answer);
      const id = expectId(answer);
      expectReceipt(answer, bare.answer, id);
      expectFields(answer, bare.answer, id);
    },
  });
}

for (const name of ["chunk-callback", "write-end-callback", "hex", "latin1", "uint8array"]) {
  compare(`end form "${name}" on a free route is untouched`, stage, {
    run: async (side) => ({ answer: await side.request({ path: `/free/end/${name}` }), callback: side.seen.endCallback, returnedRes: side.seen.endReturnedRes }),
    bare: ({ returnedRes }) => assert.equal(returnedRes, true),
    ours: ({ answer, ...rest }, { answer: bare, ...bareRest }) => {
      assert.deepEqual(rest, bareRest);
      expectUntouched(answer, bare);
    },
  });
}
