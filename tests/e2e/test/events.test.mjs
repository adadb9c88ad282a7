// What is reported of each request, through a real Express and a backend on loopback: one event each, with what is known.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { API_KEY } from "../lib/forge.mjs";
import { paid } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { requestBytes } from "../lib/raw-http.mjs";
import { startReceiver } from "../receiver.mjs";

const receiver = await startReceiver({ apiKey: API_KEY });
after(() => receiver.close());
const stage = await openStage({ forge: { backendUrl: receiver.url, flushIntervalMs: 100, visits: true } });
after(() => stage.engine.shutdown());

let agents = 0;
/** Runs `work` with a user agent of its own and returns the interactions and challenges reported of it. */
async function reported(work, interactions = 1) {
  const agent = `agent/${(agents += 1)}`;
  await work({ "User-Agent": agent });
  const mine = () => receiver.events.filter((event) => event.user_agent === agent);
  await receiver.until(() => mine().filter(({ type }) => type === "interaction").length >= interactions);
  return { all: mine(), interaction: mine().find(({ type }) => type === "interaction"), challenges: mine().filter(({ type }) => type === "challenge") };
}

async function payFor(headers, options) {
  const challenge = await stage.ours.request({ ...options, headers: { ...options.headers, ...headers }, body: undefined });
  return paid({ ...options, headers: { ...options.headers, ...headers } }, await stage.buyer.pay(challenge));
}

test("a paid call: a challenge, then an interaction with payer, amount, transaction and the id the agent got", async () => {
  let answer;
  const { challenges, interaction } = await reported(async (headers) => {
    answer = await stage.ours.request(await payFor(headers, { path: "/weather?city=Oslo" }));
  });
  assert.equal(challenges.length, 1);
  assert.equal(challenges[0].route, "GET /weather");
  assert.equal(challenges[0].dialect, "x402/2");
  const receipt = JSON.parse(Buffer.from(answer.header("payment-response"), "base64"));
  assert.equal(interaction.feedback_id, answer.header("forge-feedback-id"));
  const { route, status, settled, outcome, dialect, payer, amount, network, transaction, scheme } = interaction;
  assert.deepEqual({ route, status, settled, outcome, dialect }, { route: "GET /weather", status: 200, settled: true, outcome: "delivered", dialect: "x402/2" });
  assert.equal(payer.toLowerCase(), stage.buyer.address.toLowerCase());
  assert.deepEqual([amount, network, scheme, transaction], ["1000", "eip155:84532", "exact", receipt.transaction]);
  assert.ok(interaction.latency_ms >= 0 && interaction.latency_ms < 10_000);
});

test("a route with parameters is reported by its pattern", async () => {
  const { interaction } = await reported(async (headers) => stage.ours.request(await payFor(headers, { path: "/paid/sized/40" })));
  assert.equal(interaction.route, "GET /paid/sized/:bytes");
});

for (const [id, path, status] of [["C30 L06", "/paid/throws", 500], ["C30", "/paid/rejects", 500], ["", "/paid/status/404", 404]]) {
  test(`${id} ${path}: the failed call is reported with status ${status}, not settled, and the merchant's error handler ran`.trim(), async () => {
    let answer;
    const { interaction } = await reported(async (headers) => {
      answer = await stage.ours.request(await payFor(headers, { path }));
    });
    assert.equal(answer.status, status);
    const { settled, outcome, amount } = interaction;
    assert.deepEqual({ status: interaction.status, settled, outcome, amount }, { status, settled: null, outcome: "delivered", amount: "1000" });
    if (status === 500) assert.match(stage.ours.seen.errors.at(-1), /by the handler/);
  });
}

test("writeHead(500) is charged by the payment layer: reported as settled with status 500", async () => {
  const { interaction } = await reported(async (headers) => stage.ours.request(await payFor(headers, { path: "/paid/write-head-500" })));
  assert.deepEqual([interaction.status, interaction.settled], [500, true]);
});

test("P09 a failed settlement: 402, settled false with the reason, no id", async () => {
  stage.ours.facilitator.fail.settle = { body: { success: false, errorReason: "insufficient_funds", payer: stage.buyer.address, transaction: "", network: "eip155:84532" } };
  let answer;
  const { interaction } = await reported(async (headers) => {
    answer = await stage.ours.request(await payFor(headers, { path: "/weather" }));
  });
  delete stage.ours.facilitator.fail.settle;
  assert.equal(answer.status, 402);
  assert.equal(answer.header("forge-feedback-id"), undefined);
  assert.equal(interaction.status, 402);
  assert.equal(interaction.settled, false);
  assert.equal(interaction.errorReason, "insufficient_funds");
  assert.equal(interaction.feedback_id, undefined);
});

