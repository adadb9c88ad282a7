// Diagnostics in x402 v1 with the real x402-express and x402-fetch: a member of the challenge body, which the client's schema lets pass.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { bindingFolder, withoutForge } from "../../lib/forge.mjs";
import { onePayment } from "../../lib/stage.mjs";
import { RATE } from "../../lib/expect.mjs";
import { sentence } from "../../lib/wording.mjs";
import { openStage } from "../stage.mjs";

const skip = withoutForge && "E2E_WITHOUT_FORGE=1";
const client = withoutForge ? null : createRequire(join(bindingFolder, "package.json"))("forge-x402/client");

for (const [name, fail, code, reason, policy] of [
  ["no funds", { verify: { body: { isValid: false, invalidReason: "insufficient_funds", payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66" } } }, "WALLET_INSUFFICIENT_FUNDS", "insufficient_balance", "do_not_retry"],
  ["a settlement that fails in an unknown way", { settle: { body: { success: false, errorReason: "unexpected_settle_error", transaction: "", network: "base-sepolia" } } }, "PAYMENT_UNVERIFIED", "settlement_unknown", "retry_same_payment"],
]) {
  test(`v1, ${name}: ${code}, ${reason}`, { skip }, async () => {
    const stage = await openStage({ forge: { diagnostics: true } });
    const pay = onePayment(stage, { path: "/weather" });
    for (const side of [stage.bare, stage.ours]) side.facilitator.fail = fail;
    const [bare, answer] = [await pay(stage.bare), await pay(stage.ours)];
    assert.deepEqual([bare.status, answer.status], [402, 402]);

    const { diagnostic, ...challenge } = JSON.parse(answer.body);
    assert.deepEqual([diagnostic.code, diagnostic.reason, diagnostic.retry_policy], [code, reason, policy]);
    assert.deepEqual(client.parseDiagnostic({ headers: answer.headers, body: answer.body }).code, code);
    assert.equal(answer.header("cache-control"), "no-store");
    const before = JSON.parse(bare.body);
    for (const entry of before.accepts) entry.description = `${entry.description} ${sentence(RATE)}`;
    assert.equal(JSON.stringify(challenge), JSON.stringify(before), "the challenge is what it is without diagnostics");

    for (const side of [stage.bare, stage.ours]) side.facilitator.fail = {};
    const paid = await stage.ours.request({ path: "/weather", headers: await stage.buyer.pay(answer) });
    assert.equal(paid.status, 200, "the client reads the challenge with the member in it, and pays");
    await stage.engine.shutdown();
  });
}

test("v1, a client that pays is never disturbed", { skip }, async () => {
  const stage = await openStage({ forge: { diagnostics: { attempts: 3, minAgeMs: 0, countPrivateIps: true } } });
  for (let turn = 0; turn < 10; turn++) {
    const { challenge, answer } = await stage.ours.buy({ path: "/weather" });
    assert.equal(answer.status, 200);
    assert.doesNotMatch(challenge.body.toString() + answer.body.toString(), /"diagnostic"/);
  }
  await stage.engine.shutdown();
});
