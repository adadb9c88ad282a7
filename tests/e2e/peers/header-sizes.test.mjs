// L03 L04 L05: whatever passed without us passes with us, through a real nginx and with the clients agents are made of.
//
// Challenges of 1,000 to 16,300 bytes, each asked for and, where the 402 arrived, paid for: the client echoes the challenge
// in its payment, so the way back is as long as the way out. A peer may refuse a size; it must not refuse it because of us.

import assert from "node:assert/strict";
import { get } from "node:http";
import { after, test } from "node:test";
import { withoutForge } from "../lib/forge.mjs";
import { request } from "../lib/raw-http.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { startNginx } from "./nginx.mjs";
import { startPython } from "./python.mjs";
import { emptyBytes, pathOf, sizedRoutes } from "./sized-routes.mjs";

const STEP = Number(process.env.E2E_HEADER_STEP ?? 300);
const sizes = [];
for (let size = 1_000; size <= 16_300; size += STEP) sizes.push(size);

const measuring = await openStage({ routes: () => sizedRoutes([0]) });
const empty = emptyBytes(await measuring.bare.request({ path: pathOf(0) }));
const stage = await openStage({ routes: () => sizedRoutes(sizes, empty) });
const python = startPython();
after(() => python.close());
const nginx = new Map();
for (const side of [stage.bare, stage.ours].filter(Boolean)) nginx.set(side, await startNginx(side.merchant.port));
after(() => Promise.all([...nginx.values()].map((proxy) => proxy.close())));

const PEERS = {
  "L03 L04 nginx with default buffers": (side) => askBySocket(nginx.get(side).port),
  "L04 nginx on the way back: the challenge comes directly, the payment goes through nginx": (side) => {
    const [directly, through] = [askBySocket(side.merchant.port), askBySocket(nginx.get(side).port)];
    return (path, headers) => ("PAYMENT-SIGNATURE" in headers ? through : directly)(path, headers);
  },
  undici: (side) => askByFetch(side.merchant.port),
  "node:http": (side) => askByNodeHttp(side.merchant.port),
  "L05 aiohttp": (side) => askByPython("aiohttp", side.merchant.port),
  requests: (side) => askByPython("requests", side.merchant.port),
  httpx: (side) => askByPython("httpx", side.merchant.port),
};

test("the sizes are what they say", async () => {
  for (const size of sizes) {
    const { length } = (await request(stage.bare.merchant.port, { path: pathOf(size) })).header("payment-required");
    assert.ok(Math.abs(length - size) <= 4, `${size}: ${length}`);
  }
});

for (const [name, peer] of Object.entries(PEERS)) {
  test(name, async (t) => {
    let before;
    await t.test("without us", async (t) => {
      before = await walk(peer(stage.bare));
      t.diagnostic(`challenges up to ${last(before.challenged)} bytes arrive, payments for up to ${last(before.paid)}`);
      assert.ok(before.challenged.length > 0 && before.paid.length > 0);
    });
    await t.test("with us", { skip: withoutForge && "E2E_WITHOUT_FORGE=1" }, async (t) => {
      const now = await walk(peer(stage.ours));
      t.diagnostic(`challenges up to ${last(now.challenged)} bytes arrive, payments for up to ${last(now.paid)}; decorated: ${now.decorated.length} of ${now.challenged.length}`);
      assert.deepEqual(lost(before.challenged, now.challenged), [], "challenges that arrive without us only");
      assert.deepEqual(lost(before.paid, now.paid), [], "payments that succeed without us only");
      assert.ok(now.decorated.includes(1_000));
    });
  });
}

async function walk(ask) {
  const passed = { challenged: [], paid: [], decorated: [] };
  for (const size of sizes) {
    const unpaid = await ask(pathOf(size), {});
    if (unpaid.status !== 402 || !unpaid.challenge) continue;
    passed.challenged.push(size);
    if (Buffer.from(unpaid.challenge, "base64").includes("forge-feedback")) passed.decorated.push(size);
    const payment = await stage.buyer.pay({ header: () => unpaid.challenge });
    const paid = await ask(pathOf(size), payment);
    if (paid.status === 200) passed.paid.push(size);
  }
  return passed;
}

function askBySocket(port) {
  return (path, headers) =>
    request(port, { path, headers })
      .then((answer) => ({ status: answer.status, challenge: answer.header("payment-required") }))
      .catch((error) => ({ error: error.message }));
}

function askByFetch(port) {
  return (path, headers) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers })
      .then(async (answer) => {
        await answer.arrayBuffer();
        return { status: answer.status, challenge: answer.headers.get("payment-required") };
      })
      .catch((error) => ({ error: String(error.cause ?? error) }));
}

function askByNodeHttp(port) {
  return (path, headers) =>
    new Promise((resolve) => {
      get({ host: "127.0.0.1", port, path, headers, agent: false }, (answer) => {
        answer.resume().on("end", () => resolve({ status: answer.statusCode, challenge: answer.headers["payment-required"] }));
      }).on("error", (error) => resolve({ error: error.message }));
    });
}

function askByPython(client, port) {
  return (path, headers) => python.ask(client, `http://127.0.0.1:${port}${path}`, headers);
}

const lost = (before, now) => before.filter((size) => !now.includes(size));
const last = (list) => list.at(-1) ?? 0;
