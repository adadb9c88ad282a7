// Where the rating link points when the merchant has not said (`publicUrl` absent): to the challenge's own resource, and
// never to an address the payer chose.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectDecorated, expectFields, expectId, expectReceipt } from "../lib/expect.mjs";
import { withoutForge } from "../lib/forge.mjs";
import { compare, onePayment, paid } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { sentence } from "../lib/wording.mjs";
import { decodeJson, encodeJson } from "../lib/x402-headers.mjs";

const stage = await openStage({ forge: { publicUrl: undefined } });
const skip = withoutForge && "E2E_WITHOUT_FORGE=1";
const OWN = "http://api.example.com/feedback/rate";
const PATH = "/feedback/rate";

compare("the link of a challenge has the origin of its resource", stage, {
  run: (side) => side.request({ path: "/weather" }),
  bare: (answer) => assert.equal(decodeJson(answer.header("payment-required")).resource.url, "http://api.example.com/weather"),
  ours: (answer, bare) => expectDecorated(answer, bare, { says: sentence(OWN), rate: OWN }),
});

compare("the links of the answer have the origin this process has challenged with", stage, {
  run: onePayment(stage, { path: "/weather" }),
  bare: (answer) => assert.equal(answer.status, 200),
  ours: (answer, bare) => {
    const id = expectId(answer);
    expectReceipt(answer, bare, id, OWN);
    expectFields(answer, bare, id, OWN);
  },
});

for (const [id, change] of [
  ["D19 a resource the payer made up", (payload) => (payload.resource = { ...payload.resource, url: "https://evil.example/weather" })],
  ["D18 no resource", (payload) => delete payload.resource],
]) {
  test(`${id}: the links are paths on the merchant`, { skip }, async () => {
    const payload = decodeJson((await stage.buyer.pay(await stage.ours.request({ path: "/weather" })))["PAYMENT-SIGNATURE"]);
    change(payload);
    const payment = { "PAYMENT-SIGNATURE": encodeJson(payload) };
    const bare = await stage.bare.request(paid({ path: "/weather" }, payment));
    const answer = await stage.ours.request(paid({ path: "/weather" }, payment));
    const feedbackId = expectId(answer);
    expectReceipt(answer, bare, feedbackId, PATH);
    expectFields(answer, bare, feedbackId, PATH);
  });
}
