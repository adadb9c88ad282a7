// Agent context through a real Express: cut out before the merchant's code sees the request, every other byte kept.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import express from "express";
import express4 from "express4";
import { API_KEY, loadForge } from "../lib/forge.mjs";
import { open } from "../lib/raw-http.mjs";
import { compare, paid } from "../lib/stage.mjs";
import { seenBy, viewer } from "../lib/viewer.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { startReceiver } from "../receiver.mjs";

const receiver = await startReceiver({ apiKey: API_KEY });
after(() => receiver.close());
const telemetry = { backendUrl: receiver.url, flushIntervalMs: 100 };
const stage = await openStage({ forge: telemetry, beside: (ours) => ({ outer: [...ours], inner: [viewer()] }) });
after(() => stage.engine?.shutdown());

const JSON_TYPE = { "Content-Type": "application/json" };
const CONTEXT = '"agent_context":{"agent_type":"claude-code","search_query":"weather api"}';

/** Pays for a request and returns what the handler was handed. */
async function seen(side, options, by = stage.buyer) {
  const payment = await by.pay(await side.request({ ...options, body: undefined }));
  const answer = await side.request(paid(options, payment));
  assert.equal(answer.status, 200);
  return seenBy(answer);
}

for (const [name, before, after] of [
  ["first", `{${CONTEXT}, "a": 1.0,\n "n":12345678901234567890, "\\u0061":"caf\\u00e9"}`, '{"a": 1.0,\n "n":12345678901234567890, "\\u0061":"caf\\u00e9"}'],
  ["last", `{"a":1e2 , ${CONTEXT} }`, undefined],
  ["alone", `{${CONTEXT}}`, "{}"],
  ["not an object", '{"a":1,"agent_context":"x"}', '{"a":1}'],
]) {
  compare(`D04 agent_context in the body (${name}): cut, the rest is kept byte for byte and the lengths agree`, stage, {
    run: (side) => seen(side, { method: "POST", path: "/paid/seen", headers: JSON_TYPE, body: before }),
    bare: (handed) => assert.equal(handed.body, before),
    ours: (handed) => {
      if (after !== undefined) assert.equal(handed.body, after);
      assert.ok(!handed.body.includes("agent_context"));
      assert.deepEqual(JSON.parse(handed.body), withoutContext(before));
      assert.equal(handed.contentLength, String(Buffer.byteLength(handed.body)));
      assert.deepEqual(handed.rawContentLength, [handed.contentLength]);
    },
  });
}

