// Diagnostics with the real payment packages: a failed payment is told why, a client that pays never meets a diagnostic, a client
// that never pays is told to stop, and its operator's event comes once.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { after, test } from "node:test";
import { expectDecorated, RATE } from "../lib/expect.mjs";
import { API_KEY, bindingFolder, withoutForge } from "../lib/forge.mjs";
import { headerChanges } from "../lib/raw-http.mjs";
import { challengeExtension, sentence } from "../lib/wording.mjs";
import { onePayment, paid } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { decodeJson, decodeText, encodeJson } from "../lib/x402-headers.mjs";
import { startReceiver } from "../receiver.mjs";
import { createRequire } from "node:module";
import { join } from "node:path";

const skip = withoutForge && "E2E_WITHOUT_FORGE=1";
const client = withoutForge ? null : createRequire(join(bindingFolder, "package.json"))("forge-x402/client");
const receiver = await startReceiver({ apiKey: API_KEY });
after(() => receiver.close());

const reporting = { backendUrl: receiver.url, flushIntervalMs: 100 };
const open = (diagnostics, more = {}) => openStage({ forge: { ...reporting, diagnostics, ...more } });

/** What stands in the body, both as the client half reads it and as JSON. */
function diagnosticOf(answer) {
  const read = client.parseDiagnostic({ headers: answer.headers, body: answer.body });
  const { diagnostic } = JSON.parse(answer.body.toString());
  assert.equal(read?.code, diagnostic?.code);
  return diagnostic;
}

function changed(payment, change) {
  const sent = decodeJson(payment["PAYMENT-SIGNATURE"]);
  change(sent.payload);
  return { "PAYMENT-SIGNATURE": encodeJson(sent) };
}

const payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
const network = "eip155:84532";

const failures = [
  {
    name: "a wrong signature",
    pay: async (side, buyer) => changed(await buyer.pay(await side.request({ path: "/weather" })), (payload) => (payload.signature = `0x${"1".repeat(129)}b`)),
    code: "PAYMENT_UNVERIFIED", reason: "signature_invalid", policy: "do_not_retry", error: "invalid_exact_evm_payload_signature", action: "stop",
  },
  {
    name: "an expired authorization",
    path: "/short",
    pay: async (side, buyer) => {
      const payment = await buyer.pay(await side.request({ path: "/short" }));
      await sleep(2_100);
      return payment;
    },
    code: "INVOICE_EXPIRED", reason: "authorization_expired", policy: "retry_new_payment", error: "invalid_exact_evm_payload_authorization_valid_before", action: "pay", expired: true,
  },
  {
    name: "no funds", fail: { verify: { body: { isValid: false, invalidReason: "insufficient_funds", payer } } },
    code: "WALLET_INSUFFICIENT_FUNDS", reason: "insufficient_balance", policy: "do_not_retry", error: "insufficient_funds", escalate: true, action: "escalate",
  },
  {
    name: "a facilitator that answers 500 to verify", fail: { verify: { status: 500, body: "oops" } },
    code: "PAYMENT_REQUIRED", reason: "facilitator_unavailable", policy: "retry_with_backoff", action: "wait",
  },
  {
    name: "a settlement that reverted", fail: { settle: { body: { success: false, errorReason: "invalid_transaction_state", payer, transaction: "", network } } },
    code: "PAYMENT_UNVERIFIED", reason: "transaction_reverted", policy: "do_not_retry", error: "invalid_transaction_state", action: "stop",
  },
  {
    name: "a settlement that failed in an unknown way", fail: { settle: { body: { success: false, errorReason: "invalid_exact_evm_transaction_failed", payer, transaction: "", network } } },
    code: "PAYMENT_UNVERIFIED", reason: "settlement_unknown", policy: "retry_same_payment", error: "invalid_exact_evm_transaction_failed", action: "wait",
  },
  {
    name: "a facilitator that answers 500 to settle", fail: { settle: { status: 500, body: "oops" } },
    code: "PAYMENT_UNVERIFIED", reason: "settlement_unknown", policy: "retry_same_payment", action: "wait",
  },
];

