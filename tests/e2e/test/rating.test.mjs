// The rating routes through a real Express: answered in front of the payment middleware and the merchant's handlers.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import cors from "cors";
import express from "express";
import { API_KEY, PUBLIC_URL } from "../lib/forge.mjs";
import { compare } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { startReceiver } from "../receiver.mjs";

const receiver = await startReceiver({ apiKey: API_KEY });
after(() => receiver.close());
const stage = await openStage({ forge: { backendUrl: receiver.url, flushIntervalMs: 100 } });
after(() => stage.engine?.shutdown());

/** The merchant has no such route of its own. */
const notFound = (answer) => assert.equal(answer.status, 404);

async function boughtId(side) {
  const { answer } = await side.buy({ path: "/weather?city=Oslo" });
  return answer.header("forge-feedback-id");
}

compare("the form says how to rate", stage, {
  run: (side) => side.request({ path: "/feedback" }),
  bare: notFound,
  ours: (answer) => {
    assert.equal(answer.status, 200);
    assert.equal(answer.header("cache-control"), "no-store");
    assert.equal(answer.header("x-robots-tag"), "noindex");
    const form = JSON.parse(answer.body);
    assert.equal(form.quick.url, `${PUBLIC_URL}/feedback/rate?feedback_id=FEEDBACK_ID&outcome=OUTCOME`);
    assert.equal(form.detailed.url, `${PUBLIC_URL}/feedback`);
    assert.equal(Number(answer.header("content-length")), answer.body.length);
  },
});

compare("HEAD of the form: the same head, no body", stage, {
  run: async (side) => ({ get: await side.request({ path: "/feedback" }), head: await side.request({ method: "HEAD", path: "/feedback" }) }),
  bare: ({ head }) => notFound(head),
  ours: ({ get, head }) => {
    const visible = (answer) => answer.headers.filter(([name]) => name !== "Date");
    assert.equal(head.statusLine, get.statusLine);
    assert.deepEqual(visible(head), visible(get));
    assert.equal(head.body.length, 0);
  },
});

compare("the agent rates a paid call through the link it was given", stage, {
  run: async (side) => {
    const { answer } = await side.buy({ path: "/weather?city=Oslo" });
    const link = JSON.parse(answer.body).feedback_url ?? `${PUBLIC_URL}/feedback/rate?feedback_id=none&outcome=`;
    return { id: answer.header("forge-feedback-id"), rated: await side.request({ path: `${link.slice(PUBLIC_URL.length)}fully`, headers: { "User-Agent": "agent/1" } }) };
  },
  bare: ({ rated }) => notFound(rated),
  ours: ({ id, rated }) => {
    assert.equal(rated.status, 200);
    assert.deepEqual(JSON.parse(rated.body), { recorded: true, feedback_id: id });
    const { request_headers, ...rating } = receiver.ratings.at(-1);
    assert.deepEqual(rating, { feedback_id: id, outcome: "fully", issue: null, note: null, via: "GET", user_agent: "agent/1" });
  },
});

test("a rating with a note is posted", async () => {
  const id = await boughtId(stage.ours);
  const body = JSON.stringify({ feedback_id: id, outcome: "partially", issue: "slow", note: "took 9 s \u2014 too long" });
  const answer = await stage.ours.request({ method: "POST", path: "/feedback", headers: { "Content-Type": "application/json" }, body });
  assert.equal(answer.status, 200);
  const { feedback_id, outcome, issue, note, via } = receiver.ratings.at(-1);
  assert.deepEqual({ feedback_id, outcome, issue, note, via }, { feedback_id: id, outcome: "partially", issue: "slow", note: "took 9 s \u2014 too long", via: "POST" });
});

