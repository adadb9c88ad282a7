// The same promises on every JavaScript host.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hostSuite } from "../lib/host-suite.mjs";
import { startFastify } from "../merchant/hosts/fastify.mjs";
import { startHono } from "../merchant/hosts/hono.mjs";
import { startNext } from "../merchant/hosts/next.mjs";
import { startNode } from "../merchant/hosts/node.mjs";

await hostSuite("node:http", { startMerchant: startNode, attach: (forge) => (handler) => forge.listener(handler), throwing: "failed" });

const { stage } = await hostSuite("Fastify", { startMerchant: startFastify, attach: (forge) => forge.fastify(), throwing: "failed" });

test("Fastify: request.query has lost what the target has lost", async () => {
  await stage.ours.buy({ path: "/paid/seen?a=1&agent_type=x" });
  assert.deepEqual({ ...stage.ours.seen.query }, { a: "1" });
});

await hostSuite("Hono", { startMerchant: startHono, attach: (forge) => (fetch) => forge.fetch(fetch), throwing: "delivered" });

await hostSuite("Next.js route handlers", { startMerchant: startNext, attach: (forge) => (handler) => forge.fetch(handler), throwing: "failed" });
