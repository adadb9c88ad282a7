// Handlers that answer twice. Under the payment layer the second answer is queued and replayed after the first, which
// ends the process with ERR_STREAM_WRITE_AFTER_END; each case therefore runs in a process of its own.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { withoutForge } from "../lib/forge.mjs";

for (const path of ["/paid/sent-twice", "/paid/rejects-late"]) {
  test(`${path}: a second answer`, async (t) => {
    await t.test("without us it ends the process", async () => {
      const { code, stderr } = await serve("bare", path);
      assert.notEqual(code, 0);
      assert.match(stderr, /ERR_STREAM_WRITE_AFTER_END/);
    });
    await t.test("with us it is swallowed: the first body arrives, the process goes on", { skip: withoutForge && "E2E_WITHOUT_FORGE=1" }, async () => {
      const { code, stdout, stderr } = await serve("ours", path);
      assert.equal(code, 0, stderr);
      const { received, next } = JSON.parse(stdout.trim().split("\n").pop());
      assert.match(received, /\{"first":true/);
      assert.doesNotMatch(received, /second|rejected/);
      assert.equal(next, 200);
    });
  });
}

function serve(side, path) {
  const program = fileURLToPath(new URL("../lib/double-send.mjs", import.meta.url));
  return new Promise((resolve) => {
    execFile(process.execPath, [program, side, path], { timeout: 20_000 }, (error, stdout, stderr) => resolve({ code: error ? (error.code ?? error.signal) : 0, stdout, stderr }));
  });
}