compare("D04 agent_context in a chunked body: cut, and no length is invented", stage, {
  run: async (side) => {
    const payment = await stage.buyer.pay(await side.request({ method: "POST", path: "/paid/seen" }));
    const connection = await side.open();
    const lines = Object.entries({ ...JSON_TYPE, ...payment, "Transfer-Encoding": "chunked" }).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.send(`POST /paid/seen HTTP/1.1\r\nHost: api.example.com\r\n${lines.join("")}\r\n`);
    for (const part of ['{"a":1,"agent_con', 'text":{"agent_type":"codex"},', '"b":2}']) {
      connection.send(`${part.length.toString(16)}\r\n${part}\r\n`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    connection.send("0\r\n\r\n");
    const answer = await connection.read();
    connection.close();
    return seenBy(answer);
  },
  bare: ({ body }) => assert.ok(body.includes("agent_context")),
  ours: ({ body, contentLength }) => {
    assert.equal(body, '{"a":1,"b":2}');
    assert.equal(contentLength, null);
  },
});

for (const [name, options] of [
  ["without context", { headers: JSON_TYPE, body: '{ "a": 1.10 }' }],
  ["signed", { headers: { ...JSON_TYPE, "Content-Digest": "sha-256=:AAAA:" }, body: `{"a":1,${CONTEXT}}` }],
  ["gzip", { headers: { ...JSON_TYPE, "Content-Encoding": "gzip" }, body: gzipSync(`{"a":1,${CONTEXT}}`) }],
  ["D10 multipart", { headers: { "Content-Type": "multipart/form-data; boundary=x" }, body: '--x\r\nContent-Disposition: form-data; name="agent_context"\r\n\r\nx\r\n--x--\r\n' }],
  ["not JSON", { headers: JSON_TYPE, body: `{"a":NaN,${CONTEXT}}` }],
  ["over 1 MiB", { headers: JSON_TYPE, body: `{"a":"${"x".repeat(1024 * 1024)}",${CONTEXT}}` }],
  ["empty", { headers: JSON_TYPE, body: "" }],
]) {
  compare(`a body that is not ours to edit (${name}) is handed on as it came`, stage, {
    run: (side) => seen(side, { method: "POST", path: "/paid/seen", ...options }),
    bare: ({ body }) => assert.equal(typeof body, "string"),
    ours: (handed, bare) => assert.deepEqual(handed, bare),
  });
}

for (const [name, target, url] of [
  ["between", "/paid/seen?a=1&agent_type=claude&b=%20x+y", "/paid/seen?a=1&b=%20x+y"],
  ["alone", "/paid/seen?agent_search_query=weather", "/paid/seen"],
]) {
  compare(`agent context in the query (${name}): req.url, originalUrl and req.query agree without it`, stage, {
    run: (side) => seen(side, { path: target }),
    bare: (handed) => assert.equal(handed.url, target),
    ours: (handed) => {
      assert.equal(handed.url, url);
      assert.equal(handed.originalUrl, url);
      assert.deepEqual(handed.query, Object.fromEntries(new URLSearchParams(url.split("?")[1] ?? "")));
    },
  });
}

test("Express 4 has parsed the query before us: req.query agrees all the same", async () => {
  const own = await openStage({ express: express4, beside: (ours) => ({ outer: [...ours], inner: [viewer("none")] }) });
  const handed = await seen(own.ours, { path: "/paid/seen?a=1&agent_type=claude&list[]=x&list[]=y" }, own.buyer);
  assert.equal(handed.url, "/paid/seen?a=1&list[]=x&list[]=y");
  assert.deepEqual(handed.query, { a: "1", list: ["x", "y"] });
});

test("mounted on a path: the router's shorter url and the whole one are both cut", async () => {
  const { createForge } = loadForge();
  const app = express();
  app.use("/api", createForge({ apiKey: API_KEY }).middleware());
  app.get("/api/free", (req, res) => res.json({ url: req.url, originalUrl: req.originalUrl, query: req.query }));
  app.use("/api", (req, res) => res.json({ url: req.url, originalUrl: req.originalUrl, query: req.query }));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const at = `http://127.0.0.1:${server.address().port}`;
  assert.deepEqual(await (await fetch(`${at}/api/free?agent_type=x&a=1`)).json(), { url: "/api/free?a=1", originalUrl: "/api/free?a=1", query: { a: "1" } });
  assert.deepEqual(await (await fetch(`${at}/api/other?a=1&agent_type=x`)).json(), { url: "/other?a=1", originalUrl: "/api/other?a=1", query: { a: "1" } });
  server.close();
});

test("D06 mode off: nothing of the request is touched", async () => {
  const own = await openStage({ forge: { agentContext: "off" }, beside: (ours) => ({ outer: [...ours], inner: [viewer()] }) });
  const body = `{"a":1,${CONTEXT}}`;
  const handed = await seen(own.ours, { method: "POST", path: "/paid/seen?agent_type=x", headers: JSON_TYPE, body }, own.buyer);
  assert.equal(handed.body, body);
  assert.equal(handed.url, "/paid/seen?agent_type=x");
});

test("D09 D25 required: a paid request that says nothing is refused before it is charged; a free route never is", async () => {
  const own = await openStage({ forge: { agentContext: "required" }, beside: (ours) => ({ outer: [...ours], inner: [viewer()] }) });
  const options = { method: "POST", path: "/paid/seen", headers: JSON_TYPE, body: '{"a":1}' };
  const payment = await own.buyer.pay(await own.ours.request({ ...options, body: undefined }));
  const refused = await own.ours.request(paid(options, payment));
  assert.equal(refused.status, 400);
  assert.equal(JSON.parse(refused.body).error, "agent_context_required");
  assert.equal(own.ours.facilitator.sent("/settle").length, 0);
  // The same payment, with context: served.
  assert.deepEqual(seenBy(await own.ours.request(paid({ ...options, body: `{"a":1,${CONTEXT}}` }, payment))).body, '{"a":1}');
  assert.equal((await own.ours.request(paid({ method: "GET", path: "/free" }, payment))).status, 200);
  // A body over 1 MiB cannot be read.
  const large = await own.ours.request(paid({ ...options, body: `{"a":"${"x".repeat(1024 * 1024)}"}` }, payment));
  assert.deepEqual([large.status, JSON.parse(large.body).error], [400, "agent_context_invalid"]);
});

test("what the agent said is reported with its call", async () => {
  await seen(stage.ours, { method: "POST", path: "/paid/seen?agent_client=AWAL", headers: JSON_TYPE, body: `{"a":1,${CONTEXT}}` });
  const events = await receiver.until((all) => all.some((event) => event.type === "interaction" && event.agent_context?.client === "awal"));
  const { agent_context } = events.find((event) => event.type === "interaction" && event.agent_context?.client === "awal");
  assert.deepEqual(agent_context, { agent_type: "Claude Code", client: "awal", search_query: "weather api" });
});

for (const [name, parser, kind] of [["json", express.json(), "object"], ["raw", express.raw({ type: () => true }), "string"]]) {
  test(`a body parser in front (express.${name}): its result is cut`, async () => {
    const own = await openStage({ beside: (ours) => ({ outer: [parser, ...ours], inner: [viewer("none")] }) });
    const handed = await seen(own.ours, { method: "POST", path: "/paid/seen", headers: JSON_TYPE, body: `{"a":1,${CONTEXT}}` }, own.buyer);
    assert.equal(typeof handed.body, kind);
    assert.deepEqual(kind === "string" ? JSON.parse(handed.body) : handed.body, { a: 1 });
  });
}

test("an asynchronous middleware in front let the body in: cut all the same", async () => {
  const slow = (req, res, next) => setTimeout(next, 30);
  for (const size of [0, 200_000]) {
    const own = await openStage({ beside: (ours) => ({ outer: [slow, ...ours], inner: [viewer()] }) });
    const handed = await seen(own.ours, { method: "POST", path: "/paid/seen", headers: JSON_TYPE, body: `{"a":"${"x".repeat(size)}",${CONTEXT}}` }, own.buyer);
    assert.equal(handed.body, `{"a":"${"x".repeat(size)}"}`);
    assert.equal(handed.contentLength, String(handed.body.length));
  }
});

test("somebody in front reads already: nothing is held, the handler gets what it would have got", async () => {
  const reader = (req, res, next) => {
    const parts = [];
    req.on("data", (part) => parts.push(part));
    req.on("end", () => (req.own = Buffer.concat(parts).toString()));
    next();
  };
  const last = (req, res, next) => (req.path === "/paid/seen" ? waitFor(() => req.own !== undefined || req.method === "GET").then(() => res.json({ body: req.own ?? null })) : next());
  const own = await openStage({ beside: (ours) => ({ outer: [reader, ...ours], inner: [last] }) });
  const body = `{"a":1,${CONTEXT}}`;
  assert.equal((await seen(own.ours, { method: "POST", path: "/paid/seen", headers: JSON_TYPE, body }, own.buyer)).body, body);
});

compare("a paid upload that the client breaks off is not charged, and the server goes on", stage, {
  run: async (side) => {
    const payment = await stage.buyer.pay(await side.request({ method: "POST", path: "/paid/seen" }));
    const settled = side.facilitator.sent("/settle").length;
    const connection = await side.open();
    const lines = Object.entries({ ...JSON_TYPE, ...payment }).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.send(`POST /paid/seen HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 1000\r\n${lines.join("")}\r\n{"a":1`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    connection.close();
    await new Promise((resolve) => setTimeout(resolve, 150));
    return { charged: side.facilitator.sent("/settle").length - settled, next: await side.request({ path: "/free" }) };
  },
  bare: ({ charged, next }) => assert.deepEqual([charged, next.status], [0, 200]),
  ours: ({ charged, next }) => assert.deepEqual([charged, next.status], [0, 200]),
});

compare("a paid upload that waits for 100 Continue gets it, and is cut", stage, {
  run: async (side) => {
    const payment = await stage.buyer.pay(await side.request({ method: "POST", path: "/paid/seen" }));
    const body = `{"a":1,${CONTEXT}}`;
    const lines = Object.entries({ ...JSON_TYPE, ...payment, Expect: "100-continue", "Content-Length": body.length }).map(([name, value]) => `${name}: ${value}\r\n`);
    const connection = await side.open();
    connection.send(`POST /paid/seen HTTP/1.1\r\nHost: api.example.com\r\n${lines.join("")}\r\n`);
    await connection.peek(1);
    connection.send(body);
    const answer = await connection.read();
    connection.close();
    return { answer, seen: seenBy(answer) };
  },
  bare: ({ answer, seen }) => {
    assert.deepEqual(answer.informational.map(({ status }) => status), [100]);
    assert.ok(seen.body.includes("agent_context"));
  },
  ours: ({ answer, seen }) => {
    assert.deepEqual(answer.informational.map(({ status }) => status), [100]);
    assert.deepEqual([seen.body, seen.contentLength], ['{"a":1}', "7"]);
  },
});

test("an application that asks for the body itself (checkContinue) is not kept waiting: the body passes as it came", async () => {
  const middleware = loadForge().createForge({ apiKey: API_KEY }).middleware();
  const server = createServer();
  server.on("checkContinue", (req, res) =>
    middleware(req, res, async () => {
      res.writeContinue();
      const parts = [];
      for await (const part of req) parts.push(part);
      res.end(Buffer.concat(parts));
    }),
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const connection = await open(server.address().port);
  const body = `{"a":1,${CONTEXT}}`;
  const payment = Buffer.from('{"x402Version":2,"payload":{},"accepted":{}}').toString("base64");
  connection.send(`POST / HTTP/1.1\r\nHost: a\r\nPAYMENT-SIGNATURE: ${payment}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
  await connection.peek(1);
  connection.send(body);
  assert.equal((await connection.read()).body.toString(), body);
  connection.close();
  server.close();
});

compare("two paid uploads pipelined on one connection: each handler gets its own body", stage, {
  run: async (side) => {
    const connection = await side.open();
    const bodies = [`{"n":1,${CONTEXT}}`, `{"n":2,"pad":"${"y".repeat(70_000)}",${CONTEXT}}`];
    for (const body of bodies) {
      const payment = await stage.buyer.pay(await side.request({ method: "POST", path: "/paid/seen" }));
      const lines = Object.entries({ ...JSON_TYPE, ...payment }).map(([name, value]) => `${name}: ${value}\r\n`);
      connection.send(`POST /paid/seen HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: ${body.length}\r\n${lines.join("")}\r\n${body}`);
    }
    const answers = [seenBy(await connection.read()), seenBy(await connection.read())];
    connection.close();
    return answers.map(({ body }) => JSON.parse(body));
  },
  bare: (bodies) => assert.deepEqual(bodies.map(({ n, agent_context }) => [n, typeof agent_context]), [[1, "object"], [2, "object"]]),
  ours: (bodies) => assert.deepEqual(bodies.map(({ n, pad, agent_context }) => [n, pad?.length, agent_context]), [[1, undefined, undefined], [2, 70_000, undefined]]),
});

function withoutContext(text) {
  const { agent_context, ...rest } = JSON.parse(text);
  return rest;
}

async function waitFor(what) {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 5));
}