test("C31 a client that leaves in the middle of a long answer: aborted, with what was settled", async () => {
  const { interaction } = await reported(async (headers) => {
    const connection = await stage.ours.open();
    connection.send(requestBytes(await payFor(headers, { path: "/paid/sized/50000000" })));
    await connection.peek(1);
    connection.close();
  });
  assert.deepEqual([interaction.outcome, interaction.status, interaction.settled], ["aborted", 200, true]);
});

test("P40 a client that leaves before settlement: charged and undelivered is reported as such", async () => {
  const { interaction } = await reported(async (headers) => {
    const settled = stage.ours.facilitator.sent("/settle").length;
    const payment = await payFor(headers, { path: "/paid/late" });
    const connection = await stage.ours.open();
    connection.send(requestBytes(payment));
    while (stage.ours.seen.lateClosed !== false) await new Promise((resolve) => setTimeout(resolve, 5));
    connection.close();
    while (stage.ours.facilitator.sent("/settle").length === settled) await new Promise((resolve) => setTimeout(resolve, 5));
  });
  assert.deepEqual([interaction.outcome, interaction.settled], ["aborted", true]);
  assert.equal(typeof interaction.transaction, "string");
});

test("D01 a payment header on a free route is no interaction that was settled, and gets no id where none can be", async () => {
  let answer;
  const { interaction } = await reported(async (headers) => {
    const payment = await payFor(headers, { path: "/weather" });
    answer = await stage.ours.request({ ...payment, path: "/free" });
  });
  assert.equal(answer.status, 200);
  assert.equal(interaction.settled, null);
});

for (const [id, payment] of [
  ["L02 E01 a lone surrogate", JSON.stringify({ x402Version: 2, accepted: { network: "\ud800", amount: "1" }, payload: { authorization: { from: "\udfff" } } })],
  ["L07 L08 E13 60 KB of amount", JSON.stringify({ x402Version: 2, accepted: { network: "n", amount: "9".repeat(10_000) }, payload: {} })],
]) {
  test(`${id} in an unverified payment header: telemetry survives, the event is bounded`, async () => {
    const { interaction } = await reported((headers) =>
      stage.ours.request({ path: "/weather", headers: { ...headers, "PAYMENT-SIGNATURE": Buffer.from(payment).toString("base64") } }),
    );
    assert.ok(JSON.stringify(interaction).length < 4_000);
    assert.ok((interaction.amount ?? "").length <= 256);
    // What comes behind it arrives.
    await reported(async (headers) => stage.ours.request(await payFor(headers, { path: "/bare" })));
  });
}

test("E14 a path of 10 KB is reported cut", async () => {
  const { interaction } = await reported((headers) =>
    stage.ours.request({ path: `/paid/${"x".repeat(10_000)}`, headers: { ...headers, "PAYMENT-SIGNATURE": Buffer.from('{"x402Version":2,"accepted":{},"payload":{}}').toString("base64") } }),
  );
  assert.ok(interaction.route.length <= 2_048);
});

test("visits of programs are reported when asked for; nothing of Authorization, Cookie or a payment header travels", async () => {
  const secret = "not-a-real-secret-0123456789";
  await stage.ours.request({ path: "/free", headers: { "User-Agent": "visitor/1", Authorization: `Bearer ${secret}`, Cookie: `s=${secret}` } });
  await stage.ours.request({ path: "/weather", headers: { "User-Agent": "visitor/2", "X-PAYMENT": secret } });
  await receiver.until((events) => events.some((event) => event.user_agent === "visitor/1") && events.some((event) => event.user_agent === "visitor/2"));
  assert.deepEqual(receiver.events.filter(({ user_agent }) => user_agent === "visitor/1").map(({ type, status }) => [type, status]), [["visit", 200]]);
  assert.ok(!JSON.stringify(receiver.events).includes(secret));
});

test("an event of one's own is sent; what is none is refused with a reason", async () => {
  stage.engine.enqueueEvent({ type: "note", text: "caf\u00e9" });
  await receiver.until((events) => events.some(({ type }) => type === "note"));
  assert.throws(() => stage.engine.enqueueEvent({ no: "type" }), /type/);
});

test("each event has an id of its own and came once; the counters agree", async () => {
  assert.equal(await stage.engine.flush(5_000), true);
  const ids = receiver.events.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  const { sent, queued, dropped } = stage.engine.stats();
  assert.deepEqual({ sent, queued, dropped }, { sent: receiver.events.length, queued: 0, dropped: 0 });
});
