// @x402/express on Express 4: the same promises on the framework most merchants still run.

import assert from "node:assert/strict";
import { test } from "node:test";
import express4 from "express4";
import { BROWSER } from "../lib/browser.mjs";
import { expectDecorated, expectHeaderOnly, expectRated, expectUntouched } from "../lib/expect.mjs";
import { compare, onePayment } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";

const stage = await openStage({ express: express4 });

test("this is Express 4: its application has the del method that 5 dropped", () => {
  assert.equal(typeof stage.bare.merchant.app.del, "function");
});

for (const options of [{ path: "/weather?city=Oslo" }, { method: "POST", path: "/analyze" }, { path: "/weather", headers: BROWSER }]) {
  compare(`Express 4: the challenge of ${options.method ?? "GET"} ${options.path}${options.headers ? " for a browser" : ""}`, stage, {
    run: (side) => side.request(options),
    bare: (answer) => assert.equal(answer.status, 402),
    ours: expectDecorated,
  });
}

for (const options of [{ path: "/weather?city=Oslo" }, { method: "POST", path: "/analyze", headers: { "Content-Type": "application/json" }, body: '{"text":"hi"}' }]) {
  compare(`Express 4: a paid ${options.method ?? "GET"} is rated`, stage, {
    run: onePayment(stage, options),
    bare: (answer) => assert.equal(answer.status, 200),
    ours: (answer, bare) => expectRated(answer, bare, { removed: ["etag"] }),
  });
}

for (const path of ["/paid/stream.json", "/paid/events", "/paid/trailers", "/paid/gzip", "/paid/no-content", "/paid/own-id"]) {
  compare(`Express 4: ${path} keeps its body, the id rides in the header`, stage, {
    run: onePayment(stage, { path }),
    bare: (answer) => assert.ok(answer.status < 300),
    ours: (answer, bare) => {
      expectHeaderOnly(answer, bare);
      assert.deepEqual([answer.chunks, answer.trailers], [bare.chunks, bare.trailers]);
    },
  });
}

for (const options of [{ path: "/free" }, { method: "HEAD", path: "/free" }, { path: "/nowhere" }]) {
  compare(`Express 4: ${options.method ?? "GET"} ${options.path} is untouched`, stage, {
    run: (side) => side.request(options),
    bare: (answer) => assert.ok(answer.status),
    ours: expectUntouched,
  });
}

for (const path of ["/paid/throws", "/paid/status/404", "/upfront-failing"]) {
  compare(`Express 4: ${path} is untouched`, stage, {
    run: onePayment(stage, { path }),
    bare: (answer) => assert.ok(answer.status >= 400),
    ours: expectUntouched,
  });
}