for (const { name, path = "/weather", pay, fail = {}, code, reason, policy, error, escalate = false, action, expired = false } of failures) {
  test(`${name}: ${code}, ${reason}, ${policy}`, { skip }, async () => {
    const stage = await openStage({ forge: { ...reporting, diagnostics: true }, routes: withShort });
    const one = pay ? await pay(stage.bare, stage.buyer) : await stage.buyer.pay(await stage.bare.request({ path }));
    const answers = [];
    for (const side of [stage.bare, stage.ours]) {
      side.facilitator.fail = fail;
      answers.push(await side.request(paid({ path }, one)));
    }
    const [before, answer] = answers;
    assert.deepEqual([before.status, answer.status, before.body.toString()], [402, 402, "{}"]);

    const told = diagnosticOf(answer);
    assert.deepEqual(
      { code: told.code, reason: told.reason, policy: told.retry_policy, error: told.facilitator_error_code, escalate: told.escalate },
      { code, reason, policy, error, escalate },
    );
    assert.match(told.correlation_id, /^[0-9a-f]{16}$/);
    assert.equal(answer.body.toString(), `{"diagnostic":${JSON.stringify(told)}}`, "only the member is new");
    assert.equal(answer.header("cache-control"), "no-store");

    // The challenge, or the failed receipt, is what it is without diagnostics.
    if (before.header("payment-required") !== undefined) {
      assert.equal(decodeText(answer.header("payment-required")), expectedChallenge(before));
    }
    assert.equal(answer.header("payment-response"), before.header("payment-response"));

    const state = { paymentsSent: 1, lastPaymentExpired: expired, withinBudget: true };
    assert.equal(client.decide(told, state).action, action);
    assert.notEqual(client.decide(told, { ...state, lastPaymentExpired: false }).send, "new_payment", "the first one may still settle");
    await stage.engine.shutdown();
  });
}

test("a client that pays is never disturbed: fifty purchases, a threshold of five, no diagnostic on any leg, no event", { skip }, async () => {
  const stage = await open({ attempts: 5, minAgeMs: 0, countPrivateIps: true, header: true });
  const seen = receiver.of("escalation").length;
  for (let turn = 0; turn < 50; turn++) {
    const { challenge, answer } = await stage.ours.buy({ path: "/weather" });
    assert.equal(answer.status, 200);
    assert.deepEqual(challenge.body.toString(), "{}");
    assert.doesNotMatch(decodeText(challenge.header("payment-required")), /"diagnostic"/);
    assert.doesNotMatch(answer.body.toString(), /"diagnostic"/);
  }
  await stage.engine.shutdown();
  assert.equal(receiver.of("escalation").length, seen);
});

test("requests that never pay: told at the threshold and not before, the operator's event comes once, a settled payment ends it", { skip }, async () => {
  const stage = await open({ attempts: 5, minAgeMs: 0, countPrivateIps: true });
  const agent = { path: "/weather", headers: { "User-Agent": "loop/1.0", "X-Agent-ID": "agent-7", "X-Operator-Contact": "mailto:ops@agent.example" } };
  const bare = await stage.bare.request(agent);
  const ids = new Set();
  for (let attempt = 1; attempt <= 12; attempt++) {
    const answer = await stage.ours.request(agent);
    const told = diagnosticOf(answer);
    if (attempt < 5) {
      assert.equal(told, undefined, `attempt ${attempt}`);
      expectDecorated(answer, bare);
    } else {
      assert.deepEqual([told.code, told.reason, told.retry_policy, told.attempts, told.escalate], ["PAYMENT_ATTEMPTS_EXCEEDED", "no_payment", "do_not_retry", attempt, true]);
      assert.equal(told.since, told.firstAttempt);
      assert.doesNotMatch(JSON.stringify(told), /agent-7|mailto|loop\/1\.0|127\.0\.0\.1/, "nothing of the client is in it");
      assert.equal(decodeText(answer.header("payment-required")), expectedChallenge(bare));
      ids.add(told.correlation_id);
      assert.deepEqual(client.decide(told, { withinBudget: true }), { action: "escalate", waitS: 0, send: "nothing", blockEndpoint: true, tellOperator: true });
    }
  }
  assert.equal(ids.size, 1, "one sequence, one id");
  const [id] = ids;

  // A client of another name at the same address is not counted with it.
  assert.equal(diagnosticOf(await stage.ours.request({ path: "/weather", headers: { "User-Agent": "other/1.0" } })), undefined);

  await receiver.until((events) => events.some((event) => event.correlation_id === id));
  await stage.engine.flush(2_000);
  const events = receiver.events.filter((event) => event.type === "escalation" && event.correlation_id === id);
  assert.equal(events.length, 1);
  assert.deepEqual([events[0].code, events[0].attempts, events[0].agent_id, events[0].operator_contact], ["PAYMENT_ATTEMPTS_EXCEEDED", 5, "agent-7", "mailto:ops@agent.example"]);

  const { answer } = await stage.ours.buy(agent);
  assert.equal(answer.status, 200);
  for (let attempt = 0; attempt < 8; attempt++) {
    // Held back for a day, too: somebody has paid from this address.
    assert.equal(diagnosticOf(await stage.ours.request(agent)), undefined);
  }
  await stage.engine.shutdown();
});

