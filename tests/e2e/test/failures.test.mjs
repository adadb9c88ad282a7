// Payments and handlers that fail: no id, no rating ask, and the bytes a failing merchant sends stay the merchant's.

import assert from "node:assert/strict";
import { expectDecorated, expectUntouched } from "../lib/expect.mjs";
import { compare, onePayment, paid } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { decodeJson, encodeJson } from "../lib/x402-headers.mjs";

const stage = await openStage();

/** Pays while the facilitator is told to fail at one step. */
function failing(step, failure, path = "/weather") {
  const pay = onePayment(stage, { path });
  return async (side) => {
    side.facilitator.fail[step] = failure;
    try {
      return await pay(side);
    } finally {
      side.facilitator.fail = {};
    }
  };
}

function noId(answer) {
  assert.equal(answer.header("forge-feedback-id"), undefined);
  assert.doesNotMatch(answer.body.toString("latin1"), /feedback_id|rate_this_call/);
}

for (const [name, failure, error] of [
  ["says invalid", { body: { isValid: false, invalidReason: "insufficient_funds" } }, "insufficient_funds"],
  ["answers 400", { status: 400, body: { isValid: false, invalidReason: "invalid_payload", invalidMessage: "no" } }, "invalid_payload: no"],
  ["answers 500 without JSON", { status: 500, body: "oops" }, "Facilitator verify failed (500): oops"],
]) {
  compare(`verify fails, the facilitator ${name}: a decorated challenge, no id`, stage, {
    run: failing("verify", failure),
    bare: (answer) => {
      assert.equal(answer.status, 402);
      assert.equal(decodeJson(answer.header("payment-required")).error, error);
    },
    ours: (answer, bare) => {
      noId(answer);
      expectDecorated(answer, bare);
    },
  });
}

compare("verify answers invalid JSON: the 502 of the payment layer is untouched", stage, {
  run: failing("verify", { body: "{not json" }),
  bare: (answer) => assert.equal(answer.status, 502),
  ours: expectUntouched,
});

for (const [name, failure, path] of [
  ["says no", { body: { success: false, errorReason: "invalid_transaction_state", payer: "0x0", transaction: "", network: "eip155:84532" } }, "/weather"],
  ["answers 400", { status: 400, body: { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" } }, "/weather"],
  ["answers 500", { status: 500, body: "oops" }, "/weather"],
  ["says no before the handler (upfront)", { body: { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" } }, "/upfront"],
  ["says no and the merchant has a body for it", { body: { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" } }, "/apology"],
]) {
  compare(`P09 settle ${name}: 402 with a failed receipt is untouched, no id anywhere`, stage, {
    run: failing("settle", failure, path),
    bare: (answer) => {
      assert.equal(answer.status, 402);
      assert.equal(decodeJson(answer.header("payment-response")).success, false);
      assert.equal(answer.header("payment-required"), undefined);
    },
    ours: (answer, bare) => {
      noId(answer);
      expectUntouched(answer, bare);
    },
  });
}

compare("settle answers invalid JSON: the 502 of the payment layer is untouched", stage, {
  run: failing("settle", { body: "{not json" }),
  bare: (answer) => assert.equal(answer.status, 502),
  ours: expectUntouched,
});

for (const [name, header] of [
  ["not base64", "%%%"],
  ["another version", encodeJson({ x402Version: 3, payload: {}, accepted: {} })],
  ["an accepted the server never offered", encodeJson({ x402Version: 2, payload: {}, accepted: { scheme: "exact", amount: "1" } })],
]) {
  compare(`a payment header that is ${name}: challenge again, decorated, no id`, stage, {
    run: (side) => side.request(paid({ path: "/weather" }, { "PAYMENT-SIGNATURE": header })),
    bare: (answer) => assert.equal(answer.status, 402),
    ours: (answer, bare) => {
      noId(answer);
      expectDecorated(answer, bare);
    },
  });
}

for (const [path, status] of [
  ["/paid/throws", 500],
  ["/paid/rejects", 500],
  ["/paid/status/404", 404],
  ["/paid/status/500", 500],
]) {
  compare(`C30 ${path}: the handler's ${status} is untouched and nothing was settled`, stage, {
    run: async (side) => {
      const settled = side.facilitator.sent("/settle").length;
      const answer = await payFor(path)(side);
      return { answer, settled: side.facilitator.sent("/settle").length - settled };
    },
    bare: ({ answer, settled }) => {
      assert.equal(answer.status, status);
      assert.equal(settled, 0);
    },
    ours: ({ answer, settled }, bare) => {
      assert.equal(settled, 0);
      expectUntouched(answer, bare.answer);
    },
  });
}

compare("500 with a successful receipt (upfront, then the handler fails): untouched, no id", stage, {
  run: onePayment(stage, { path: "/upfront-failing" }),
  bare: (answer) => {
    assert.equal(answer.status, 500);
    assert.equal(decodeJson(answer.header("payment-response")).success, true);
  },
  ours: expectUntouched,
});

compare("writeHead(500) is charged by the payment layer: the status of writeHead counts, no id", stage, {
  run: onePayment(stage, { path: "/paid/write-head-500" }),
  bare: (answer) => {
    assert.equal(answer.status, 500);
    assert.equal(decodeJson(answer.header("payment-response")).success, true);
  },
  ours: expectUntouched,
});

compare("an error after a partial body: the same bytes as without us", stage, {
  run: onePayment(stage, { path: "/paid/partial-then-error" }),
  bare: (answer) => {
    assert.equal(answer.status, 500);
    assert.match(answer.body.toString(), /^\{"partial":\{"error"/);
  },
  ours: expectUntouched,
});

compare("end(callback) makes the payment layer answer 402 {} without any header: untouched", stage, {
  run: onePayment(stage, { path: "/paid/end/write-end-callback" }),
  bare: (answer) => {
    assert.equal(answer.status, 402);
    assert.equal(answer.body.toString(), "{}");
    assert.equal(answer.header("payment-required") ?? answer.header("payment-response"), undefined);
  },
  ours: expectUntouched,
});

for (const [name, sabotage] of [
  ["on the request", (engine) => (engine.onRequest = fail)],
  ["on a challenge", (engine) => (engine.onResponseLate = fail)],
  [
    "on a paid answer",
    (engine) => {
      const onRequest = engine.onRequest.bind(engine);
      engine.onRequest = (bytes, length, exchange) => {
        exchange.onResponse = fail;
        return onRequest(bytes, length, exchange);
      };
    },
  ],
]) {
  const broken = await openStage();
  let payment;
  if (broken.engine) sabotage(broken.engine.engine);
  compare(`an exception inside us ${name}: the traffic passes as it came`, broken, {
    run: async (side) => {
      // An ordinary request is not shown to the engine; one with agent context is.
      const challenge = await side.request({ path: name === "on the request" ? "/weather?agent_type=bot" : "/weather" });
      payment ??= await broken.buyer.pay(challenge);
      return { challenge, answer: await side.request(paid({ path: "/weather" }, payment)) };
    },
    bare: ({ challenge, answer }) => assert.deepEqual([challenge.status, answer.status], [402, 200]),
    ours: ({ challenge, answer }, bare) => {
      if (name !== "on a paid answer") expectUntouched(challenge, bare.challenge);
      if (name !== "on a challenge") expectUntouched(answer, bare.answer);
    },
  });
}

function fail() {
  throw new Error("sabotage");
}

/** One payment per call of this function, the same for both merchants. */
const payments = new Map();
function payFor(path) {
  if (!payments.has(path)) payments.set(path, onePayment(stage, { path }));
  return payments.get(path);
}