test("a posted rating that comes in chunks, byte by byte, is read whole", async () => {
  const id = await boughtId(stage.ours);
  const body = JSON.stringify({ feedback_id: id, outcome: "no", issue: "wrong_output" });
  const connection = await stage.ours.open();
  connection.send("POST /feedback HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (const byte of body) {
    connection.send(`1\r\n${byte}\r\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  connection.send("0\r\n\r\n");
  const answer = await connection.read();
  assert.equal(answer.status, 200);
  // The connection goes on.
  connection.send("GET /free HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
  assert.equal((await connection.read()).body.toString(), '{"free":true}');
  connection.close();
});

for (const [name, options, status, error] of [
  ["no outcome", { path: "/feedback/rate?feedback_id=x" }, 400, "missing_outcome"],
  ["an unknown id", { path: `/feedback/rate?feedback_id=${"A".repeat(22)}&outcome=fully` }, 404, "unknown_or_expired_feedback_id"],
  ["D14 deeply nested JSON", { method: "POST", path: "/feedback", body: `${"[".repeat(8_000)}${"]".repeat(8_000)}` }, 400, "invalid_json_body"],
  ["D15 a body over 16 KiB", { method: "POST", path: "/feedback", body: "x".repeat(16 * 1024 + 1) }, 413, "body_too_large"],
  ["D15 a body of 5 MiB", { method: "POST", path: "/feedback", body: "x".repeat(5 * 1024 * 1024) }, 413, "body_too_large"],
  ["a body that is not JSON", { method: "POST", path: "/feedback", body: "x".repeat(16 * 1024) }, 400, "invalid_json_body"],
  ["no body at all", { method: "POST", path: "/feedback" }, 400, "invalid_json_body"],
]) {
  test(`a rating with ${name} is refused here: ${status} ${error}`, async () => {
    const before = receiver.ratings.length;
    const answer = await stage.ours.request(options);
    assert.equal(answer.status, status);
    assert.equal(JSON.parse(answer.body).error, error);
    assert.equal(receiver.ratings.length, before);
  });
}

for (const [method, path, allow] of [
  ["DELETE", "/feedback", "GET, HEAD, POST, OPTIONS"],
  ["POST", "/feedback/rate", "GET, OPTIONS"],
  ["HEAD", "/feedback/rate", "GET, OPTIONS"],
  ["PUT", "/feedback/summary", "GET, HEAD, OPTIONS"],
]) {
  test(`${method} ${path} is 405 with Allow`, async () => {
    const answer = await stage.ours.request({ method, path });
    assert.deepEqual([answer.status, answer.header("allow")], [405, allow]);
  });
}

test("D13 a browser's preflight is answered 204 with CORS", async () => {
  const headers = { Origin: "https://agent.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type" };
  const answer = await stage.ours.request({ method: "OPTIONS", path: "/feedback", headers });
  assert.equal(answer.status, 204);
  assert.equal(answer.header("access-control-allow-origin"), "*");
  assert.match(answer.header("access-control-allow-methods"), /POST/);
  assert.match(answer.header("access-control-allow-headers"), /content-type/i);
  assert.equal(answer.header("content-length"), undefined);
});

for (const path of ["//feedback", "/%66eedback", "/feedback/", "/Feedback", "/feedback%2Frate", "/x/../feedback", "/feedback/rate/", "/feedbacks"]) {
  compare(`P11 ${path} is the merchant's`, stage, {
    run: (side) => side.request({ path }),
    bare: notFound,
    ours: notFound,
  });
}

test("the summary is the backend's, for 30 seconds", async () => {
  const answer = await stage.ours.request({ path: "/feedback/summary" });
  assert.equal(answer.status, 200);
  assert.equal(answer.header("cache-control"), "public, max-age=30");
  const again = await stage.ours.request({ path: "/feedback/summary" });
  assert.deepEqual(again.body, answer.body);
  assert.equal(receiver.requests.filter(({ path }) => path === "/summary").length, 1);
});

test("E09 a backend that hangs: 503 within the bound, and other requests go on meanwhile", async () => {
  const id = await boughtId(stage.ours);
  receiver.fail["/feedback"] = { hang: true };
  const started = Date.now();
  const rating = stage.ours.request({ path: `/feedback/rate?feedback_id=${id}&outcome=fully` });
  let free = 0;
  const done = rating.then(() => true);
  while (!(await Promise.race([done, stage.ours.request({ path: "/free" }).then(() => false)]))) free += 1;
  const answer = await rating;
  delete receiver.fail["/feedback"];
  assert.equal(answer.status, 503);
  assert.deepEqual(JSON.parse(answer.body), { recorded: false, error: "feedback_unavailable" });
  assert.ok(Date.now() - started < 4_500);
  assert.ok(free > 20, `only ${free} other requests were answered while a rating waited`);
});

test("a client that leaves while its rating waits does no harm; the rating is recorded", async () => {
  const id = await boughtId(stage.ours);
  receiver.fail["/feedback"] = { delayMs: 200 };
  const connection = await stage.ours.open();
  connection.send(`GET /feedback/rate?feedback_id=${id}&outcome=fully HTTP/1.1\r\nHost: api.example.com\r\n\r\n`);
  await receiverHas(({ path }) => path === "/feedback");
  connection.close();
  await receiverHas(({ body }) => body?.feedback_id === id);
  await new Promise((resolve) => setTimeout(resolve, 300));
  delete receiver.fail["/feedback"];
  assert.equal(receiver.ratings.at(-1).feedback_id, id);
  assert.equal((await stage.ours.request({ path: "/free" })).status, 200);
});

test("P06 CORS of the merchant outside: its headers are on the answer, one line each", async () => {
  const own = await openStage({ forge: { backendUrl: receiver.url }, beside: (ours) => ({ outer: [cors({ origin: "https://agent.example" }), ...ours] }) });
  const answer = await own.ours.request({ path: "/feedback", headers: { Origin: "https://agent.example" } });
  assert.equal(answer.status, 200);
  assert.equal(answer.all("access-control-allow-origin").length, 1);
  await own.engine.shutdown();
});

for (const [name, parser] of [["json", express.json()], ["text", express.text({ type: () => true })], ["raw", express.raw({ type: () => true })]]) {
  test(`a posted rating behind express.${name}() is read from what the parser made`, async () => {
    const own = await openStage({ forge: { backendUrl: receiver.url }, beside: (ours) => ({ outer: [parser, ...ours] }) });
    const id = await boughtId(own.ours);
    const answer = await own.ours.request({ method: "POST", path: "/feedback", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ feedback_id: id, outcome: "fully" }) });
    assert.equal(answer.status, 200);
    assert.equal(receiver.ratings.at(-1).feedback_id, id);
    await own.engine.shutdown();
  });
}

async function receiverHas(what) {
  for (let left = 300; !receiver.requests.some(what); left -= 1) {
    assert.ok(left > 0, "the backend was not asked");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
