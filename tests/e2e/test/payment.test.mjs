// Paying: what the client sends back, what the merchant accepts and what its facilitator gets to see.

import assert from "node:assert/strict";
import { test } from "node:test";
import { extractDiscoveryInfo } from "@x402/extensions/bazaar";
import { expectFields, expectId, expectRated, expectReceipt } from "../lib/expect.mjs";
import { withoutForge } from "../lib/forge.mjs";
import { compare, onePayment, paid } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { decodeJson, encodeJson } from "../lib/x402-headers.mjs";

const stage = await openStage();
const skip = withoutForge && "E2E_WITHOUT_FORGE=1";
const edited = { removed: ["etag"] };

const GET = { path: "/weather?city=Oslo" };
const POST = { method: "POST", path: "/analyze", headers: { "Content-Type": "application/json" }, body: '{"text":"caf\u00e9"}' };

for (const [name, options] of [
  ["GET with bazaar", GET],
  ["POST with bazaar", POST],
  ["no extensions", { path: "/bare" }],
  ["two prices", { path: "/two-prices" }],
  ["settled before the handler (upfront)", { path: "/upfront" }],
]) {
  compare(`the same payment is accepted and the answer rated: ${name}`, stage, {
    run: onePayment(stage, options),
    bare: (answer) => {
      assert.equal(answer.status, 200);
      assert.equal(decodeJson(answer.header("payment-response")).success, true);
      assert.equal(answer.header("forge-feedback-id"), undefined);
    },
    ours: (answer, bare) => expectRated(answer, bare, edited),
  });

  compare(`the client parses and echoes the challenge, the server accepts: ${name}`, stage, {
    run: (side) => side.buy(options),
    bare: ({ answer }) => assert.equal(answer.status, 200),
    ours: ({ challenge, payment, answer }, bare) => {
      assert.equal(answer.status, 200);
      const offered = decodeJson(challenge.header("payment-required"));
      const sent = decodeJson(payment["PAYMENT-SIGNATURE"]);
      assert.deepEqual(sent.resource, offered.resource);
      assert.deepEqual(sent.extensions["forge-feedback"], offered.extensions["forge-feedback"]);
      assert.deepEqual(sent.accepted, decodeJson(bare.payment["PAYMENT-SIGNATURE"]).accepted);
      expectFields(answer, bare.answer, expectId(answer));
    },
  });
}

compare("P01 the facilitator sees the payment requirements byte for byte as without us", stage, {
  run: async (side) => {
    const from = side.facilitator.requests.length;
    await side.buy(GET);
    await side.buy(POST);
    await side.buy({ path: "/bare" });
    return side.facilitator.requests.slice(from).map(({ path, raw }) => [path, requirementsText(raw)]);
  },
  bare: (seen) => assert.deepEqual(seen.map(([path]) => path), ["/verify", "/settle", "/verify", "/settle", "/verify", "/settle"]),
  ours: (seen, bare) => assert.deepEqual(seen, bare),
});

test("P01 one payment sent to both merchants reaches both facilitators as the same bytes", { skip }, async () => {
  const payment = await stage.buyer.pay(await stage.bare.request(GET));
  const received = async (side) => {
    const from = side.facilitator.requests.length;
    await side.request(paid(GET, payment));
    return side.facilitator.requests.slice(from).map(({ path, raw }) => [path, raw.toString("latin1")]);
  };
  assert.deepEqual(await received(stage.ours), await received(stage.bare));
});

test("the real @x402/fetch pays for GET and POST", { skip }, async () => {
  for (const side of [stage.bare, stage.ours]) {
    const got = await stage.buyer.fetch(`${side.merchant.url}/weather?city=Oslo`);
    assert.equal(got.status, 200);
    const weather = await got.json();
    assert.equal(weather.city, "Oslo");
    const posted = await stage.buyer.fetch(`${side.merchant.url}/analyze`, { method: "POST", headers: POST.headers, body: POST.body });
    assert.equal(posted.status, 200);
    const analysis = await posted.json();
    assert.equal(analysis.length, 4);
    if (side === stage.ours) {
      assert.equal(weather.feedback_id, got.headers.get("forge-feedback-id"));
      assert.equal(analysis.feedback_id, posted.headers.get("forge-feedback-id"));
      assert.notEqual(weather.feedback_id, analysis.feedback_id);
    }
  }
});

compare("P02 a facilitator that refuses descriptions over 500 characters: what was payable stays payable", stage, {
  run: async (side) => {
    side.facilitator.maxDescription = 500;
    const answers = [];
    for (const path of ["/weather", "/long-description/450"]) {
      const { answer, payment } = await side.buy({ path });
      answers.push([answer.status, decodeJson(payment["PAYMENT-SIGNATURE"]).resource.description.length]);
    }
    side.facilitator.maxDescription = Infinity;
    return answers;
  },
  bare: (answers) => assert.deepEqual(answers, [[200, 26], [200, 450]]),
  ours: ([[weather, length], long]) => {
    assert.deepEqual([weather, long], [200, [200, 450]]);
    assert.ok(length > 26 && length <= 500, `the sentence is there and fits: ${length}`);
  },
});

