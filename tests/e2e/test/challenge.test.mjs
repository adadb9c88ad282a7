// The 402: what an agent reads before it pays.

import assert from "node:assert/strict";
import { validateDiscoveryExtension, validateDiscoveryExtensionSpec } from "@x402/extensions/bazaar";
import { BROWSER } from "../lib/browser.mjs";
import { expectDecorated, expectUntouched } from "../lib/expect.mjs";
import { compare } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { decodeJson, decodeText } from "../lib/x402-headers.mjs";
import { PAYWALL } from "../merchant/routes.mjs";

const stage = await openStage();
const hint = (req, res, next) => res.writeEarlyHints({ link: "</a.css>; rel=preload" }, next);
const hinting = await openStage({ beside: (ours) => ({ outer: [...ours], between: [hint] }) });
const twice = await openStage({ beside: (ours) => ({ outer: [...ours, ...ours] }) });
const declaring = await openStage({ routes: (own) => ({ "GET /weather": { ...own["GET /weather"], extensions: { "forge-feedback": { info: { own: true } } } } }) });

for (const [name, options] of [
  ["GET with bazaar", { path: "/weather?city=Oslo" }],
  ["POST with bazaar and a description beyond ASCII", { method: "POST", path: "/analyze", body: '{"text":"hi"}', headers: { "Content-Type": "application/json" } }],
  ["no extensions, no description", { path: "/bare" }],
  ["two prices", { path: "/two-prices" }],
  ["HEAD on a route that is paid whatever the method", { method: "HEAD", path: "/any-method" }],
]) {
  compare(`challenge: ${name}`, stage, {
    run: (side) => side.request(options),
    bare: (answer) => {
      assert.equal(answer.status, 402);
      assert.equal(answer.body.toString(), options.method === "HEAD" ? "" : "{}");
      assert.equal(decodeJson(answer.header("payment-required")).extensions?.["forge-feedback"], undefined);
    },
    ours: expectDecorated,
  });
}

compare("P01 not one byte of accepts changes", stage, {
  run: async (side) => Promise.all(["/weather", "/bare", "/two-prices", "/upfront"].map((path) => side.request({ path }))),
  bare: (answers) => answers.forEach((answer) => assert.match(acceptsText(answer), /^\[\{.*\}\]$/)),
  ours: (answers, bare) => assert.deepEqual(answers.map(acceptsText), bare.map(acceptsText)),
});

for (const options of [{ path: "/weather" }, { method: "POST", path: "/analyze" }]) {
  compare(`P03 bazaar for ${options.method ?? "GET"}: same bytes, same verdict of the official validator`, stage, {
    run: async (side) => {
      const text = decodeText((await side.request(options)).header("payment-required"));
      const { bazaar } = JSON.parse(text).extensions;
      return { text: JSON.stringify(bazaar), inPlace: text, verdicts: [validateDiscoveryExtension(bazaar), validateDiscoveryExtensionSpec(bazaar)] };
    },
    bare: ({ verdicts }) => assert.deepEqual(verdicts.map(({ valid }) => valid), [true, true]),
    ours: ({ text, inPlace, verdicts }, bare) => {
      assert.ok(bare.inPlace.includes(`"bazaar":${bare.text}`));
      assert.ok(inPlace.includes(`"extensions":{"bazaar":${bare.text},"forge-feedback":`), "bazaar first, its bytes as they were");
      assert.equal(text, bare.text);
      assert.deepEqual(verdicts, bare.verdicts);
    },
  });
}

compare("P02 a description our sentence would carry over 500 characters stays as it is", stage, {
  run: (side) => side.request({ path: "/long-description/450" }),
  bare: (answer) => assert.equal(decodeJson(answer.header("payment-required")).resource.description.length, 450),
  ours: (answer, bare) => expectDecorated(answer, bare, { says: null }),
});

compare("P07 the HTML paywall keeps its bytes, its header is decorated", stage, {
  run: (side) => side.request({ path: "/weather", headers: BROWSER }),
  bare: (answer) => {
    assert.match(answer.header("content-type"), /^text\/html/);
    assert.match(answer.body.toString(), /<html/i);
  },
  ours: expectDecorated,
});

compare("P07 a merchant's own paywall that holds JSON keeps its bytes", stage, {
  run: (side) => side.request({ path: "/paywall", headers: BROWSER }),
  bare: (answer) => assert.equal(answer.body.toString(), PAYWALL),
  ours: expectDecorated,
});

compare("A50 a merchant's own body for the unpaid keeps its bytes", stage, {
  run: (side) => side.request({ path: "/preview" }),
  bare: (answer) => assert.equal(answer.body.toString(), '{"preview":"first 3 rows","rows":[1,2,3]}'),
  ours: expectDecorated,
});

compare("P08 no-store on a 402 is kept", stage, {
  run: (side) => side.request({ path: "/weather" }),
  bare: (answer) => assert.equal(answer.header("cache-control"), "no-store"),
  ours: (answer) => assert.equal(answer.header("cache-control"), "no-store"),
});

compare("P17 early hints before a 402: 103 first, then the decorated challenge", hinting, {
  run: (side) => side.request({ path: "/weather" }),
  bare: (answer) => {
    assert.deepEqual(answer.informational.map(({ status, headers }) => [status, headers]), [[103, [["Link", "</a.css>; rel=preload"]]]]);
    assert.equal(answer.status, 402);
  },
  ours: (answer, bare) => {
    assert.deepEqual(answer.informational.map(({ status, headers }) => [status, headers]), bare.informational.map(({ status, headers }) => [status, headers]));
    expectDecorated(answer, bare);
  },
});

compare("P05 two of our layers decorate once", twice, {
  run: (side) => side.request({ path: "/weather" }),
  bare: (answer) => assert.equal(answer.status, 402),
  ours: expectDecorated,
});

compare("A36 a merchant that declares forge-feedback itself is left alone", declaring, {
  run: (side) => side.request({ path: "/weather" }),
  bare: (answer) => assert.deepEqual(decodeJson(answer.header("payment-required")).extensions["forge-feedback"], { info: { own: true } }),
  ours: expectUntouched,
});

compare("free routes, unknown paths and preflights are untouched", stage, {
  run: async (side) =>
    Promise.all(
      [{ path: "/free" }, { path: "/free-text" }, { path: "/nowhere" }, { method: "HEAD", path: "/free" }, { method: "OPTIONS", path: "/weather" }].map((options) => side.request(options)),
    ),
  bare: (answers) => assert.deepEqual(answers.map(({ status }) => status), [200, 200, 404, 200, 200]),
  ours: (answers, bare) => answers.forEach((answer, at) => expectUntouched(answer, bare[at])),
});

compare("a status that is not 402 is no challenge, even with the header (412, permit2 allowance)", stage, {
  run: async (side) => {
    const challenge = await side.request({ path: "/weather" });
    side.facilitator.fail.verify = { body: { isValid: false, invalidReason: "permit2_allowance_required" } };
    const answer = await side.request({ path: "/weather", headers: await stage.buyer.pay(challenge) });
    side.facilitator.fail = {};
    return answer;
  },
  bare: (answer) => {
    assert.equal(answer.status, 412);
    assert.ok(answer.header("payment-required"));
  },
  ours: expectUntouched,
});

function acceptsText(answer) {
  const text = decodeText(answer.header("payment-required"));
  const accepts = JSON.stringify(JSON.parse(text).accepts);
  assert.ok(text.includes(`"accepts":${accepts}`));
  return accepts;
}
