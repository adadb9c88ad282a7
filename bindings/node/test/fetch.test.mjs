// Fetch-style handlers, apart from any host: what is streamed, what is held, how calls end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createForge } from "../index.mjs";

const forge = createForge({ apiKey: "ffk_example_key", publicUrl: "https://api.example.com" });
const PAYMENT = { "Payment-Signature": Buffer.from('{"x402Version":2,"payload":{},"accepted":{}}').toString("base64") };
const JSON_TYPE = { "Content-Type": "application/json" };
const paid = (init = {}) => new Request("https://inner.example/weather", { ...init, headers: { ...PAYMENT, ...init.headers } });
const text = (bytes) => new TextDecoder().decode(bytes);

/** A stream that gives its next part only when told to. */
function slowBody(parts) {
  let release = () => {};
  const body = new ReadableStream({
    async pull(controller) {
      if (parts.length === 0) return controller.close();
      controller.enqueue(new TextEncoder().encode(parts.shift()));
      await new Promise((resolve) => (release = resolve));
    },
  }, { highWaterMark: 0 });
  return { body, next: () => release() };
}

test("a JSON body that is there at once is rated", async () => {
  const answer = await forge.fetch(() => Response.json({ a: 1 }))(paid());
  const id = answer.headers.get("forge-feedback-id");
  assert.equal(forge.verifyId(id), "valid");
  assert.ok((await answer.text()).startsWith(`{"a":1,"feedback_id":"${id}"`));
});

test("C33 a stream is not waited for: its first part comes before the second is made, its bytes are its own", async () => {
  const slow = slowBody(['{"rows":[', "1]}"]);
  const answer = await forge.fetch(() => new Response(slow.body, { headers: JSON_TYPE }))(paid());
  assert.equal(forge.verifyId(answer.headers.get("forge-feedback-id")), "valid");
  const reader = answer.body.getReader();
  assert.equal(text((await reader.read()).value), '{"rows":[');
  slow.next();
  assert.equal(text((await reader.read()).value), "1]}");
  slow.next();
  assert.equal((await reader.read()).done, true);
});

test("a reader that leaves is told to the handler's stream", async () => {
  let left;
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(10)), cancel: (reason) => (left = reason) });
  const answer = await forge.fetch(() => new Response(body, { headers: { "Content-Type": "application/octet-stream" } }))(paid());
  await answer.body.cancel("gone");
  assert.equal(left, "gone");
});

test("a stream that fails fails as without us", async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) });
  const answer = await forge.fetch(() => new Response(body, { headers: { "Content-Type": "text/plain" } }))(paid()).catch((error) => error);
  const failure = answer instanceof Error ? answer : await answer.text().catch((error) => error);
  assert.match(String(failure), /broken/);
});

test("a handler that throws throws the same error", async () => {
  const error = new Error("mine");
  await assert.rejects(forge.fetch(() => { throw error; })(paid()), (thrown) => thrown === error);
});

for (const status of [204, 304, 302]) {
  test(`a ${status} stays bodiless`, async () => {
    const answer = await forge.fetch(() => new Response(null, { status, headers: { Location: "/x" } }))(paid());
    assert.deepEqual([answer.status, answer.body, answer.headers.get("location")], [status, null, "/x"]);
  });
}

test("an ordinary answer is the very object the handler made", async () => {
  const own = Response.json({ free: true });
  assert.equal(await forge.fetch(() => own)(new Request("https://inner.example/free")), own);
});

test("arguments and `this` reach the handler", async () => {
  const host = { handle: forge.fetch(function handle(request, ...rest) { return Response.json([this === host, ...rest]); }) };
  assert.deepEqual(await (await host.handle(new Request("https://inner.example/"), 1, "b")).json(), [true, 1, "b"]);
});

test("the client's address is asked for with all arguments", async () => {
  const asked = [];
  const wrapped = forge.fetch(() => new Response("ok"), { clientIp: (request, context) => asked.push([request.url, context.ip]) && context.ip });
  await wrapped(new Request("https://inner.example/a"), { ip: "203.0.113.7" });
  assert.deepEqual(asked, [["https://inner.example/a", "203.0.113.7"]]);
});

test("D04 agent context is cut from body and query at once, and the request keeps its class and signal", async () => {
  class Own extends Request {}
  const { signal } = new AbortController();
  let seen;
  const wrapped = forge.fetch(async (request) => {
    seen = { url: request.url, own: request instanceof Own, body: await request.text(), method: request.method, length: request.headers.get("content-length") };
    return new Response("ok");
  });
  const body = '{"n":1.0,"agent_context":{"agent_type":"codex"}}';
  await wrapped(new Own("https://inner.example/a?x=1&agent_type=y", { method: "POST", body, signal, headers: { ...PAYMENT, ...JSON_TYPE, "Content-Length": String(body.length) } }));
  assert.deepEqual(seen, { url: "https://inner.example/a?x=1", own: true, body: '{"n":1.0}', method: "POST", length: "9" });
});

test("P20 a body over the limit is handed on as it came, while it still comes", async () => {
  const size = 3 * 1024 * 1024;
  const wrapped = forge.fetch(async (request) => Response.json({ bytes: (await request.arrayBuffer()).byteLength }));
  const answer = await wrapped(paid({ method: "POST", body: JSON.stringify({ a: "x".repeat(size) }), headers: JSON_TYPE }));
  assert.equal((await answer.json()).bytes, size + 8);
});

test("a body that has been read already is left alone", async () => {
  const request = paid({ method: "POST", body: '{"agent_context":{}}', headers: JSON_TYPE });
  await request.text();
  const answer = await forge.fetch((same) => Response.json({ used: same.bodyUsed }))(request);
  assert.equal((await answer.json()).used, true);
});

test("a clientIp that throws, or an answer that is no Response, is not made worse", async () => {
  const own = new Response("ok");
  assert.equal(await forge.fetch(() => own, { clientIp: () => { throw new Error("no address"); } })(paid()), own);
  assert.equal(await forge.fetch(() => undefined)(paid()), undefined);
});
