// The addon's object behind an exchange is used again, and never by two at once.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { test } from "node:test";
import exchanges from "../lib/exchanges.js";
import verdicts from "../lib/verdict.js";
import wire from "../lib/wire.js";

const { Engine, Exchange } = createRequire(import.meta.url)("../lib/native.js").load();

const rate = (id) => wire.requestHead("GET", `/feedback/rate?feedback_id=${id}&outcome=fully`, "", []);
const withContext = wire.requestHead("GET", "/weather?agent_type=bot", "", []);

function counted(backend = "http://127.0.0.1:9") {
  let made = 0;
  const own = new Engine(JSON.stringify({ api_key: "ffk_test_0123456789abcdef", public_url: "https://api.example.com", backend_url: backend, strict: true }));
  return { own, made: () => made, ours: new exchanges.Exchanges(own, () => (made += 1, new Exchange())) };
}

test("one after the other use one object; at the same time each has its own", () => {
  const { ours, made } = counted();
  for (let at = 0; at < 5; at += 1) {
    const { exchange, verdict } = ours.onRequest(withContext);
    assert.equal(verdict.target, "/weather");
    exchange.end("delivered", 200, 0);
  }
  assert.equal(made(), 1);
  const [one, other] = [ours.onRequest(withContext), ours.onRequest(withContext)];
  assert.equal(made(), 2);
  one.exchange.end("delivered", 200, 0);
  assert.equal(other.exchange.onResponse(200, "", "content-type\ntext/plain", undefined, false).action, 0);
  other.exchange.end("delivered", 200, 0);
});

test("what has ended says nothing of the one that came after it, however often it is ended", () => {
  const { ours, own } = counted();
  const { exchange: old } = ours.onRequest(withContext);
  old.end("delivered", 200, 0);
  const { exchange } = ours.onRequest(withContext);
  old.end("failed", 500, 0);
  assert.deepEqual(old.onResponse(402, "", "", undefined, true).edits, []);
  // Still running: the addon's object refuses to begin once more.
  const native = new Exchange();
  const head = Buffer.from(withContext, "latin1");
  own.onRequest(head, head.length, native);
  assert.throws(() => own.onRequest(head, head.length, native), /has not ended/);
  exchange.end("delivered", 200, 0);
});

test("an exchange that ends while it waits for the backend is not used again", async () => {
  // A backend that never answers.
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { ours, own, made } = counted(`http://127.0.0.1:${silent.address().port}`);
  const { exchange, verdict } = ours.onRequest(rate(own.mintId()));
  assert.equal(verdict.action, 3);
  const waiting = exchange.wait(300);
  exchange.end("aborted", 0, 0);
  const { exchange: next } = ours.onRequest(withContext);
  assert.equal(made(), 2);
  await waiting;
  assert.equal(next.onResponse(200, "", "content-type\ntext/plain", undefined, false).action, 0);
  next.end("delivered", 200, 0);
  await own.shutdown(50);
  silent.close();
});

test("a body given as a text is the bytes it stands for, in the buffer and beside it", async () => {
  const { ours, own } = counted();
  const ordinary = wire.requestHead("GET", "/weather", "", []);
  const answered = (body) => {
    const { exchange, verdict } = ours.onResponseLate(ordinary, 402, "", "content-type\napplication/json", body, false);
    exchange.end("delivered", 402, 0);
    return verdicts.bodyBytes(verdict);
  };
  // A lone surrogate is three bytes of a replacement character, as Node itself writes it. The last two lie around the longest text written there.
  for (const words of ["Weather", "caf\u00e9", "\u5929\u6c17 \u{1f600}", "\ud800", "\u5929".repeat(16_000), "\u00e9".repeat(20_000)]) {
    const text = JSON.stringify({ x402Version: 1, error: "payment", accepts: [{ description: "@" }] }).replace("@", words);
    const made = answered(text);
    assert.deepEqual(made, answered(Buffer.from(text)));
    assert.ok(made.includes(Buffer.from(`${words} After your call, please rate`)), words.slice(0, 10));
  }
  await own.shutdown(50);
});