test("with the header option the client echoes the diagnostic and its next payment is taken", { skip }, async () => {
  const stage = await open({ header: true });
  const options = { path: "/weather" };
  const first = await stage.ours.request(options);
  assert.doesNotMatch(decodeText(first.header("payment-required")), /"diagnostic"/, "never on first contact");
  const broken = changed(await stage.buyer.pay(first), (payload) => (payload.signature = `0x${"1".repeat(129)}b`));
  for (let turn = 1; turn <= 2; turn++) {
    const refused = await stage.ours.request(paid(options, broken));
    const { diagnostic } = decodeJson(refused.header("payment-required")).extensions;
    assert.deepEqual([diagnostic.info.reason, diagnostic.info.attempts, diagnostic.schema], ["signature_invalid", turn, { type: "object" }]);
    assert.deepEqual(diagnostic.info, diagnosticOf(refused));
    if (turn === 1) continue;

    const payment = await stage.buyer.pay(refused);
    assert.deepEqual(decodeJson(payment["PAYMENT-SIGNATURE"]).extensions.diagnostic, diagnostic, "the client echoes it");
    const answer = await stage.ours.request(paid(options, payment));
    assert.equal(answer.status, 200, "no extension_echo_mismatch");
    assert.equal(decodeJson(answer.header("payment-response")).success, true);
  }
  await stage.engine.shutdown();
});

test("a diagnostic extension of the server's own keeps its bytes: the route stays payable", { skip }, async () => {
  const own = { info: { code: "PAYMENT_REQUIRED", note: "the merchant's own" }, schema: { type: "object" } };
  const routes = (all) => ({ ...all, "GET /weather": { ...all["GET /weather"], extensions: { diagnostic: own } } });
  const stage = await openStage({ forge: { ...reporting, diagnostics: { header: true } }, routes });
  const pay = onePayment(stage, { path: "/weather" });
  const failing = async (side) => {
    side.facilitator.fail.verify = { body: { isValid: false, invalidReason: "insufficient_funds", payer } };
    const answer = await pay(side);
    side.facilitator.fail = {};
    return answer;
  };
  await failing(stage.bare);
  const refused = await failing(stage.ours);
  assert.deepEqual(decodeJson(refused.header("payment-required")).extensions.diagnostic, own);
  assert.equal(diagnosticOf(refused).code, "WALLET_INSUFFICIENT_FUNDS");
  const answer = await stage.ours.request(paid({ path: "/weather" }, await stage.buyer.pay(refused)));
  assert.equal(answer.status, 200);
  await stage.engine.shutdown();
});

test("without the option not one byte of a failed payment's answer differs but the ask", { skip }, async () => {
  const stage = await open(false);
  const pay = onePayment(stage, { path: "/weather" });
  for (const side of [stage.bare, stage.ours]) side.facilitator.fail.verify = { body: { isValid: false, invalidReason: "insufficient_funds", payer } };
  const [bare, answer] = [await pay(stage.bare), await pay(stage.ours)];
  expectDecorated(answer, bare);
  assert.deepEqual(headerChanges(bare, answer).changed, ["payment-required"]);
  await stage.engine.shutdown();
});

function withShort(routes) {
  return { ...routes, "GET /short": { ...routes["GET /weather"], accepts: { ...routes["GET /weather"].accepts, maxTimeoutSeconds: 1 } } };
}

/** The challenge with our two additions and nothing of the diagnostic. */
function expectedChallenge(bare) {
  const challenge = decodeJson(bare.header("payment-required"));
  const says = sentence(RATE);
  challenge.resource.description = `${challenge.resource.description} ${says}`;
  challenge.extensions = { ...challenge.extensions, "forge-feedback": challengeExtension(RATE) };
  return JSON.stringify(challenge);
}
