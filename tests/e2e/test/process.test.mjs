// The life of processes: ends of every kind, clusters, worker threads. Events arrive once, and nothing keeps a process alive.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { API_KEY, bindingFolder } from "../lib/forge.mjs";
import { startReceiver } from "../receiver.mjs";

const receiver = await startReceiver({ apiKey: API_KEY });
after(() => receiver.close());

/** Runs a program of ../programs to its end; `meanwhile(child)` runs as soon as it says it is ready. */
function run(name, args, meanwhile = () => {}) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL(`../programs/${name}.mjs`, import.meta.url)), args, { silent: true });
    const out = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"]) child[stream].on("data", (part) => (out[stream] += part));
    child.once("message", () => meanwhile(child));
    // A process that is kept alive is a failure, not a hang.
    const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, ...out });
    });
  });
}

const notes = (what) => receiver.events.filter((event) => event.type === "note" && Object.entries(what).every(([name, value]) => event[name] === value));

for (const [how, code] of [["natural", 0], ["exit", 0], ["exit-code", 7], ["throws", 1], ["shutdown", 0]]) {
  test(`P24 a process that ends by ${how}: its event is sent once, the exit code is its own`, async () => {
    const ended = await run("report", [how, receiver.url]);
    assert.equal(ended.code, code, ended.stderr);
    assert.equal(notes({ how }).length, 1);
  });
}

test("P24 SIGTERM with a handler that calls shutdown(): the event is sent", async () => {
  const ended = await run("report", ["sigterm", receiver.url], (child) => child.kill("SIGTERM"));
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(notes({ how: "sigterm" }).length, 1);
});

test("P24 SIGTERM without a handler ends the process at once, as without us", async () => {
  const ended = await run("report", ["sigterm-bare", receiver.url], (child) => child.kill("SIGTERM"));
  assert.equal(ended.signal, "SIGTERM");
});

for (const how of ["natural", "exit", "shutdown"]) {
  test(`E08 a backend that hangs does not hold up a process that ends by ${how}`, async () => {
    const hung = await startReceiver();
    hung.fail["/events"] = { hang: true };
    const started = Date.now();
    const ended = await run("report", [how, hung.url]);
    hung.close();
    assert.equal(ended.code, 0, ended.stderr);
    // A bound, not a speed: without it the process would stay for the 5 s of a call, or for ever.
    assert.ok(Date.now() - started < 4_500, `${Date.now() - started} ms`);
    if (how === "shutdown") assert.deepEqual(JSON.parse(ended.stdout), { lost: 1 });
  });
}

test("a server that has closed ends: neither timers nor threads of ours keep it alive", async () => {
  const ended = await run("server", [receiver.url]);
  assert.deepEqual([ended.code, ended.stdout], [0, "ok\n"]);
});

test("P21 a cluster: primary and workers each deliver their own event once", async () => {
  const before = receiver.events.length;
  const ended = await run("cluster", [receiver.url]);
  assert.equal(ended.code, 0, ended.stderr);
  const mine = receiver.events.slice(before);
  assert.equal(mine.length, 4);
  assert.equal(new Set(mine.map(({ pid }) => pid)).size, 4);
  assert.equal(mine.filter(({ primary }) => primary).length, 1);
});

test("twenty worker threads that come and go, the addon loaded only there: events arrive, no thread is left", async () => {
  const ended = await run("workers", [receiver.url]);
  assert.equal(ended.code, 0, ended.stderr);
  const { before, after: threads } = JSON.parse(ended.stdout);
  assert.ok(threads <= before + 1, `${before} threads before, ${threads} after`);
  // Those that ended by themselves have sent theirs; a terminated one had 80 ms.
  const sent = new Set(receiver.events.filter(({ worker }) => worker !== undefined).map(({ worker }) => worker));
  for (let at = 0; at < 20; at += 2) assert.ok(sent.has(at), `worker ${at} was not heard of`);
});

test("P32 a panic in the engine or in a conversion is contained: no abort, nothing printed", () => {
  const require = createRequire(join(bindingFolder, "package.json"));
  const { load } = require(join(bindingFolder, "lib", "native.js"));
  const native = load();
  assert.equal(native.provokePanic(true), true);
  assert.throws(() => native.provokePanic(false));
});
