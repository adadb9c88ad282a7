// The promises that hold on every host, as tests: what changes of the challenge and the paid answer, what does not, the rating
// routes, agent context, and the events.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createBuyer } from "../buyer.mjs";
import { paidRoutes } from "../merchant/routes.mjs";
import { startReceiver } from "../receiver.mjs";
import { expectDecorated, expectFields, expectId, expectReceipt, expectUntouched } from "./expect.mjs";
import { API_KEY, PUBLIC_URL } from "./forge.mjs";
import { headerChanges } from "./raw-http.mjs";
import { compare, onePayment, paid, stageFor } from "./stage.mjs";

const JSON_TYPE = { "Content-Type": "application/json" };
const CONTEXT = '"agent_context":{"agent_type":"claude"}';

/** `startMerchant` and `attach` are stageFor's; `throwing`: the outcome reported of a handler that throws. */
export async function hostSuite(host, { startMerchant, attach, throwing }) {
  const receiver = await startReceiver({ apiKey: API_KEY });
  after(() => receiver.close());
  const openStage = stageFor({ startMerchant, createBuyer, paidRoutes, attach });
  const stage = await openStage({ forge: { backendUrl: receiver.url, flushIntervalMs: 100 } });
  after(() => stage.engine.shutdown());
  const seenBy = (answer) => {
    const { feedback_id, feedback_url, rate_this_call, ...seen } = JSON.parse(answer.body);
    return seen;
  };

  compare(`${host}: the challenge gains our two additions alone`, stage, {
    run: (side) => side.request({ path: "/weather" }),
    bare: (answer) => assert.equal(answer.status, 402),
    ours: expectDecorated,
  });

  compare(`${host}: a paid JSON answer carries the id in header, receipt and body`, stage, {
    run: onePayment(stage, { path: "/weather" }),
    bare: (answer) => assert.equal(answer.status, 200),
    ours: (answer, bare) => {
      const id = expectId(answer);
      expectReceipt(answer, bare, id);
      expectFields(answer, bare, id);
      assert.equal(answer.statusLine, bare.statusLine);
    },
  });

  compare(`${host}: a paid text keeps its bytes, two cookies stay two lines`, stage, {
    run: async (side) => {
      const answers = [];
      for (const path of ["/paid/text", "/paid/cookies"]) answers.push((await side.buy({ path })).answer);
      return answers;
    },
    bare: ([text]) => assert.equal(text.body.toString(), "caf\u00e9\n"),
    ours: ([text, cookies], [bareText, bareCookies]) => {
      expectId(text);
      assert.deepEqual(text.body, bareText.body);
      assert.deepEqual(cookies.all("set-cookie"), bareCookies.all("set-cookie"));
      const { removed } = headerChanges(bareText, text);
      assert.deepEqual(removed, []);
    },
  });

  for (const options of [{ path: "/free" }, { path: "/nothing-here" }, { method: "POST", path: "/free-seen", headers: JSON_TYPE, body: `{"a":1,${CONTEXT}}` }]) {
    compare(`${host}: ${options.method ?? "GET"} ${options.path} is untouched`, stage, {
      run: (side) => side.request(options),
      bare: (answer) => assert.ok(answer.status < 500),
      ours: expectUntouched,
    });
  }

  compare(`${host}: D04 agent context is cut from body and query, and the lengths agree`, stage, {
    run: async (side) => {
      const options = { method: "POST", path: "/paid/seen?a=1&agent_client=awal", headers: JSON_TYPE, body: `{"a":1.0,${CONTEXT}}` };
      return seenBy((await side.buy(options)).answer);
    },
    bare: (seen) => assert.ok(seen.body.includes("agent_context") && seen.url.includes("agent_client")),
    ours: (seen) => {
      assert.equal(seen.body, '{"a":1.0}');
      assert.equal(seen.url, "/paid/seen?a=1");
      assert.ok([null, "9"].includes(seen.contentLength), `content-length: ${seen.contentLength}`);
    },
  });

  for (const size of [1_000_000, 3_000_000]) {
    compare(`${host}: P20 a paid upload of ${size} bytes arrives whole`, stage, {
      run: async (side) => {
        const options = { method: "POST", path: "/paid/seen", headers: JSON_TYPE };
        const payment = await stage.buyer.pay(await side.request(options));
        return seenBy(await side.request(paid({ ...options, body: JSON.stringify({ a: "x".repeat(size) }) }, payment)));
      },
      bare: (seen) => assert.equal(seen.body, size + 8),
      ours: (seen, bare) => assert.deepEqual(seen, bare),
    });
  }

  test(`${host}: the rating routes`, async () => {
    const form = await stage.ours.request({ path: "/feedback" });
    assert.equal(JSON.parse(form.body).protocol, "forge-feedback/0");
    assert.equal(Number(form.header("content-length") ?? form.body.length), form.body.length);
    const head = await stage.ours.request({ method: "HEAD", path: "/feedback" });
    assert.deepEqual([head.status, head.body.length], [200, 0]);
    const preflight = await stage.ours.request({ method: "OPTIONS", path: "/feedback" });
    assert.deepEqual([preflight.status, preflight.header("access-control-allow-origin")], [204, "*"]);
    assert.equal((await stage.ours.request({ method: "DELETE", path: "/feedback" })).status, 405);
    assert.equal((await stage.ours.request({ method: "POST", path: "/feedback", body: "x".repeat(20_000) })).status, 413);
    assert.equal((await stage.ours.request({ path: "/feedback/summary" })).status, 200);

    const { answer } = await stage.ours.buy({ path: "/weather" });
    const link = JSON.parse(answer.body).feedback_url.slice(PUBLIC_URL.length);
    assert.deepEqual(JSON.parse((await stage.ours.request({ path: `${link}fully` })).body), { recorded: true, feedback_id: answer.header("forge-feedback-id") });
    const posted = await stage.ours.request({ method: "POST", path: "/feedback", body: JSON.stringify({ feedback_id: answer.header("forge-feedback-id"), outcome: "no", note: "n" }) });
    assert.equal(posted.status, 200);
    assert.deepEqual(receiver.ratings.map(({ outcome, via }) => [outcome, via]), [["fully", "GET"], ["no", "POST"]]);
  });

  test(`${host}: L06 a handler that throws is answered as without us and reported as ${throwing}`, async () => {
    const { answer } = await stage.ours.buy({ path: "/paid/throws", headers: { "User-Agent": "thrower/1" } });
    const { answer: bare } = await stage.bare.buy({ path: "/paid/throws" });
    assert.deepEqual([answer.status, answer.body.toString()], [bare.status, bare.body.toString()]);
    assert.equal(stage.ours.seen.error, "thrown by the handler");
    const isIt = (event) => event.type === "interaction" && event.user_agent === "thrower/1";
    const event = (await receiver.until((events) => events.some(isIt))).find(isIt);
    assert.deepEqual([event.status, event.outcome, event.settled], [500, throwing, null]);
  });

  test(`${host}: P09 a failed settlement gets no id and is reported with its reason`, async () => {
    stage.ours.facilitator.fail.settle = { body: { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" } };
    const { answer } = await stage.ours.buy({ path: "/weather", headers: { "User-Agent": "poor/1" } });
    delete stage.ours.facilitator.fail.settle;
    assert.deepEqual([answer.status, answer.header("forge-feedback-id")], [402, undefined]);
    const isIt = (event) => event.type === "interaction" && event.user_agent === "poor/1";
    const event = (await receiver.until((events) => events.some(isIt))).find(isIt);
    assert.deepEqual([event.settled, event.errorReason, event.status], [false, "insufficient_funds", 402]);
  });

  return { stage, receiver };
}