compare("P02 the limit is real: one character more and nobody can pay", await openStage({ routes: (own) => ({ "GET /weather": { ...own["GET /weather"], description: "L".repeat(501) } }) }), {
  run: async (side) => {
    side.facilitator.maxDescription = 500;
    return (await side.buy(GET)).answer;
  },
  bare: (answer) => assert.match(decodeJson(answer.header("payment-required")).error, /^Facilitator verify failed \(400\)/),
  ours: (answer) => assert.equal(decodeJson(answer.header("payment-required")).resource.description.length, 501),
});

test("the facilitator really checks: a signature over another amount is refused by both merchants", { skip }, async () => {
  for (const side of [stage.bare, stage.ours]) {
    const payment = decodeJson((await stage.buyer.pay(await side.request(GET)))["PAYMENT-SIGNATURE"]);
    payment.payload.authorization.value = "999";
    const answer = await side.request(paid(GET, { "PAYMENT-SIGNATURE": encodeJson(payment) }));
    assert.equal(answer.status, 402);
    assert.equal(decodeJson(answer.header("payment-required")).error, "invalid_exact_evm_payload_signature");
  }
});

test("a payment is good once: the second use fails at both merchants and gets no id", { skip }, async () => {
  for (const side of [stage.bare, stage.ours]) {
    const { payment } = await side.buy(GET);
    const again = await side.request(paid(GET, payment));
    assert.equal(again.status, 402);
    assert.equal(decodeJson(again.header("payment-required")).error, "invalid_exact_evm_nonce_already_used");
    assert.equal(again.header("forge-feedback-id"), undefined);
  }
});

compare("P03 what a bazaar catalogue learns from the payment: our addition does not disturb it", stage, {
  run: async (side) => {
    const { payment } = await side.buy(GET);
    const payload = decodeJson(payment["PAYMENT-SIGNATURE"]);
    return extractDiscoveryInfo(payload, payload.accepted, true);
  },
  bare: (info) => assert.equal(info.method, "GET"),
  ours: (info, bare) => {
    assert.deepEqual(info.discoveryInfo, bare.discoveryInfo);
    assert.ok(info.description.startsWith(`${bare.description} `));
  },
});

for (const [name, change] of [
  ["without our extension", (payload) => delete payload.extensions["forge-feedback"]],
  ["with our extension altered", (payload) => (payload.extensions["forge-feedback"] = "anything")],
  ["without a resource", (payload) => delete payload.resource],
]) {
  test(`a payment ${name} is accepted`, { skip }, async () => {
    const payload = decodeJson((await stage.buyer.pay(await stage.ours.request(GET)))["PAYMENT-SIGNATURE"]);
    change(payload);
    const answer = await stage.ours.request(paid(GET, { "PAYMENT-SIGNATURE": encodeJson(payload) }));
    assert.equal(answer.status, 200);
    expectId(answer);
  });
}

test("P10 one id: header, receipt and three body fields agree, and no two answers share it", { skip }, async () => {
  const ids = new Set();
  for (let round = 0; round < 20; round++) {
    const payment = await stage.buyer.pay(await stage.bare.request(GET));
    const bare = await stage.bare.request(paid(GET, payment));
    const answer = await stage.ours.request(paid(GET, payment));
    const id = expectId(answer);
    expectReceipt(answer, bare, id);
    expectFields(answer, bare, id);
    const { feedback_id, feedback_url, rate_this_call } = JSON.parse(answer.body);
    assert.deepEqual([feedback_id, new URL(feedback_url).searchParams.get("feedback_id"), rate_this_call.split(id).length], [id, id, 3]);
    ids.add(id);
  }
  assert.equal(ids.size, 20);
});

compare("P10 two of our layers give one id", await openStage({ beside: (ours) => ({ outer: [...ours, ...ours] }) }), {
  run: (side) => side.buy(GET),
  bare: ({ answer }) => assert.equal(answer.status, 200),
  ours: ({ answer }, bare) => expectFields(answer, bare.answer, expectId(answer)),
});

compare("D01 L09 a junk payment on a free route: nothing is minted, nothing changes", stage, {
  run: (side) => Promise.all(["junk", encodeJson({ x402Version: 2 }), encodeJson([])].map((value) => side.request(paid({ path: "/free" }, { "PAYMENT-SIGNATURE": value })))),
  bare: (answers) => assert.deepEqual(answers.map(({ body }) => body.toString()), Array(3).fill('{"free":true}')),
  ours: (answers, bare) => answers.forEach((answer, at) => assert.deepEqual([answer.headers.length, answer.body], [bare[at].headers.length, bare[at].body])),
});

const strict = await openStage({ forge: { requireSettlement: true } });
compare("requireSettlement: a well-formed payment on a free route gets no id, a settled one does", strict, {
  run: async (side) => {
    const { payment, answer } = await side.buy(GET);
    return { answer, free: await side.request(paid({ path: "/free" }, payment)) };
  },
  bare: ({ free }) => assert.equal(free.body.toString(), '{"free":true}'),
  ours: ({ answer, free }, bare) => {
    expectId(answer);
    assert.equal(free.header("forge-feedback-id"), undefined);
    assert.deepEqual(free.body, bare.free.body);
  },
});

function requirementsText(raw) {
  const text = raw.toString("latin1");
  return text.slice(text.indexOf(',"paymentRequirements":'));
}
